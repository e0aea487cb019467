//! A row: a sequence of values that can also be read by column name.
//!
//! A record is one block of memory, like a tuple: its values follow its header, and all records of
//! a result share the column names. Records of atomic values take no part in cyclic garbage
//! collection: a million of them triggers no collection, and no collection visits them.

mod block;
mod class;
mod iterators;
mod layout;
mod methods;
mod names;
mod protocols;

use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

pub(crate) use self::block::RecordBlock;
pub(crate) use self::class::{RecordClass, RowClass, is_record, record_type};
pub(crate) use self::layout::UnfinishedRecord;
pub(crate) use self::names::RecordNames;
use crate::errors;

/// Adds the class, and the function that rebuilds a record when it is copied or unpickled.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Record", record_type(module.py())?)?;
    module.add_function(wrap_pyfunction!(restore_record, module)?)?;
    module.add_function(wrap_pyfunction!(check_record_class, module)?)
}

/// Rebuilds a record of a class with these names and values, for pickle and copy.
#[pyfunction]
#[pyo3(signature = (record_class, names, values, /))]
fn restore_record<'py>(
    record_class: &Bound<'py, PyType>,
    names: &Bound<'py, PyTuple>,
    values: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = record_class.py();
    let class = RecordClass::of(py, Some(record_class.as_any()))?;
    let is_atomic = values.iter().all(|value| !layout::can_hold_others(&value));
    let shared = Py::new(py, RecordNames::of_tuple(names, is_atomic)?)?;
    if values.len() != names.len() {
        let (names, values) = (names.len(), values.len());
        return Err(errors::interface(py, &format!("{values} values for {names} names")));
    }
    let mut record = UnfinishedRecord::new(py, &class, &shared)?;
    for value in values.iter() {
        record.push(value.unbind());
    }
    Ok(record.finish())
}

/// Raises InterfaceError unless the class is `Record` (None), a subclass of it, or `tuple`.
#[pyfunction]
#[pyo3(signature = (record_class, /))]
fn check_record_class(record_class: &Bound<'_, PyAny>) -> PyResult<()> {
    RowClass::of(record_class.py(), Some(record_class)).map(drop)
}
