//! Python values as parameters, guided by the types that the server expects.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;

use colonnade_columnar::{
    DecodeOptions, Infinity, Kind, Override, Sign, Type, Value, push_parameter,
};
use colonnade_protocol::Format;
use colonnade_protocol::frontend::EncodedParams;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBytes, PyDate, PyDateAccess, PyDateTime, PyDict, PyFloat, PyInt, PyList, PyString, PyTime,
    PyTimeAccess, PyTuple, PyTzInfo, PyTzInfoAccess,
};

use crate::calendar::{Civil, DAY_US, days_from_civil};
use crate::errors;

/// Encodes the arguments of a query; the error names the argument and its type.
pub(crate) fn encode(
    py: Python<'_>,
    types: &[Arc<Type>],
    arguments: &Bound<'_, PyTuple>,
) -> PyResult<EncodedParams> {
    if arguments.len() != types.len() {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        return Err(errors::interface(
            py,
            &format!(
                "the server expects {} argument{} for this query, {} {} passed",
                types.len(),
                plural(types.len()),
                arguments.len(),
                if arguments.len() == 1 { "was" } else { "were" },
            ),
        ));
    }
    let mut encoded = EncodedParams::new();
    for (index, (argument, pg_type)) in arguments.iter().zip(types).enumerate() {
        push(&mut encoded, pg_type, &argument)
            .map_err(|reason| refuse(py, index, pg_type, &argument, &reason))?;
    }
    Ok(encoded)
}

fn push(encoded: &mut EncodedParams, pg_type: &Type, argument: &Bound<'_, PyAny>) -> PyResult<()> {
    if argument.is_none() {
        encoded.push_null(Format::Binary);
        return Ok(());
    }
    let value = match pg_type.kind() {
        Some(kind) => to_value(kind, argument)?,
        None => to_unknown(pg_type, argument)?,
    };
    push_parameter(encoded, pg_type, &value)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A type the table does not know takes its text form as `str`, its binary form as `bytes`.
fn to_unknown<'a>(pg_type: &Type, argument: &'a Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    if let Ok(text) = argument.cast::<PyString>() {
        return Ok(Value::Text(Cow::Borrowed(text.to_str()?)));
    }
    if let Ok(bytes) = argument.cast::<PyBytes>() {
        return Ok(Value::Bytes(Cow::Borrowed(bytes.as_bytes())));
    }
    Err(PyTypeError::new_err(format!(
        "{} is passed as str in its text form or as bytes in its binary form, not as {}",
        pg_type.name,
        argument.get_type().name()?
    )))
}

fn refuse(
    py: Python<'_>,
    index: usize,
    pg_type: &Type,
    argument: &Bound<'_, PyAny>,
    reason: &PyErr,
) -> PyErr {
    let shown = argument.repr().map_or_else(|_| "<no repr>".to_owned(), |repr| repr.to_string());
    let shown = if shown.chars().count() > 80 {
        shown.chars().take(77).chain("...".chars()).collect()
    } else {
        shown
    };
    let error = errors::of_class(
        py,
        "EncodeError",
        &format!(
            "invalid input for query argument ${} of type {}: {shown} ({})",
            index + 1,
            pg_type.name,
            reason.value(py)
        ),
    );
    error.set_cause(py, Some(reason.clone_ref(py)));
    error
}

