//! A fast path for the values that most rows consist of.

use colonnade_columnar::{PgType, Shape, Type, given};
use colonnade_protocol::Format;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};

use super::scalars;
use crate::errors;
use crate::types::codecs::Dates;
use crate::values::classes;

const LENGTH_BYTES: usize = 4;

/// Refuses a value that is too large, before it is copied.
pub(super) fn check_value_bytes(bytes: usize) -> PyResult<()> {
    given::check_value_bytes(bytes).map_err(errors::value)
}

/// As `check_value_bytes`, for an array.
pub(super) fn check_array_elements(count: usize) -> PyResult<()> {
    given::check_array_elements(count).map_err(errors::value)
}

/// A type with single values, by its binary format.
#[derive(Clone, Copy)]
pub(super) enum Plain {
    Bool,
    Int2,
    Int4,
    Int8,
    Float8,
    /// The binary format is the text.
    Text,
    /// Another type of the table.
    Other(&'static PgType),
}

impl Plain {
    /// `None` for a type with parts, with a user's codec, or without a binary format.
    pub(super) fn of(pg_type: &Type) -> Option<Self> {
        match &pg_type.shape {
            Shape::Domain { base, .. } => Self::of(base),
            Shape::Scalar(line) if line.parameter == Format::Binary => Some(match line.name {
                "bool" => Self::Bool,
                "int2" => Self::Int2,
                "int4" => Self::Int4,
                "int8" => Self::Int8,
                "float8" => Self::Float8,
                "text" | "varchar" | "bpchar" | "json" => Self::Text,
                _ => Self::Other(line),
            }),
            _ => None,
        }
    }

    /// Appends the length and binary format of a value of the type's own Python class. Returns
    /// false and appends nothing for all other values, including those out of range: the general
    /// path takes the value or explains the error.
    pub(super) fn append(self, value: &Bound<'_, PyAny>, dates: Dates, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Bool => value
                .cast_exact::<PyBool>()
                .is_ok_and(|truth| fixed(out, &[u8::from(truth.is_true())])),
            Self::Int2 => integer(value)
                .and_then(|number| i16::try_from(number).ok())
                .is_some_and(|number| fixed(out, &number.to_be_bytes())),
            Self::Int4 => integer(value)
                .and_then(|number| i32::try_from(number).ok())
                .is_some_and(|number| fixed(out, &number.to_be_bytes())),
            Self::Int8 => integer(value).is_some_and(|number| fixed(out, &number.to_be_bytes())),
            Self::Float8 => value
                .cast_exact::<PyFloat>()
                .is_ok_and(|float| fixed(out, &float.value().to_be_bytes())),
            Self::Text => text(value, out),
            Self::Other(line) => other(line, value, dates, out).unwrap_or(false),
        }
    }
}

fn integer(value: &Bound<'_, PyAny>) -> Option<i64> {
    value.cast_exact::<PyInt>().ok()?.extract().ok()
}

fn fixed<const BYTES: usize>(out: &mut Vec<u8>, bytes: &[u8; BYTES]) -> bool {
    out.extend_from_slice(&(BYTES as u32).to_be_bytes());
    out.extend_from_slice(bytes);
    true
}

fn text(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> bool {
    let Ok(text) = value.cast_exact::<PyString>() else { return false };
    let Ok(text) = text.to_str() else { return false };
    match u32::try_from(text.len()) {
        Ok(length) if given::check_value_bytes(text.len()).is_ok() && !text.contains('\0') => {
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(text.as_bytes());
            true
        }
        _ => false,
    }
}

/// A value of a plain Python class, which is never NULL or an array.
fn other(
    line: &PgType,
    value: &Bound<'_, PyAny>,
    dates: Dates,
    out: &mut Vec<u8>,
) -> PyResult<bool> {
    let py = value.py();
    let is_plain = !scalars::is_foreign(value)
        || value.get_type().is(classes::DECIMAL.get(py)?)
        || value.get_type().is(classes::UUID.get(py)?);
    if !is_plain {
        return Ok(false);
    }
    let value = scalars::to_value(line, value, dates)?;
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    let is_written = (line.encode)(&value, out).is_ok();
    let length = out.len() - start - LENGTH_BYTES;
    match (u32::try_from(length), out.get_mut(start..start + LENGTH_BYTES)) {
        (Ok(counted), Some(place)) if is_written && given::check_value_bytes(length).is_ok() => {
            place.copy_from_slice(&counted.to_be_bytes());
            Ok(true)
        }
        _ => {
            out.truncate(start);
            Ok(false)
        }
    }
}
