//! Python objects as values of fields.

use std::borrow::Cow;

use colonnade_structs::{Kind, Scalar, Value};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyComplex, PyFloat, PyInt, PyList, PyString};

use super::face::Face;
use super::instance::Instance;
use crate::errors;
use crate::memory::foreign_buffer::copied;
use crate::shown::shown;
use crate::values::{numbers, times};

/// Why an object is no value of a field.
pub(super) enum Refusal {
    /// It has a wrong class; with the classes that the field takes.
    Class(String),
    /// It has the right class, and cannot be stored; with the reason.
    Value(String),
    /// Its own code failed.
    Failed(PyErr),
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Self {
        Self::Failed(error)
    }
}

impl Refusal {
    pub(super) fn into_error(self, py: Python<'_>, class: &str, field: &str) -> PyErr {
        match self {
            Self::Class(text) => PyTypeError::new_err(format!("{class}.{field} {text}")),
            Self::Value(text) => {
                let made = errors::of_class(py, "StructError", &format!("{class}.{field}: {text}"));
                match made.value(py).setattr("field", field) {
                    Ok(()) => made,
                    Err(error) => error,
                }
            }
            Self::Failed(error) => {
                let text = error.value(py).to_string();
                if error.is_instance_of::<PyTypeError>(py) {
                    Self::Class(text).into_error(py, class, field)
                } else if error.is_instance_of::<PyValueError>(py)
                    || error.is_instance_of::<PyOverflowError>(py)
                {
                    Self::Value(text).into_error(py, class, field)
                } else {
                    error
                }
            }
        }
    }
}

fn wrong(kind: &Kind, object: &Bound<'_, PyAny>) -> Refusal {
    Refusal::Class(format!("takes {kind}, not {}", shown(object)))
}

/// The value of an object; None is NULL.
pub(super) fn to_value<'a>(
    kind: &Kind,
    face: &Face,
    object: &'a Bound<'_, PyAny>,
) -> Result<Value<'a>, Refusal> {
    if object.is_none() {
        return Ok(Value::Null);
    }
    let py = object.py();
    match (face, kind) {
        (Face::Plain, kind) => plain(kind, object),
        (Face::Made { take, .. }, kind) => {
            let is_time = matches!(kind, Kind::Scalar(Scalar::Datetime(_) | Scalar::Timedelta(_)));
            // NaT of pandas is a datetime.
            if is_time && times::is_nat(object)? {
                return Ok(Value::Null);
            }
            let taken = take.bind(py).call1((object,))?;
            if taken.is_none() {
                return Ok(Value::Null);
            }
            if is_time {
                return Ok(Value::Int(taken.extract()?));
            }
            plain(kind, &taken).map(Value::into_owned)
        }
        (Face::Array { take, .. }, _) => {
            let bytes = take.bind(py).call1((object,))?;
            let bytes = bytes.cast_into::<PyBytes>().map_err(PyErr::from)?;
            Ok(Value::Elements(Cow::Owned(bytes.as_bytes().to_vec())))
        }
        (Face::Struct(definition), kind) => match object.cast::<Instance>() {
            Ok(instance) if instance.get().definition.is(definition) => {
                Ok(Value::Struct(Cow::Borrowed(instance.get().bytes(py))))
            }
            _ => {
                let _ = kind;
                let name = &definition.get().name;
                Err(Refusal::Class(format!("takes a {name}, not {}", shown(object))))
            }
        },
        (Face::List(face), Kind::List { element, .. }) => list(element, face, object),
        (Face::List(_), kind) => Err(wrong(kind, object)),
    }
}

/// The values of a list's items, which are held meanwhile, so that texts need not be copied.
pub(super) fn of_items<'a>(
    kind: &Kind,
    items: &'a [Bound<'_, PyAny>],
) -> Result<Value<'a>, Refusal> {
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        values.push(to_value(kind, &Face::Plain, item)?);
    }
    Ok(Value::List(values))
}