fn to_value<'a>(kind: Kind, argument: &'a Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    match kind {
        // NumPy's boolean is taken too.
        Kind::Bool => match argument.extract::<bool>() {
            Ok(truth) => Ok(Value::Bool(truth)),
            Err(_) => expected("a bool", argument),
        },
        Kind::Int => Ok(Value::Int(integer(argument)?)),
        Kind::UInt => match u64::try_from(integer(argument)?) {
            Ok(value) => Ok(Value::UInt(value)),
            Err(_) => Err(PyValueError::new_err("value is negative")),
        },
        // An integer that a float cannot hold exactly is the encoder's to refuse.
        Kind::Float | Kind::Float32 if argument.is_exact_instance_of::<PyInt>() => {
            match argument.extract::<i64>() {
                Ok(value) => Ok(Value::Int(value)),
                Err(_) => Ok(Value::Float(float(argument)?)),
            }
        }
        Kind::Float => Ok(Value::Float(float(argument)?)),
        // The encoder sees the whole double, so that it can tell what does not fit.
        Kind::Float32 => Ok(Value::Float(float(argument)?)),
        Kind::Text => match argument.cast::<PyString>() {
            Ok(text) => Ok(Value::Text(Cow::Borrowed(text.to_str()?))),
            Err(_)
                if argument.is_instance_of::<PyDict>() || argument.is_instance_of::<PyList>() =>
            {
                expected("a str, such as json.dumps makes", argument)
            }
            Err(_) => expected("a str", argument),
        },
        Kind::Bytes => bytes(argument),
        Kind::Uuid => uuid(argument),
        Kind::Date => match argument.cast::<PyDate>() {
            Ok(date) => Ok(date_value(date)),
            Err(_) => expected("a datetime.date", argument),
        },
        Kind::Time => time(argument),
        Kind::Timestamp => timestamp(argument),
        Kind::TimestampTz => timestamp_tz(argument),
        Kind::Numeric => numeric(argument),
        other => match argument.cast::<PyString>() {
            Ok(text) => Ok(Value::Text(Cow::Borrowed(text.to_str()?))),
            Err(_) => Err(PyTypeError::new_err(format!("no parameters of kind {other:?}"))),
        },
    }
}

fn expected<T>(what: &str, argument: &Bound<'_, PyAny>) -> PyResult<T> {
    // With its module: NumPy and Python both have a `bool`.
    let kind = argument.get_type().fully_qualified_name()?;
    Err(PyTypeError::new_err(format!("expected {what}, got {kind}")))
}

fn integer(argument: &Bound<'_, PyAny>) -> PyResult<i64> {
    if argument.is_instance_of::<PyFloat>() || argument.is_instance_of::<PyString>() {
        return expected("an int", argument);
    }
    // NumPy's and others' integers say by `__index__` that they are whole numbers.
    let whole = if argument.is_instance_of::<PyInt>() {
        argument.clone()
    } else if let Ok(whole) = argument.call_method0("__index__") {
        whole
    } else {
        return expected("an int", argument);
    };
    whole.extract::<i64>().map_err(|_| PyValueError::new_err("value is outside of 64 bits"))
}

fn float(argument: &Bound<'_, PyAny>) -> PyResult<f64> {
    if argument.is_instance_of::<PyString>() {
        return expected("a float", argument);
    }
    argument.extract::<f64>().or_else(|error| {
        // An int of more than 308 digits is a number, and Python says what is wrong with it.
        if error.is_instance_of::<PyOverflowError>(argument.py()) {
            Err(error)
        } else {
            expected("a float", argument)
        }
    })
}

fn bytes<'a>(argument: &'a Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    if let Ok(bytes) = argument.cast::<PyBytes>() {
        return Ok(Value::Bytes(Cow::Borrowed(bytes.as_bytes())));
    }
    match PyBuffer::<u8>::get(argument) {
        Ok(buffer) => Ok(Value::Bytes(Cow::Owned(buffer.to_vec(argument.py())?))),
        Err(_) => expected("bytes", argument),
    }
}

fn uuid<'a>(argument: &'a Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let made = if argument.is_instance_of::<PyString>() {
        PyModule::import(argument.py(), "uuid")?.getattr("UUID")?.call1((argument,))?
    } else {
        argument.clone()
    };
    match made.getattr("bytes").and_then(|bytes| bytes.extract::<[u8; 16]>()) {
        Ok(bytes) => Ok(Value::Uuid(bytes)),
        Err(_) => expected("a uuid.UUID", argument),
    }
}

fn civil(date: &impl PyDateAccess) -> Civil {
    Civil { year: i64::from(date.get_year()), month: date.get_month(), day: date.get_day() }
}

/// The first and the last day that Python can name stand for the infinities, as in asyncpg.
fn date_value<'a>(date: &Bound<'_, PyDate>) -> Value<'a> {
    match civil(date) {
        Civil { year: 9999, month: 12, day: 31 } => Value::DateInfinity(Sign::Positive),
        Civil { year: 1, month: 1, day: 1 } => Value::DateInfinity(Sign::Negative),
        // A year of four digits is within 32 bits of days.
        day => Value::Date(days_from_civil(day) as i32),
    }
}

