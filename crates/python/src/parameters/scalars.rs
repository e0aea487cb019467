//! Numbers, text, bytes and identifiers.

use std::borrow::Cow;

use colonnade_columnar::{Kind, PgType, Value};
use pyo3::basic::CompareOp;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyException, PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateTime, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple,
};

use super::plain::check_value_bytes;
use super::{answered, expected, figures, moments, numpy, sequences};
use crate::types::codecs::Dates;
use crate::values::{classes, numbers};

/// Whether an object's class is not one of Python's plain ones.
pub(super) fn is_foreign(argument: &Bound<'_, PyAny>) -> bool {
    !(argument.is_exact_instance_of::<PyInt>()
        || argument.is_exact_instance_of::<PyString>()
        || argument.is_exact_instance_of::<PyFloat>()
        || argument.is_exact_instance_of::<PyBool>()
        || argument.is_exact_instance_of::<PyBytes>()
        || argument.is_exact_instance_of::<PyDateTime>()
        || argument.is_exact_instance_of::<PyDate>()
        || argument.is_exact_instance_of::<PyList>()
        || argument.is_exact_instance_of::<PyTuple>()
        || argument.is_exact_instance_of::<PyDict>())
}

/// The value of an argument for a type of the table.
pub(super) fn to_value<'a>(
    line: &PgType,
    argument: &'a Bound<'_, PyAny>,
    dates: Dates,
) -> PyResult<Value<'a>> {
    match line.kind {
        // NumPy's boolean is accepted too.
        Kind::Bool => match argument.extract::<bool>() {
            Ok(truth) => Ok(Value::Bool(truth)),
            Err(_) => expected("a bool", argument),
        },
        Kind::Int => Ok(Value::Int(integer(argument)?)),
        Kind::UInt => Ok(Value::UInt(unsigned(argument)?)),
        Kind::Float => real(argument),
        Kind::Float32 => {
            let value = real(argument)?;
            check_whole_float4(argument, &value)?;
            Ok(value)
        }
        Kind::Text => text(argument),
        Kind::Bytes => match sequences::text(argument)? {
            // Geometries have no fixed OID.
            Some(text) if line.oid == 0 => Ok(text),
            _ => Ok(Value::Bytes(bytes(argument)?)),
        },
        Kind::Uuid => uuid(argument),
        Kind::Numeric => numeric(argument),
        Kind::Date => moments::date(argument, dates),
        Kind::Time => moments::time(argument),
        Kind::Timestamp => moments::timestamp(argument, dates),
        Kind::TimestampTz => moments::timestamp_tz(argument, dates),
        Kind::Interval => moments::interval(argument),
        Kind::TimeTz => moments::time_tz(argument),
        Kind::Bits => figures::bits(argument),
        Kind::Network => figures::network(argument, line.name == "cidr"),
        Kind::Point => Ok(Value::Point(figures::point(argument)?)),
        Kind::Line => figures::line(argument),
        Kind::LineSegment => Ok(Value::LineSegment(figures::two_points(argument)?)),
        Kind::Box => Ok(Value::Box(figures::two_points(argument)?)),
        Kind::Circle => figures::circle(argument),
        Kind::Path => figures::path(argument),
        Kind::Polygon => Ok(Value::Polygon(figures::points(argument)?)),
        Kind::Tid => sequences::tid(argument),
        Kind::Snapshot => sequences::snapshot(argument),
        Kind::Floats => sequences::floats(argument),
        Kind::Map => sequences::map(argument),
        Kind::Void => match text(argument) {
            Ok(Value::Text(text)) if text.is_empty() => Ok(Value::Text(text)),
            _ => Err(PyTypeError::new_err("void has no values: only None and '' are passed")),
        },
    }
}

fn text<'a>(argument: &'a Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    match argument.cast::<PyString>() {
        Ok(text) => Ok(Value::Text(Cow::Borrowed(text.to_str()?))),
        Err(_) if argument.is_instance_of::<PyDict>() || argument.is_instance_of::<PyList>() => {
            expected("a str, such as json.dumps makes", argument)
        }
        Err(_) => expected("a str", argument),
    }
}

/// The label of an enum: a string, or a Python enum member with a string value.
pub(super) fn label<'a>(argument: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    if let Ok(text) = argument.cast::<PyString>() {
        return Ok(Cow::Borrowed(text.to_str()?));
    }
    if classes::ENUM.is_instance(argument)? {
        let value = argument.getattr("value")?;
        return match value.cast::<PyString>() {
            Ok(text) => Ok(Cow::Owned(text.to_str()?.to_owned())),
            Err(_) => expected("an enum member whose value is a str", &value),
        };
    }
    expected("a str", argument)
}

