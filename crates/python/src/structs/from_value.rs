//! Values of fields as Python objects.

use colonnade_structs::{Blob, Kind, Value};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyList, PyString};

use super::definition::Definition;
use super::face::Face;

/// The value of a field of a blob that was opened before.
pub(super) fn of_field<'py>(
    definition: &Bound<'py, Definition>,
    bytes: &Bound<'py, PyBytes>,
    parts: (usize, usize),
    index: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = definition.py();
    let this = definition.get();
    let blob = Blob::opened_before(bytes.as_bytes(), parts);
    let Some(face) = this.faces.get(index) else { return Ok(py.None().into_bound(py)) };
    if let Face::Array { make, .. } = face {
        let part = blob.part(&this.layout, index).map_err(|fault| this.exception(py, &fault))?;
        let Some((range, is_default)) = part else { return Ok(py.None().into_bound(py)) };
        let buffer = match is_default {
            true => &PyBytes::new(py, this.layout.default_bytes()),
            false => bytes,
        };
        // It checks that the bytes are whole elements.
        blob.value(&this.layout, index).map_err(|fault| this.exception(py, &fault))?;
        return make.bind(py).call1((buffer, range.start, range.len()));
    }
    let value = blob.value(&this.layout, index).map_err(|fault| this.exception(py, &fault))?;
    let kind = this.layout.fields().get(index).map(|field| &field.kind);
    kind.map_or_else(|| Ok(py.None().into_bound(py)), |kind| object(py, kind, face, value))
}

fn object<'py>(
    py: Python<'py>,
    kind: &Kind,
    face: &Face,
    value: Value<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    if let (Face::Struct(definition), Value::Struct(bytes)) = (face, &value) {
        return Definition::open(definition.bind(py), PyBytes::new(py, bytes));
    }
    if let (Face::List(face), Kind::List { element, .. }, Value::List(_)) = (face, kind, &value) {
        let Value::List(values) = value else { return Ok(py.None().into_bound(py)) };
        let mut items = Vec::with_capacity(values.len());
        for value in values {
            items.push(object(py, element, face, value)?);
        }
        return Ok(PyList::new(py, items)?.into_any());
    }
    let plain = plain(py, value)?;
    match face {
        Face::Made { make, .. } if !plain.is_none() => make.bind(py).call1((plain,)),
        _ => Ok(plain),
    }
}

fn plain<'py>(py: Python<'py>, value: Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(truth) => truth.into_bound_py_any(py)?,
        Value::Int(number) => number.into_bound_py_any(py)?,
        Value::UInt(number) => number.into_bound_py_any(py)?,
        Value::Float(number) => number.into_bound_py_any(py)?,
        Value::Complex(real, imaginary) => PyComplex::from_doubles(py, real, imaginary).into_any(),
        Value::Text(text) => PyString::new(py, &text).into_any(),
        Value::Bytes(bytes) | Value::Struct(bytes) | Value::Elements(bytes) => {
            PyBytes::new(py, &bytes).into_any()
        }
        Value::List(values) => {
            let items = values.into_iter().map(|value| plain(py, value));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
    })
}
