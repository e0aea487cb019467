//! How a field's values look in Python.

use std::sync::Arc;

use colonnade_structs::Kind;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::definition::Definition;

/// The Python side of a field's type.
pub(super) enum Face {
    /// Python's own classes.
    Plain,
    /// Another class: functions that take a value of it, and make one. NULL is None for both.
    Made { take: Py<PyAny>, make: Py<PyAny> },
    /// A NumPy array over the bytes of a list: functions that take one as bytes, and make one of a
    /// buffer, a position and a number of bytes.
    Array { take: Py<PyAny>, make: Py<PyAny> },
    /// Another struct.
    Struct(Py<Definition>),
    /// A list of such elements.
    List(Box<Self>),
}

/// Reads a type: its name, or `("made", name, take, make)`, `("array", name, take, make)`,
/// `("list", type, optional)`, or a definition.
pub(super) fn read(spec: &Bound<'_, PyAny>) -> PyResult<(Kind, Face)> {
    if let Ok(name) = spec.cast::<PyString>() {
        return Ok((named(name.to_str()?)?, Face::Plain));
    }
    if let Ok(definition) = spec.cast::<Definition>() {
        let kind = Kind::Struct(Arc::clone(&definition.get().layout));
        return Ok((kind, Face::Struct(definition.clone().unbind())));
    }
    let parts = spec.cast::<PyTuple>()?;
    let word: String = parts.get_item(0)?.extract()?;
    if word == "list" {
        let (kind, face) = read(&parts.get_item(1)?)?;
        let optional = parts.get_item(2)?.extract()?;
        return Ok((Kind::List { element: Box::new(kind), optional }, Face::List(Box::new(face))));
    }
    let name: String = parts.get_item(1)?.extract()?;
    let (take, make) = (parts.get_item(2)?.unbind(), parts.get_item(3)?.unbind());
    let kind = named(&name)?;
    match word.as_str() {
        "array" => {
            let list = Kind::List { element: Box::new(kind), optional: false };
            Ok((list, Face::Array { take, make }))
        }
        _ => Ok((kind, Face::Made { take, make })),
    }
}

fn named(name: &str) -> PyResult<Kind> {
    Kind::of(name)
        .ok_or_else(|| PyValueError::new_err(format!("no field can have the type {name:?}")))
}