/// A whole number as a Python `int`. Integers of NumPy and other libraries have `__index__`; a
/// float or a decimal is accepted if it is whole.
pub(super) fn whole<'py>(argument: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if argument.is_instance_of::<PyInt>() {
        return Ok(argument.clone());
    }
    if argument.is_instance_of::<PyString>() {
        return expected("an int", argument);
    }
    if let Some(number) = answered(argument.py(), argument.call_method0("__index__"))? {
        return Ok(number);
    }
    if !numbers::is_real(argument)? {
        return expected("an int", argument);
    }
    // Converting 1E+1000000000 to an int takes a gigabyte, and dividing long integers quadratic
    // time.
    if argument.is_instance(classes::DECIMAL.get(argument.py())?)? {
        let exponent: i64 = argument.call_method0("adjusted")?.extract()?;
        if exponent > INTEGER_DIGITS_MOST {
            return Err(PyValueError::new_err("value is outside of 64 bits"));
        }
    } else if let Some(denominator) = argument.getattr_opt("denominator")? {
        return if denominator.eq(1)? {
            argument.getattr("numerator")
        } else {
            expected("an int", argument)
        };
    }
    match answered(argument.py(), argument.call_method0("__int__"))? {
        Some(number) if is_equal(argument, &number)? => Ok(number),
        _ => expected("an int", argument),
    }
}

/// An array, which compares element by element, is equal to nothing.
fn is_equal(argument: &Bound<'_, PyAny>, number: &Bound<'_, PyAny>) -> PyResult<bool> {
    let equal = argument.rich_compare(number, CompareOp::Eq);
    let equal = equal.and_then(|equal| equal.extract::<bool>());
    Ok(answered(argument.py(), equal)?.unwrap_or(false))
}

pub(super) fn integer(argument: &Bound<'_, PyAny>) -> PyResult<i64> {
    whole(argument)?
        .extract::<i64>()
        .map_err(|_| PyValueError::new_err("value is outside of 64 bits"))
}

pub(super) fn unsigned(argument: &Bound<'_, PyAny>) -> PyResult<u64> {
    let number = whole(argument)?;
    number.extract::<u64>().map_err(|_| {
        let is_negative = number.lt(0).unwrap_or(false);
        PyValueError::new_err(if is_negative {
            "value is negative"
        } else {
            "value is outside of 64 bits"
        })
    })
}

/// For the encoder, which gets the whole double or integer, so that it can report what does not
/// fit.
fn real<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    match index(argument)?.and_then(|number| number.extract().ok()) {
        Some(number) => Ok(Value::Int(number)),
        None => Ok(Value::Float(float(argument)?)),
    }
}

/// Refuses an integer that a `float4` would round, though no `float8` does.
fn check_whole_float4(argument: &Bound<'_, PyAny>, value: &Value<'_>) -> PyResult<()> {
    let Value::Float(float) = *value else { return Ok(()) };
    if f64::from(float as f32) == float || integer_of(argument, float)?.is_none() {
        return Ok(());
    }
    Err(PyValueError::new_err("a float4 cannot hold the integer exactly"))
}

/// A number as a float; a whole one of a class other than float only if the conversion is exact.
pub(super) fn float(argument: &Bound<'_, PyAny>) -> PyResult<f64> {
    if let Ok(float) = argument.cast_exact::<PyFloat>() {
        return Ok(float.value());
    }
    if argument.is_instance_of::<PyString>() || !numbers::is_real(argument)? {
        return expected("a float", argument);
    }
    let float = argument.extract::<f64>().or_else(|error| {
        // For an int of more than 308 digits, Python raises its own error.
        let py = argument.py();
        if error.is_instance_of::<PyOverflowError>(py) || !error.is_instance_of::<PyException>(py) {
            Err(error)
        } else {
            expected("a float", argument)
        }
    })?;
    match integer_of(argument, float)? {
        Some(number) if !is_equal(&number, &PyFloat::new(argument.py(), float))? => {
            Err(PyValueError::new_err("a float8 cannot hold the integer exactly"))
        }
        // `float` silently converts a decimal that is too large to infinity.
        None if float.is_infinite()
            && !is_equal(argument, &PyFloat::new(argument.py(), float))? =>
        {
            Err(PyValueError::new_err("value is beyond the largest float8"))
        }
        // Of other classes than numbers', equality with a float is not expected.
        None if float == 0.0
            && classes::NUMBER.is_instance(argument)?
            && !is_equal(argument, &PyFloat::new(argument.py(), float))? =>
        {
            Err(PyValueError::new_err("value is closer to 0 than the smallest float8"))
        }
        _ => Ok(float),
    }
}

/// The integer that an argument is, by its class or its value, if floats may round it.
fn integer_of<'py>(
    argument: &Bound<'py, PyAny>,
    float: f64,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    // Up to this one, a float4 holds all.
    const EXACT_MOST: f64 = (1 << f32::MANTISSA_DIGITS) as f64;
    if let Some(number) = index(argument)? {
        return Ok(Some(number));
    }
    let is_large = float.is_finite() && float.abs() >= EXACT_MOST;
    if !is_large
        || argument.is_instance_of::<PyFloat>()
        || !classes::NUMBER.is_instance(argument)?
    {
        return Ok(None);
    }
    // A finite float has at most 309 digits, so the integer is small.
    let number = answered(argument.py(), argument.call_method0("__int__"))?;
    match number {
        Some(number) if is_equal(argument, &number)? => Ok(Some(number)),
        _ => Ok(None),
    }
}