fn clock_us(time: &impl PyTimeAccess) -> i64 {
    let seconds = i64::from(time.get_hour()) * 3_600
        + i64::from(time.get_minute()) * 60
        + i64::from(time.get_second());
    seconds * 1_000_000 + i64::from(time.get_microsecond())
}

fn time<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    match argument.cast::<PyTime>() {
        Ok(time) if time.get_tzinfo().is_none() => Ok(Value::Time(clock_us(time))),
        Ok(_) => Err(PyValueError::new_err("a time without time zone takes no tzinfo")),
        Err(_) => expected("a datetime.time", argument),
    }
}

fn moment_us(moment: &Bound<'_, PyDateTime>) -> i64 {
    days_from_civil(civil(moment)) * DAY_US + clock_us(moment)
}

/// The first and the last moment that Python can name stand for the infinities, as in asyncpg.
fn infinity(moment: &Bound<'_, PyDateTime>) -> Option<Sign> {
    match (civil(moment), clock_us(moment)) {
        (Civil { year: 9999, month: 12, day: 31 }, us) if us == DAY_US - 1 => Some(Sign::Positive),
        (Civil { year: 1, month: 1, day: 1 }, 0) => Some(Sign::Negative),
        _ => None,
    }
}

fn timestamp<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    if let Ok(moment) = argument.cast::<PyDateTime>() {
        if moment.get_tzinfo().is_some() {
            return Err(PyValueError::new_err(
                "a timestamp without time zone takes a naive datetime: drop the tzinfo, or cast \
                 the parameter to timestamptz",
            ));
        }
        return Ok(match infinity(moment) {
            Some(sign) => Value::TimestampInfinity(sign),
            None => Value::Timestamp(moment_us(moment)),
        });
    }
    match argument.cast::<PyDate>() {
        Ok(date) => Ok(Value::Timestamp(days_from_civil(civil(date)) * DAY_US)),
        Err(_) => expected("a datetime.datetime", argument),
    }
}

fn timestamp_tz<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let py = argument.py();
    let moment = if let Ok(moment) = argument.cast::<PyDateTime>() {
        moment.clone()
    } else if let Ok(date) = argument.cast::<PyDate>() {
        PyDateTime::new(
            py,
            date.get_year(),
            date.get_month(),
            date.get_day(),
            0,
            0,
            0,
            0,
            Some(&PyTzInfo::utc(py)?.to_owned()),
        )?
    } else {
        return expected("a datetime.datetime", argument);
    };
    if moment.get_tzinfo().is_none()
        && let Some(sign) = infinity(&moment)
    {
        return Ok(Value::TimestampInfinity(sign));
    }
    // Naive is local time, as `astimezone` and asyncpg take it.
    let utc = moment.call_method1("astimezone", (PyTzInfo::utc(py)?,))?;
    Ok(Value::TimestampTz(moment_us(utc.cast::<PyDateTime>()?)))
}

fn numeric<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let decimal = PyModule::import(argument.py(), "decimal")?.getattr("Decimal")?;
    let number = if argument.is_instance(&decimal)? {
        argument.clone()
    } else {
        decimal.call1((argument,)).or_else(|_| expected("a decimal.Decimal", argument))?
    };
    Ok(Value::Numeric(Cow::Owned(number.str()?.to_string())))
}

/// `schema=` and `infinity=` of a columnar fetch.
pub(crate) fn decode_options(
    py: Python<'_>,
    schema: Option<&Bound<'_, PyDict>>,
    infinity: &str,
) -> PyResult<DecodeOptions> {
    let infinity = Infinity::from_str(infinity)
        .map_err(|error| errors::of_class(py, "SchemaError", &error.to_string()))?;
    let mut overrides = Vec::new();
    for (name, wanted) in schema.into_iter().flatten() {
        let name: String = name.extract()?;
        let wanted = Override::from_str(wanted.str()?.to_str()?).map_err(|error| {
            errors::of_class(py, "SchemaError", &format!("schema[{name:?}]: {error}"))
        })?;
        overrides.push((name, wanted));
    }
    Ok(DecodeOptions { infinity, overrides })
}
