//! Instances of structs: views over bytes.

use std::cell::Cell;

use colonnade_structs::{Blob, Writer};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, intern};

use super::definition::Definition;
use super::from_value;

/// The base of all classes of structs. An instance has the bytes, and reads a field when it is
/// asked for.
#[pyclass(frozen, subclass, module = "colonnade._core.structs")]
pub(crate) struct Instance {
    pub(super) definition: Py<Definition>,
    pub(super) bytes: Py<PyBytes>,
    /// The result of the check of the bytes: see `Blob::parts`.
    pub(super) parts: (usize, usize),
}

thread_local! {
    /// The instance that the next call of its class returns. A class is called because only that
    /// allocates an instance of a Python subclass.
    static OPENED: Cell<Option<Instance>> = const { Cell::new(None) };
}

impl Instance {
    pub(super) fn new(
        definition: Py<Definition>,
        bytes: Py<PyBytes>,
        parts: (usize, usize),
    ) -> Self {
        Self { definition, bytes, parts }
    }

    pub(super) fn into_object<'py>(
        self,
        class: &Bound<'py, PyType>,
    ) -> PyResult<Bound<'py, PyAny>> {
        OPENED.with(|place| place.set(Some(self)));
        let made = class.call0();
        if made.is_err() {
            OPENED.with(Cell::take);
        }
        made
    }

    /// The bytes.
    pub(crate) fn bytes<'a>(&'a self, py: Python<'a>) -> &'a [u8] {
        self.bytes.bind(py).as_bytes()
    }

    pub(super) fn value<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        from_value::of_field(self.definition.bind(py), self.bytes.bind(py), self.parts, index)
    }

    /// The bytes in the class's present version: equal values have equal bytes.
    fn present<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let definition = self.definition.get();
        let count = definition.layout.fields().len();
        if self.parts.0 == count {
            return Ok(self.bytes.bind(py).clone());
        }
        let blob = Blob::opened_before(self.bytes(py), self.parts);
        let mut writer = Writer::begin(&definition.layout, Vec::new());
        for index in 0..count {
            let pushed =
                blob.value(&definition.layout, index).and_then(|value| writer.push(&value));
            pushed.map_err(|fault| definition.exception(py, &fault))?;
        }
        let bytes = writer.finish().map_err(|fault| definition.exception(py, &fault))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

#[pymethods]
impl Instance {
    /// Checks the values and writes the bytes.
    #[new]
    #[classmethod]
    #[pyo3(signature = (*arguments, **keywords))]
    fn py_new(
        class: &Bound<'_, PyType>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        if let Some(opened) = OPENED.with(Cell::take) {
            return Ok(opened);
        }
        let py = class.py();
        let Some(definition) = class.getattr_opt(intern!(py, "__struct_definition__"))? else {
            let class = crate::class_names::full(class);
            let text = format!("{class} has no fields: put @struct before a class with fields");
            return Err(PyTypeError::new_err(text));
        };
        let definition = definition.cast_into::<Definition>()?;
        let bytes = definition.get().written(py, arguments, keywords)?;
        let layout = &definition.get().layout;
        let parts = (layout.fields().len(), layout.template().len());
        Ok(Self::new(definition.unbind(), PyBytes::new(py, &bytes).unbind(), parts))
    }

    fn __bytes__(&self, py: Python<'_>) -> Py<PyBytes> {
        self.bytes.clone_ref(py)
    }

    /// The values by name.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = PyDict::new(py);
        for (index, field) in self.definition.get().layout.fields().iter().enumerate() {
            let value = self.value(py, index)?;
            let value = match value.cast::<Self>() {
                Ok(inner) => inner.get().to_dict(py)?.into_any(),
                Err(_) => value,
            };
            made.set_item(&field.name, value)?;
        }
        Ok(made)
    }

    /// An instance with other values for these fields.
    #[pyo3(signature = (**changes))]
    fn replace<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let all = PyDict::new(py);
        for (index, field) in slf.get().definition.get().layout.fields().iter().enumerate() {
            all.set_item(&field.name, slf.get().value(py, index)?)?;
        }
        if let Some(changes) = changes {
            all.update(changes.as_mapping())?;
        }
        slf.get_type().call((), Some(&all))
    }

    fn __richcmp__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        op: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let is_same_class = other.get_type().is(slf.get_type());
        let (Ok(other), true) = (other.cast::<Self>(), is_same_class) else {
            return Ok(py.NotImplemented());
        };
        let is_equal = match op {
            CompareOp::Eq | CompareOp::Ne => {
                slf.get().bytes(py) == other.get().bytes(py)
                    || slf.get().present(py)?.as_bytes() == other.get().present(py)?.as_bytes()
            }
            _ => return Ok(py.NotImplemented()),
        };
        (is_equal == matches!(op, CompareOp::Eq)).into_py_any(py)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.present(py)?.hash()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let py = slf.py();
        let mut parts = Vec::new();
        for (index, field) in slf.get().definition.get().layout.fields().iter().enumerate() {
            parts.push(format!("{}={}", field.name, slf.get().value(py, index)?.repr()?));
        }
        Ok(format!("{}({})", slf.get_type().qualname()?, parts.join(", ")))
    }

    /// Pickled as its bytes.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let open = py.import("colonnade.structs._opening")?.getattr("open_struct")?;
        let arguments = (slf.get_type(), slf.get().bytes.clone_ref(py));
        (open, arguments).into_pyobject(py)
    }
}
