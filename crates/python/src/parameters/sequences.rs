//! Values that are sequences or mappings of plain values, but not arrays.

use std::borrow::Cow;

use colonnade_columnar::Value;
use colonnade_columnar::given::nearest_float4;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::plain::check_value_bytes;
use super::scalars::{float, unsigned};
use super::{answered, expected};
use crate::shown::shown;
use crate::values::classes;

/// The items of a tuple or list.
fn items<'py>(argument: &Bound<'py, PyAny>, what: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if let Ok(tuple) = argument.cast::<PyTuple>() {
        return Ok(tuple.iter().collect());
    }
    match argument.cast::<PyList>() {
        Ok(list) => Ok(list.iter().collect()),
        Err(_) => expected(what, argument),
    }
}

pub(super) fn tid<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    const WHAT: &str = "a tuple (block, offset)";
    let parts = items(argument, WHAT)?;
    let [block, offset] = parts.as_slice() else {
        return Err(PyValueError::new_err(format!("expected {WHAT}, got {}", parts.len())));
    };
    let range = |name, most| PyValueError::new_err(format!("{name} is outside of 0 to {most}"));
    Ok(Value::Tid {
        block: u32::try_from(unsigned(block)?).map_err(|_| range("block", u32::MAX))?,
        offset: u16::try_from(unsigned(offset)?)
            .map_err(|_| range("offset", u32::from(u16::MAX)))?,
    })
}

pub(super) fn snapshot<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    const WHAT: &str = "a tuple (xmin, xmax, (xip, ...))";
    let parts = items(argument, WHAT)?;
    let [xmin, xmax, running] = parts.as_slice() else {
        return Err(PyValueError::new_err(format!("expected {WHAT}, got {}", parts.len())));
    };
    Ok(Value::Snapshot {
        xmin: unsigned(xmin)?,
        xmax: unsigned(xmax)?,
        running: items(running, WHAT)?.iter().map(unsigned).collect::<PyResult<_>>()?,
    })
}

/// The items of a sized iterable, each of `item_bytes` bytes at the server. All are taken before
/// the first is converted, because its methods may change the sequence.
pub(super) fn sized_items<'py>(
    argument: &Bound<'py, PyAny>,
    what: &str,
    item_bytes: usize,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let Some(length) = answered(argument.py(), argument.len())? else {
        return expected(what, argument);
    };
    check_value_bytes(length.saturating_mul(item_bytes))?;
    argument.try_iter()?.collect()
}

/// A vector: a sequence of numbers, a NumPy array, or the text format.
pub(super) fn floats<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    const WHAT: &str = "a sequence of floats";
    if let Some(buffer) = answered(argument.py(), PyBuffer::<f32>::get(argument))?
        && buffer.dimensions() == 1
    {
        check_value_bytes(buffer.len_bytes())?;
        return Ok(Value::Floats(buffer.to_vec(argument.py())?));
    }
    if let Some(text) = text(argument)? {
        return Ok(text);
    }
    if classes::MAPPING.is_instance(argument)? {
        return expected(WHAT, argument);
    }
    let items = sized_items(argument, WHAT, size_of::<f32>())?;
    let numbers = items.iter().enumerate().map(|(index, item)| {
        let number = float(item).map_err(|error| {
            PyTypeError::new_err(format!("element [{index}]: {}", error.value(argument.py())))
        })?;
        nearest_float4(number).map_err(|_| {
            PyValueError::new_err(format!("element [{index}]: {number} is outside of 32 bits"))
        })
    });
    Ok(Value::Floats(numbers.collect::<PyResult<_>>()?))
}

/// The text of a type without values of its own, as the server prints it.
pub(super) fn text<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Option<Value<'a>>> {
    match argument.cast::<PyString>() {
        Ok(text) => Ok(Some(Value::Text(Cow::Owned(text.to_str()?.to_owned())))),
        Err(_) => Ok(None),
    }
}

/// An hstore: keys and values are text, and a value may be NULL; or the text format.
pub(super) fn map<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    if let Some(text) = text(argument)? {
        return Ok(text);
    }
    let pairs = match argument.cast::<PyDict>() {
        Ok(dict) => dict.items(),
        Err(_) if classes::MAPPING.is_instance(argument)? => {
            let items = argument.call_method0("items")?;
            PyList::new(argument.py(), items.try_iter()?.collect::<PyResult<Vec<_>>>()?)?
        }
        // Pairs, as asyncpg accepts them.
        Err(_) if argument.is_instance_of::<PyList>() || argument.is_instance_of::<PyTuple>() => {
            PyList::new(argument.py(), argument.try_iter()?.collect::<PyResult<Vec<_>>>()?)?
        }
        Err(_) => return expected("a dict", argument),
    };
    let owned = |part: &Bound<'_, PyAny>| -> PyResult<Cow<'static, str>> {
        match part.cast::<PyString>() {
            Ok(text) => Ok(Cow::Owned(text.to_str()?.to_owned())),
            Err(_) => expected("a str", part),
        }
    };
    let pairs = pairs.iter().map(|pair| {
        let Ok((key, value)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
            return expected("a dict or pairs", &pair);
        };
        let at_key = |error: PyErr| {
            let reason = error.value(argument.py());
            PyTypeError::new_err(format!("key {}: {reason}", shown(&key)))
        };
        let value = if value.is_none() { None } else { Some(owned(&value).map_err(at_key)?) };
        Ok((owned(&key).map_err(at_key)?, value))
    });
    Ok(Value::Map(pairs.collect::<PyResult<_>>()?))
}
