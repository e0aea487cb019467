//! `colonnade._core.structs`: the classes of structs, their instances, and their columns.

mod buffer_view;
mod columns;
mod definition;
mod face;
mod field;
mod from_value;
mod instance;
mod to_value;

use colonnade_structs::Fault;
use pyo3::prelude::*;

pub(crate) use self::instance::Instance;
use crate::errors;
use crate::values::times;

/// `StructError`; the class is named before the field.
fn exception(py: Python<'_>, class: &str, fault: &Fault) -> PyErr {
    let made = errors::of_class(py, "StructError", &format!("{class}: {fault}"));
    let value = made.value(py);
    let set = value
        .setattr("field", fault.field.as_deref())
        .and_then(|()| value.setattr("row", fault.row));
    match set {
        Ok(()) => made,
        Err(error) => error,
    }
}

/// Fills the module `structs`.
pub(crate) fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<definition::Definition>()?;
    module.add_class::<definition::Opener>()?;
    module.add_class::<field::FieldDescriptor>()?;
    module.add_class::<Instance>()?;
    times::add_counts(module)
}
