//! `uuid.UUID` objects.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyType};

use super::classes;

/// Makes UUIDs from their numbers. The class's `__init__` checks for six ways to be called, and
/// takes ten times as long as filling its two slots.
pub(super) struct UuidMaker {
    class: Py<PyType>,
    slots: Option<Slots>,
}

/// The descriptors of the class's two slots, and the value that all UUIDs have in the second one.
struct Slots {
    int: Py<PyAny>,
    is_safe: Py<PyAny>,
    unknown: Py<PyAny>,
}

impl UuidMaker {
    pub(super) fn get(py: Python<'_>) -> PyResult<&Self> {
        static MAKER: PyOnceLock<UuidMaker> = PyOnceLock::new();
        MAKER.get_or_try_init(py, || {
            let class = classes::UUID.get(py)?.cast::<PyType>()?;
            let slots = Slots::of(class).ok();
            let maker = Self { class: class.clone().unbind(), slots };
            if maker.is_true(py)? { Ok(maker) } else { Ok(Self { slots: None, ..maker }) }
        })
    }

    /// Whether an object made here equals one made by the class.
    fn is_true(&self, py: Python<'_>) -> PyResult<bool> {
        let bytes = [7; 16];
        let (ours, theirs) = (self.make(py, bytes)?, self.called(py, bytes)?);
        let (ours, theirs) = (ours.bind(py), theirs.bind(py));
        Ok(ours.eq(theirs)? && ours.getattr("is_safe")?.is(&theirs.getattr("is_safe")?))
    }

    /// The UUID of 16 bytes, the most significant one first.
    pub(super) fn make(&self, py: Python<'_>, bytes: [u8; 16]) -> PyResult<Py<PyAny>> {
        let Some(Slots { int, is_safe, unknown }) = &self.slots else {
            return self.called(py, bytes);
        };
        let number = u128::from_be_bytes(bytes).into_pyobject(py)?;
        // SAFETY: the class is alive and made by Python code, so `PyType_GenericAlloc` allocates
        // its instances, which hold only slots, all null; no other code sees the new object before
        // both are set. Untracking is correct, because the values in the slots hold no references.
        unsafe {
            let class = self.class.as_ptr().cast();
            let made = ffi::PyType_GenericAlloc(class, 0);
            let made = Bound::from_owned_ptr_or_err(py, made)?;
            if ffi::PyObject_IS_GC(made.as_ptr()) != 0 {
                ffi::PyObject_GC_UnTrack(made.as_ptr().cast());
            }
            set(py, int, made.as_ptr(), number.as_ptr())?;
            set(py, is_safe, made.as_ptr(), unknown.as_ptr())?;
            Ok(made.unbind())
        }
    }

    fn called(&self, py: Python<'_>, bytes: [u8; 16]) -> PyResult<Py<PyAny>> {
        let keywords = [("int", u128::from_be_bytes(bytes))].into_py_dict(py)?;
        self.class.bind(py).call((), Some(&keywords)).map(Bound::unbind)
    }
}

impl Slots {
    /// Refuses a class that differs from the one this code was written for.
    fn of(class: &Bound<'_, PyType>) -> PyResult<Self> {
        let py = class.py();
        let member = PyModule::import(py, "types")?.getattr("MemberDescriptorType")?;
        let member = member.cast::<PyType>()?;
        let slot = |name| {
            let slot = class.getattr(name)?;
            if slot.is_exact_instance(member) && class.getattr("__dictoffset__")?.eq(0)? {
                return Ok(slot.unbind());
            }
            Err(PyTypeError::new_err("UUID has other slots"))
        };
        let unknown = PyModule::import(py, "uuid")?.getattr("SafeUUID")?.getattr("unknown")?;
        Ok(Self { int: slot("int")?, is_safe: slot("is_safe")?, unknown: unknown.unbind() })
    }
}

/// Does as the slot's own `__set__`; `UUID.__setattr__` always refuses.
///
/// # Safety
/// A slot's descriptor, an object of the slot's class, and any object.
unsafe fn set(
    py: Python<'_>,
    slot: &Py<PyAny>,
    object: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
) -> PyResult<()> {
    // SAFETY: by the function's contract; every slot's descriptor can set it.
    let outcome = unsafe {
        let class = ffi::Py_TYPE(slot.as_ptr());
        (*class).tp_descr_set.map_or(-1, |set| set(slot.as_ptr(), object, value))
    };
    if outcome == 0 { Ok(()) } else { Err(PyErr::fetch(py)) }
}
