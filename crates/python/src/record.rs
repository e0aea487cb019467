//! A row: a sequence of values that can be asked by name.
//!
//! A record of atomic values takes no part in cyclic garbage collection: a million of them do not
//! make the collector's passes any longer.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyOverflowError, PyTypeError};
use pyo3::ffi;

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PySlice, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

/// The names all records of a result share.
pub(crate) struct RecordNames {
    names: Vec<Py<PyString>>,
    /// The last position of each name: as in asyncpg, a later column hides a former one.
    positions: HashMap<String, usize>,
}

impl RecordNames {
    pub(crate) fn new<'a>(py: Python<'_>, names: impl Iterator<Item = &'a str> + Clone) -> Self {
        Self {
            names: names.clone().map(|name| PyString::new(py, name).unbind()).collect(),
            positions: names.enumerate().map(|(i, name)| (name.to_owned(), i)).collect(),
        }
    }
}

/// One row of a result. Values by position, slice or column name; equal to a tuple of its values.
#[pyclass(frozen, sequence, module = "colonnade")]
pub(crate) struct Record {
    names: Arc<RecordNames>,
    values: Box<[Py<PyAny>]>,
}

impl Record {
    /// Makes a record. Atomic values are those that can be part of no cycle.
    pub(crate) fn make(
        py: Python<'_>,
        names: Arc<RecordNames>,
        values: Vec<Py<PyAny>>,
        is_atomic: bool,
    ) -> PyResult<Bound<'_, Self>> {
        let record = Bound::new(py, Self { names, values: values.into_boxed_slice() })?;
        if is_atomic {
            // SAFETY: the object is alive and of a type that supports garbage collection, as every
            // class of PyO3's does; its deallocator allows for objects that are not tracked.
            unsafe { ffi::PyObject_GC_UnTrack(record.as_ptr().cast()) };
        }
        Ok(record)
    }

    fn tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.values.iter().map(|value| value.bind(py)))
    }

    fn by_name(&self, name: &Bound<'_, PyString>) -> PyResult<Option<&Py<PyAny>>> {
        let position = self.names.positions.get(name.to_str()?);
        Ok(position.and_then(|&position| self.values.get(position)))
    }
}

/// Why a key is no index: of another kind, or an integer beyond any length.
fn not_an_index(py: Python<'_>, key: &Bound<'_, PyAny>, error: &PyErr) -> PyErr {
    if error.is_instance_of::<PyOverflowError>(py) {
        return PyIndexError::new_err("record index out of range");
    }
    let kind = key.get_type();
    let kind = kind.name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("record indices are column names, integers or slices, not {kind}"))
}

#[pymethods]
impl Record {
    // A record never changes, so there is nothing to clear: a cycle is broken in the list or
    // object of which the value is made.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.values.iter().try_for_each(|value| visit.call(value))
    }

    fn __len__(&self) -> usize {
        self.values.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(name) = key.cast::<PyString>() {
            let value = self.by_name(name)?;
            return value
                .map(|value| value.bind(py).clone())
                .ok_or_else(|| PyKeyError::new_err(name.clone().unbind()));
        }
        if let Ok(slice) = key.cast::<PySlice>() {
            return self.tuple(py)?.as_any().get_item(slice);
        }
        let index = key.extract::<isize>().map_err(|error| not_an_index(py, key, &error))?;
        let len = self.values.len();
        let position =
            if index < 0 { len.checked_add_signed(index) } else { index.try_into().ok() };
        position
            .and_then(|position| self.values.get(position))
            .map(|value| value.bind(py).clone())
            .ok_or_else(|| PyIndexError::new_err("record index out of range"))
    }

    /// The value of a column, or `default` where there is no such column.
    #[pyo3(signature = (name, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.by_name(name)?.map(|value| value.bind(py).clone()).or(default))
    }

    /// The column names, in order.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let names = self.names.names.iter().map(|name| name.bind(py));
        PyTuple::new(py, names)?.as_any().try_iter()
    }

    /// The values, in order.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.tuple(py)?.as_any().try_iter()
    }

    /// Pairs of name and value, in order.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let pairs =
            self.names.names.iter().zip(&self.values).map(|(n, v)| (n.bind(py), v.bind(py)));
        PyList::new(py, pairs)?.as_any().try_iter()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.values(py)
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        match name.cast::<PyString>() {
            Ok(name) => Ok(self.by_name(name)?.is_some()),
            Err(_) => Ok(false),
        }
    }

    fn __richcmp__<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let other = match other.cast::<Self>() {
            Ok(record) => record.get().tuple(py)?.into_any(),
            Err(_) if other.is_instance_of::<PyTuple>() => other.clone(),
            Err(_) => return Ok(py.NotImplemented().into_bound(py)),
        };
        self.tuple(py)?.as_any().rich_compare(other, op)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.tuple(py)?.as_any().hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = String::from("<Record");
        for (name, value) in self.names.names.iter().zip(&self.values) {
            text.push(' ');
            text.push_str(name.bind(py).to_str()?);
            text.push('=');
            text.push_str(value.bind(py).repr()?.to_str()?);
        }
        text.push('>');
        Ok(text)
    }
}
