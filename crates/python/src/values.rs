//! Neutral values as Python objects: the same ones for rows and for columns read value by value.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;
use colonnade_columnar::{Reason, Sign, Value};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBytes, PyDate, PyDateTime, PyDict, PyFloat, PyList, PyString, PyTime, PyTzInfo,
};

use crate::calendar::{DAY_US, civil_from_days, clock_from_us};
use crate::moments;

/// Why a field gives no Python object.
pub(crate) enum ValueError {
    /// The bytes are no value of the type.
    Decode(Reason),
    /// The value is right, but Python's type has no place for it; the text says so.
    OutOfRange(String),
    /// Python refused.
    Python(PyErr),
}

impl From<PyErr> for ValueError {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<ValueError> for PyErr {
    fn from(error: ValueError) -> Self {
        match error {
            ValueError::Decode(reason) => PyOverflowError::new_err(reason.to_string()),
            ValueError::OutOfRange(text) => PyOverflowError::new_err(text),
            ValueError::Python(error) => error,
        }
    }
}

static DECIMAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static UUID: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn class<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    module: &str,
    name: &str,
) -> PyResult<&'py Bound<'py, PyAny>> {
    let class = cell
        .get_or_try_init(py, || PyModule::import(py, module)?.getattr(name).map(Bound::unbind))?;
    Ok(class.bind(py))
}

/// The Python object of a value.
pub(crate) fn to_python(py: Python<'_>, value: Value<'_>) -> Result<Py<PyAny>, ValueError> {
    Ok(match value {
        Value::Null => py.None(),
        Value::Bool(value) => {
            value.into_pyobject(py).map_err(PyErr::from)?.to_owned().into_any().unbind()
        }
        Value::Int(value) => value.into_pyobject(py).map_err(PyErr::from)?.into_any().unbind(),
        Value::UInt(value) => value.into_pyobject(py).map_err(PyErr::from)?.into_any().unbind(),
        Value::Float(value) => PyFloat::new(py, value).into_any().unbind(),
        Value::Float32(value) => PyFloat::new(py, f64::from(value)).into_any().unbind(),
        Value::Text(text) => PyString::new(py, &text).into_any().unbind(),
        Value::Bytes(bytes) => PyBytes::new(py, &bytes).into_any().unbind(),
        Value::Uuid(bytes) => uuid(py, &bytes)?,
        Value::Date(days) => date(py, days)?,
        Value::DateInfinity(sign) => {
            let year = if sign == Sign::Positive { (9999, 12, 31) } else { (1, 1, 1) };
            PyDate::new(py, year.0, year.1, year.2)?.into_any().unbind()
        }
        Value::Time(us) => time(py, us)?,
        Value::Timestamp(us) => timestamp(py, us, None)?,
        Value::TimestampTz(us) => timestamp(py, us, Some(&PyTzInfo::utc(py)?.to_owned()))?,
        Value::TimestampInfinity(sign) => timestamp_infinity(py, sign)?,
        Value::Numeric(text) => decimal(py, &text)?,
        other => {
            let kind = other.describe();
            return Err(PyTypeError::new_err(format!("no Python object for {kind}")).into());
        }
    })
}

fn uuid(py: Python<'_>, bytes: &[u8; 16]) -> PyResult<Py<PyAny>> {
    let class = class(py, &UUID, "uuid", "UUID")?;
    let arguments = PyDict::new(py);
    arguments.set_item("int", u128::from_be_bytes(*bytes))?;
    class.call((), Some(&arguments)).map(Bound::unbind)
}

fn decimal(py: Python<'_>, text: &str) -> PyResult<Py<PyAny>> {
    class(py, &DECIMAL, "decimal", "Decimal")?.call1((text,)).map(Bound::unbind)
}

fn date(py: Python<'_>, days: i32) -> Result<Py<PyAny>, ValueError> {
    let civil = civil_from_days(i64::from(days));
    let year = python_year(civil.year, "date")?;
    Ok(PyDate::new(py, year, civil.month, civil.day)?.into_any().unbind())
}

fn time(py: Python<'_>, us: i64) -> Result<Py<PyAny>, ValueError> {
    if us >= DAY_US {
        return Err(ValueError::OutOfRange(
            "24:00:00 has no place in Python's time of day: cast it to text, or fetch it as \
             columns with \"int64\" in schema"
                .to_owned(),
        ));
    }
    let (hour, minute, second, us) = clock_from_us(us);
    Ok(PyTime::new(py, hour, minute, second, us, None)?.into_any().unbind())
}

