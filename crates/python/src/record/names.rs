//! The column names of a result, shared by all of its records.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

/// The names of a record's values.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct RecordNames {
    pub(super) names: Py<PyTuple>,
    /// The position of each name, the last one of equal names: as in asyncpg, a later column hides
    /// an earlier one.
    pub(super) positions: Py<PyDict>,
    /// Whether the records' values can never be part of a cycle.
    pub(super) is_atomic: bool,
}

impl RecordNames {
    pub(crate) fn new<'a>(
        py: Python<'_>,
        names: impl ExactSizeIterator<Item = &'a str>,
        is_atomic: bool,
    ) -> PyResult<Py<Self>> {
        Py::new(py, Self::of_tuple(&PyTuple::new(py, names)?, is_atomic)?)
    }

    pub(super) fn of_tuple(names: &Bound<'_, PyTuple>, is_atomic: bool) -> PyResult<Self> {
        let positions = PyDict::new(names.py());
        for (position, name) in names.iter().enumerate() {
            if !name.is_instance_of::<PyString>() {
                return Err(PyTypeError::new_err("the names of a record are strings"));
            }
            positions.set_item(name, position)?;
        }
        Ok(Self { names: names.clone().unbind(), positions: positions.unbind(), is_atomic })
    }

    pub(super) fn len(&self, py: Python<'_>) -> usize {
        self.names.bind(py).len()
    }
}
