//! The class `Record`, and the classes that can replace it.

use std::ffi::{CStr, c_int, c_uint, c_void};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

use super::{layout, methods, protocols};
use crate::errors;
use crate::shown::shown;

const DOC: &CStr =
    c"A row: values by position, slice or column name; equal to a tuple of its values.";

static RECORD: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// `Record`.
pub(crate) fn record_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    Ok(RECORD.get_or_try_init(py, || make(py))?.bind(py))
}

/// Whether a class is `Record` itself and not a subclass.
#[inline]
pub(super) fn is_record_itself(py: Python<'_>, class: *mut ffi::PyTypeObject) -> bool {
    RECORD.get(py).is_some_and(|record| std::ptr::eq(record.as_ptr().cast(), class))
}

/// Whether an object is a record of any class.
pub(crate) fn is_record(object: &Bound<'_, PyAny>) -> bool {
    record_type(object.py()).is_ok_and(|class| object.is_instance(class).unwrap_or(false))
}

macro_rules! slot {
    ($id:ident, $function:expr) => {
        ffi::PyType_Slot { slot: ffi::$id, pfunc: $function as *mut c_void }
    };
}

fn make(py: Python<'_>) -> PyResult<Py<PyType>> {
    let flags = ffi::Py_TPFLAGS_DEFAULT
        | ffi::Py_TPFLAGS_BASETYPE
        | ffi::Py_TPFLAGS_HAVE_GC
        | ffi::Py_TPFLAGS_IMMUTABLETYPE;
    let mut slots = [
        slot!(Py_tp_doc, DOC.as_ptr()),
        slot!(Py_tp_new, refuse_to_make as ffi::newfunc),
        slot!(Py_tp_dealloc, layout::dealloc as ffi::destructor),
        slot!(Py_tp_traverse, layout::traverse as ffi::traverseproc),
        slot!(Py_tp_is_gc, layout::is_gc as ffi::inquiry),
        slot!(Py_tp_methods, methods::table()),
        slot!(Py_tp_repr, protocols::repr as ffi::reprfunc),
        slot!(Py_tp_hash, protocols::hash as ffi::hashfunc),
        slot!(Py_tp_richcompare, protocols::compare as ffi::richcmpfunc),
        slot!(Py_tp_iter, protocols::iterate as ffi::getiterfunc),
        slot!(Py_sq_length, protocols::length as ffi::lenfunc),
        slot!(Py_sq_item, protocols::item as ffi::ssizeargfunc),
        slot!(Py_sq_contains, protocols::contains as ffi::objobjproc),
        slot!(Py_mp_length, protocols::length as ffi::lenfunc),
        slot!(Py_mp_subscript, protocols::subscript as ffi::binaryfunc),
        ffi::PyType_Slot { slot: 0, pfunc: std::ptr::null_mut() },
    ];
    let sizes = [layout::HEAD_BYTES, layout::VALUE_BYTES];
    make_type(py, c"colonnade.Record", sizes, flags, &mut slots)
}

/// Makes a class of these slots, which end with the empty slot.
pub(super) fn make_type(
    py: Python<'_>,
    name: &'static CStr,
    [basic_bytes, item_bytes]: [usize; 2],
    flags: std::ffi::c_ulong,
    slots: &mut [ffi::PyType_Slot],
) -> PyResult<Py<PyType>> {
    let mut spec = ffi::PyType_Spec {
        name: name.as_ptr(),
        basicsize: basic_bytes as c_int,
        itemsize: item_bytes as c_int,
        flags: flags as c_uint,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the slots end with the empty one, and each function has the type of its slot; names,
    // documentation and method tables live as long as the process.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec))? };
    Ok(made.cast_into::<PyType>()?.unbind())
}

/// `tp_new`: only the driver makes rows.
unsafe extern "C" fn refuse_to_make(
    class: *mut ffi::PyTypeObject,
    _arguments: *mut ffi::PyObject,
    _keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls this with a live class, and the format has one name.
    unsafe {
        ffi::PyErr_Format(
            ffi::PyExc_TypeError,
            c"cannot create '%.200s' instances".as_ptr(),
            (*class).tp_name,
        )
    }
}

/// `Record`, or a subclass whose instances are made as those of `Record` are.
pub(crate) struct RecordClass {
    class: Py<PyType>,
    is_record_itself: bool,
    adds_a_dict: bool,
}

impl RecordClass {
    /// The class for a `record_class`; `Record` for None.
    pub(crate) fn of(py: Python<'_>, asked: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let record = record_type(py)?;
        let Some(asked) = asked.filter(|asked| !asked.is_none() && !asked.is(record)) else {
            let class = record.clone().unbind();
            return Ok(Self { class, is_record_itself: true, adds_a_dict: false });
        };
        let is_subclass = |class: &&Bound<'_, PyType>| class.is_subclass(record).unwrap_or(false);
        let Some(class) = asked.cast::<PyType>().ok().filter(is_subclass) else {
            let shown = shown(asked);
            return Err(errors::interface_type(
                py,
                &format!(
                    "record_class is expected to be a subclass of colonnade.Record, or tuple, got \
                     {shown}"
                ),
            ));
        };
        // SAFETY: both are live types.
        let (is_plain, adds_a_dict) = unsafe {
            let (class, record) = (class.as_type_ptr(), record.as_type_ptr());
            let is_plain = (*class).tp_new.map(|new| new as usize)
                == (*record).tp_new.map(|new| new as usize)
                && (*class).tp_init.map(|init| init as usize)
                    == (*record).tp_init.map(|init| init as usize);
            // Since Python 3.12 a `__dict__` does not count in the size.
            let adds_a_dict =
                (*class).tp_dictoffset != 0 || (*class).tp_basicsize != (*record).tp_basicsize;
            (is_plain, adds_a_dict)
        };
        if !is_plain {
            return Err(errors::interface(
                py,
                "record_class must not redefine __new__ or __init__",
            ));
        }
        Ok(Self { class: class.clone().unbind(), is_record_itself: false, adds_a_dict })
    }

    pub(super) fn is_record_itself(&self) -> bool {
        self.is_record_itself
    }

    /// Whether instances hold more than a record's values.
    pub(super) fn adds_a_dict(&self) -> bool {
        self.adds_a_dict
    }

    pub(super) fn as_ptr(&self) -> *mut ffi::PyTypeObject {
        self.class.as_ptr().cast()
    }

    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self { class: self.class.clone_ref(py), ..*self }
    }
}

/// The class of a result's rows.
pub(crate) enum RowClass {
    Record(RecordClass),
    /// Plain Python tuples, without names.
    Tuple,
}

impl RowClass {
    /// The class for a `record_class`: `Record` if it is None, a subclass, or `tuple`.
    pub(crate) fn of(py: Python<'_>, asked: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        if asked.is_some_and(|asked| asked.is(py.get_type::<PyTuple>())) {
            return Ok(Self::Tuple);
        }
        RecordClass::of(py, asked).map(Self::Record)
    }

    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Record(class) => Self::Record(class.clone_ref(py)),
            Self::Tuple => Self::Tuple,
        }
    }
}