fn list(kind: &Kind, face: &Face, object: &Bound<'_, PyAny>) -> Result<Value<'static>, Refusal> {
    if let Ok(items) = object.cast_exact::<PyList>() {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(to_value(kind, face, &item)?.into_owned());
        }
        return Ok(Value::List(values));
    }
    let is_text = object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>();
    if is_text || !object.hasattr(intern!(object.py(), "__len__"))? {
        return Err(Refusal::Class(format!("takes a list of {kind}, not {}", shown(object))));
    }
    let mut values = Vec::with_capacity(object.len()?.min(1 << 16));
    for item in object.try_iter()? {
        values.push(to_value(kind, face, &item?)?.into_owned());
    }
    Ok(Value::List(values))
}

/// A value of one of Python's own classes, or of a NumPy scalar's.
fn plain<'a>(kind: &Kind, object: &'a Bound<'_, PyAny>) -> Result<Value<'a>, Refusal> {
    match kind {
        Kind::Scalar(Scalar::Int(_) | Scalar::UInt(_)) => integer(kind, object),
        Kind::Scalar(Scalar::Float(_)) => float(kind, object),
        Kind::Scalar(Scalar::Bool) => {
            object.extract().map(Value::Bool).map_err(|_| wrong(kind, object))
        }
        Kind::Scalar(Scalar::Complex(_)) => {
            let is_number = object.is_instance_of::<PyComplex>()
                || object.is_instance_of::<PyFloat>()
                || object.hasattr("__complex__")?;
            if !is_number {
                return Err(wrong(kind, object));
            }
            let number = object.py().get_type::<PyComplex>().call1((object,))?;
            Ok(Value::Complex(
                number.getattr("real")?.extract()?,
                number.getattr("imag")?.extract()?,
            ))
        }
        Kind::Str | Kind::Scalar(Scalar::Chars(_) | Scalar::Ascii(_)) => {
            let text = object.cast::<PyString>().map_err(|_| wrong(kind, object))?;
            Ok(Value::Text(Cow::Borrowed(text.to_str()?)))
        }
        Kind::Bytes | Kind::Scalar(Scalar::Bytes(_)) => {
            if let Ok(bytes) = object.cast::<PyBytes>() {
                return Ok(Value::Bytes(Cow::Borrowed(bytes.as_bytes())));
            }
            let buffer = PyBuffer::<u8>::get(object).map_err(|_| wrong(kind, object))?;
            Ok(Value::Bytes(Cow::Owned(copied(&buffer, object.py())?)))
        }
        kind => Err(wrong(kind, object)),
    }
}

fn integer<'a>(kind: &Kind, object: &'a Bound<'_, PyAny>) -> Result<Value<'a>, Refusal> {
    if let Ok(number) = object.cast_exact::<PyInt>()
        && let Ok(number) = number.extract()
    {
        return Ok(Value::Int(number));
    }
    // A bool is an int, and most probably a mistake; a float is not made whole.
    if object.is_instance_of::<PyBool>() || object.is_instance_of::<PyFloat>() {
        return Err(wrong(kind, object));
    }
    if !object.is_instance_of::<PyInt>() && !object.hasattr(intern!(object.py(), "__index__"))? {
        return Err(wrong(kind, object));
    }
    if let Ok(number) = object.extract::<i64>() {
        return Ok(Value::Int(number));
    }
    object
        .extract::<u64>()
        .map(Value::UInt)
        .map_err(|_| Refusal::Value(format!("{} is out of the range of {kind}", shown(object))))
}

fn float<'a>(kind: &Kind, object: &'a Bound<'_, PyAny>) -> Result<Value<'a>, Refusal> {
    if let Ok(number) = object.cast_exact::<PyFloat>() {
        return Ok(Value::Float(number.value()));
    }
    if object.is_instance_of::<PyBool>() {
        return Err(wrong(kind, object));
    }
    if object.is_instance_of::<PyInt>() {
        return integer(kind, object)
            .map_err(|_| Refusal::Value(format!("{} is not exact as a {kind}", shown(object))));
    }
    if !numbers::is_real(object)? {
        return Err(wrong(kind, object));
    }
    object.extract().map(Value::Float).map_err(|_| wrong(kind, object))
}
