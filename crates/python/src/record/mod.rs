//! A row: a sequence of values that can be asked by name.
//!
//! A record is one block of memory, as a tuple is: its values lie behind its header, and what the
//! columns are called is shared by all records of a result. Records of atomic values take no part
//! in cyclic garbage collection: a million of them set no pass off, and none looks into them.

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

/// Adds the class, and what makes a record anew of its parts, which is how it is copied and
/// pickled.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Record", record_type(module.py())?)?;
    module.add_function(wrap_pyfunction!(restore_record, module)?)?;
    module.add_function(wrap_pyfunction!(check_record_class, module)?)
}

/// A record of a class, with these names and values: how pickle and copy make one.
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

/// Raises InterfaceError where a class cannot be that of rows, as `Record`, which None stands for,
/// its subclasses and `tuple` can.
#[pyfunction]
#[pyo3(signature = (record_class, /))]
fn check_record_class(record_class: &Bound<'_, PyAny>) -> PyResult<()> {
    RowClass::of(record_class.py(), Some(record_class)).map(drop)
}