/// A number with `__index__` as a Python `int`.
fn index<'py>(argument: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if argument.is_instance_of::<PyFloat>() || argument.is_instance_of::<PyString>() {
        return Ok(None);
    }
    if argument.is_exact_instance_of::<PyInt>() {
        return Ok(Some(argument.clone()));
    }
    let py = argument.py();
    answered(py, argument.call_method0(intern!(py, "__index__")))
}

pub(super) fn bytes<'a>(argument: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(bytes) = argument.cast::<PyBytes>() {
        check_value_bytes(bytes.as_bytes().len())?;
        return Ok(Cow::Borrowed(bytes.as_bytes()));
    }
    let Some(buffer) = answered(argument.py(), PyBuffer::<u8>::get(argument))? else {
        return expected("bytes", argument);
    };
    check_value_bytes(buffer.len_bytes())?;
    Ok(Cow::Owned(buffer.to_vec(argument.py())?))
}

fn uuid<'a>(argument: &'a Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let made = if argument.is_instance_of::<PyString>() {
        classes::UUID.get(argument.py())?.call1((argument,))?
    } else {
        argument.clone()
    };
    let Ok(bytes) = made.getattr(intern!(argument.py(), "bytes")) else {
        return expected("a uuid.UUID", argument);
    };
    match bytes.cast::<PyBytes>().ok().and_then(|bytes| bytes.as_bytes().try_into().ok()) {
        Some(bytes) => Ok(Value::Uuid(bytes)),
        None => expected("a uuid.UUID", argument),
    }
}

/// Bits of the largest integer that numeric holds, which has 131,072 digits.
const NUMERIC_BITS_MOST: u64 = 435_412;

/// Python prints integers up to this size quickly; larger ones take quadratic time, and some it
/// refuses to print.
const PRINTED_BITS_MOST: u64 = 8_192;

/// More digits before the point than any integer type has.
const INTEGER_DIGITS_MOST: i64 = 40;

fn numeric<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let py = argument.py();
    if argument.is_instance_of::<PyInt>() {
        return Ok(Value::Numeric(Cow::Owned(digits(argument)?)));
    }
    if argument.is_instance(classes::DECIMAL.get(py)?)? {
        return Ok(Value::Numeric(Cow::Owned(argument.str()?.to_string())));
    }
    // By the fewest digits that distinguish the float from all others of its width.
    if let Some(narrow) = numpy::narrow_float(argument)? {
        return Ok(Value::Numeric(Cow::Owned(narrow.to_string())));
    }
    if let Ok(float) = argument.cast::<PyFloat>() {
        return Ok(Value::Numeric(Cow::Owned(float.value().to_string())));
    }
    let plain = numpy::plain_number(argument)?;
    if plain.is_instance_of::<PyInt>() {
        return Ok(Value::Numeric(Cow::Owned(digits(&plain)?)));
    }
    let made = classes::DECIMAL.get(py)?.call1((plain,));
    let made = made.or_else(|_| expected("a decimal.Decimal", argument))?;
    Ok(Value::Numeric(Cow::Owned(made.str()?.to_string())))
}

fn bit_length(number: &Bound<'_, PyAny>) -> PyResult<u64> {
    number.call_method0(intern!(number.py(), "bit_length"))?.extract()
}

/// The digits of an `int` of any class.
fn digits(number: &Bound<'_, PyAny>) -> PyResult<String> {
    // A subclass may override how it is printed.
    let number = number.py().get_type::<PyInt>().call1((number,))?;
    let bits = bit_length(&number)?;
    if bits <= PRINTED_BITS_MOST {
        return Ok(number.str()?.to_string());
    }
    if bits > NUMERIC_BITS_MOST {
        let text = "a numeric has at most 131072 digits before the point";
        return Err(PyValueError::new_err(text));
    }
    let mut text = String::new();
    if number.lt(0)? {
        text.push('-');
    }
    push_digits(&number.call_method0("__abs__")?, 0, &mut text)?;
    Ok(text)
}

/// Appends a number's digits, zero-padded to `width`: those of its upper half, then of its lower
/// half.
fn push_digits(number: &Bound<'_, PyAny>, width: usize, text: &mut String) -> PyResult<()> {
    let bits = bit_length(number)?;
    if bits <= PRINTED_BITS_MOST {
        let printed = number.str()?.to_string();
        text.extend(std::iter::repeat_n('0', width.saturating_sub(printed.len())));
        text.push_str(&printed);
        return Ok(());
    }
    // Fewer than half of the digits, at 3.3 bits each.
    let lower = (bits / 7) as usize;
    let unit = 10_u8.into_pyobject(number.py())?.pow(lower, number.py().None())?;
    let halves = number.divmod(unit)?;
    push_digits(&halves.get_item(0)?, width.saturating_sub(lower), text)?;
    push_digits(&halves.get_item(1)?, lower, text)
}