fn timestamp(
    py: Python<'_>,
    us: i64,
    zone: Option<&Bound<'_, PyTzInfo>>,
) -> Result<Py<PyAny>, ValueError> {
    let civil = civil_from_days(us.div_euclid(DAY_US));
    let year = python_year(civil.year, "datetime")?;
    let (hour, minute, second, us) = clock_from_us(us.rem_euclid(DAY_US));
    let made = PyDateTime::new(py, year, civil.month, civil.day, hour, minute, second, us, zone)?;
    Ok(made.into_any().unbind())
}

/// As asyncpg has them: the first and the last moment that Python can name.
fn timestamp_infinity(py: Python<'_>, sign: Sign) -> PyResult<Py<PyAny>> {
    let made = match sign {
        Sign::Positive => PyDateTime::new(py, 9999, 12, 31, 23, 59, 59, 999_999, None),
        Sign::Negative => PyDateTime::new(py, 1, 1, 1, 0, 0, 0, 0, None),
    };
    Ok(made?.into_any().unbind())
}

fn python_year(year: i64, class: &str) -> Result<i32, ValueError> {
    match i32::try_from(year) {
        Ok(year) if (1..=9999).contains(&year) => Ok(year),
        _ => {
            let shown = if year < 1 { format!("{} BC", 1 - year) } else { year.to_string() };
            Err(ValueError::OutOfRange(format!(
                "the year {shown} has no place in Python's {class} (1 to 9999): cast it to text, \
                 or fetch columns and read them as NumPy or Arrow"
            )))
        }
    }
}

/// Every value of an array as a Python object, None for NULL.
pub(crate) fn list_of_array<'py>(
    py: Python<'py>,
    array: &dyn Array,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for index in 0..array.len() {
        if array.is_null(index) {
            list.append(py.None())?;
        } else if matches!(array.data_type(), DataType::Duration(_)) {
            list.append(moments::duration(py, moments::micros(array, index)?)?)?;
        } else {
            let value = value_of(array, index)?;
            list.append(to_python(py, value)?)?;
        }
    }
    Ok(list)
}

/// The value at an index that is not NULL.
fn value_of(array: &dyn Array, index: usize) -> PyResult<Value<'_>> {
    Ok(match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(index)),
        DataType::Int16 => Value::Int(i64::from(at::<Int16Type>(array).value(index))),
        DataType::Int32 => Value::Int(i64::from(at::<Int32Type>(array).value(index))),
        DataType::Int64 => Value::Int(at::<Int64Type>(array).value(index)),
        DataType::UInt16 => Value::UInt(u64::from(at::<UInt16Type>(array).value(index))),
        DataType::UInt64 => Value::UInt(at::<UInt64Type>(array).value(index)),
        DataType::UInt32 => Value::UInt(u64::from(at::<UInt32Type>(array).value(index))),
        DataType::Float32 => Value::Float32(at::<Float32Type>(array).value(index)),
        DataType::Float64 => Value::Float(at::<Float64Type>(array).value(index)),
        DataType::Date32 => Value::Date(at::<Date32Type>(array).value(index)),
        DataType::Time32(_) | DataType::Time64(_) => Value::Time(moments::micros(array, index)?),
        DataType::Timestamp(_, None) => Value::Timestamp(moments::micros(array, index)?),
        DataType::Timestamp(_, Some(_)) => Value::TimestampTz(moments::micros(array, index)?),
        DataType::Decimal128(..) => {
            Value::Numeric(Cow::Owned(at::<Decimal128Type>(array).value_as_string(index)))
        }
        DataType::Decimal256(..) => {
            Value::Numeric(Cow::Owned(at::<Decimal256Type>(array).value_as_string(index)))
        }
        DataType::Utf8 => Value::Text(Cow::Borrowed(array.as_string::<i32>().value(index))),
        DataType::LargeUtf8 => Value::Text(Cow::Borrowed(array.as_string::<i64>().value(index))),
        DataType::Utf8View => Value::Text(Cow::Borrowed(array.as_string_view().value(index))),
        DataType::Binary => Value::Bytes(Cow::Borrowed(array.as_binary::<i32>().value(index))),
        DataType::LargeBinary => Value::Bytes(Cow::Borrowed(array.as_binary::<i64>().value(index))),
        DataType::FixedSizeBinary(16) => {
            let bytes = array.as_fixed_size_binary().value(index);
            Value::Uuid(bytes.try_into().unwrap_or_default())
        }
        DataType::Dictionary(..) => match array.as_dictionary_opt::<Int32Type>() {
            Some(texts) => {
                let key = usize::try_from(texts.keys().value(index)).unwrap_or_default();
                value_of(texts.values().as_ref(), key)?
            }
            None => return Err(PyTypeError::new_err("a dictionary has keys of 32 bits")),
        },
        other => {
            return Err(PyTypeError::new_err(format!("no Python values of Arrow type {other}")));
        }
    })
}

fn at<T: ArrowPrimitiveType>(array: &dyn Array) -> &PrimitiveArray<T> {
    array.as_primitive::<T>()
}
