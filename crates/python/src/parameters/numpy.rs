//! NumPy's scalars, and the NULLs of NumPy and pandas.
//!
//! This module imports neither library: given one of its objects, a library is already there.

use colonnade_columnar::Value;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::class_names;
use colonnade_columnar::calendar::{DAY_US, first_day};

/// Microseconds in a second, and parts in a microsecond, by NumPy's units.
const SECOND_US: i128 = 1_000_000;

/// Whether an object is pandas' NA or NaT, or NumPy's NaT or masked value, which would convert to a
/// number: `float(masked)` is NaN, `int(masked)` is 0.
pub(super) fn is_missing(argument: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = argument.get_type();
    let name = class.name()?;
    Ok(match name.to_str()? {
        "NaTType" | "NAType" => class_names::is_of(&class, "pandas"),
        "MaskedConstant" => class_names::is_of(&class, "numpy"),
        "datetime64" | "timedelta64" if class_names::is_of(&class, "numpy") => {
            // NaT is the only datetime that is not equal to itself.
            argument.ne(argument)?
        }
        _ => false,
    })
}

/// Whether an object is the NaT of pandas or NumPy.
pub(super) fn is_nat(argument: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !super::scalars::is_foreign(argument) {
        return Ok(false);
    }
    let is_nothing_else =
        matches!(argument.get_type().name()?.to_str()?, "NAType" | "MaskedConstant");
    Ok(!is_nothing_else && is_missing(argument)?)
}

fn is_scalar(argument: &Bound<'_, PyAny>, class_name: &str) -> PyResult<bool> {
    let class = argument.get_type();
    Ok(class.name()? == class_name && class_names::is_of(&class, "numpy"))
}

/// A NumPy number as a Python `int` or `float`; other objects unchanged.
pub(super) fn plain_number<'py>(argument: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if !super::scalars::is_foreign(argument) || !class_names::is_of(&argument.get_type(), "numpy") {
        return Ok(argument.clone());
    }
    match argument.getattr_opt("dtype")? {
        Some(dtype) if "iuf".contains(dtype.getattr("kind")?.extract::<&str>()?) => {
            argument.call_method0("item")
        }
        _ => Ok(argument.clone()),
    }
}

/// A NumPy float narrower than Python's.
pub(super) fn narrow_float(argument: &Bound<'_, PyAny>) -> PyResult<Option<f32>> {
    let is_narrow = super::scalars::is_foreign(argument)
        && (is_scalar(argument, "float32")? || is_scalar(argument, "float16")?);
    if is_narrow { argument.extract::<f32>().map(Some) } else { Ok(None) }
}

/// A number of one of NumPy's time units, not NaT.
pub(super) struct Count {
    count: i128,
    unit: String,
}

/// A `numpy.datetime64`.
pub(super) struct Moment(Count);

/// A `numpy.timedelta64`.
pub(super) struct Duration(Count);

pub(super) fn datetime64(argument: &Bound<'_, PyAny>) -> PyResult<Option<Moment>> {
    if !is_scalar(argument, "datetime64")? {
        return Ok(None);
    }
    Ok(Some(Moment(Count::of(argument)?)))
}

pub(super) fn timedelta64(argument: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    if !is_scalar(argument, "timedelta64")? {
        return Ok(None);
    }
    Ok(Some(Duration(Count::of(argument)?)))
}

impl Count {
    fn of(argument: &Bound<'_, PyAny>) -> PyResult<Self> {
        let numpy = PyModule::import(argument.py(), "numpy")?;
        let dtype = argument.getattr("dtype")?;
        let (unit, step) =
            numpy.call_method1("datetime_data", (dtype,))?.extract::<(String, i128)>()?;
        let count: i64 = argument.call_method1("astype", ("i8",))?.extract()?;
        Ok(Self { count: i128::from(count) * step, unit })
    }

    /// Microseconds, if the unit has a fixed length and they are whole.
    fn micros(&self) -> PyResult<i128> {
        let (times, parts): (i128, i128) = match self.unit.as_str() {
            "W" => (7 * 86_400 * SECOND_US, 1),
            "D" => (86_400 * SECOND_US, 1),
            "h" => (3_600 * SECOND_US, 1),
            "m" => (60 * SECOND_US, 1),
            "s" => (SECOND_US, 1),
            "ms" => (1_000, 1),
            "us" => (1, 1),
            "ns" => (1, 1_000),
            "ps" => (1, 1_000_000),
            "fs" => (1, 1_000_000_000),
            "as" => (1, 1_000_000_000_000),
            "generic" => {
                return Err(PyTypeError::new_err(
                    "it has no unit of time: give it one, as datetime64[us] has",
                ));
            }
            unit => {
                return Err(PyTypeError::new_err(format!(
                    "a count of {unit} is not a fixed length of time"
                )));
            }
        };
        // A 64-bit number of weeks in microseconds is far below 128 bits.
        let micros = self.count * times;
        if micros % parts != 0 {
            return Err(PyValueError::new_err(format!(
                "a count of {} {} is not a whole number of microseconds: round it",
                self.count, self.unit
            )));
        }
        Ok(micros / parts)
    }
}

fn out_of_range<E>(_: E) -> PyErr {
    PyValueError::new_err("value is outside of 64 bits of microseconds")
}

impl Moment {
    /// Microseconds since 1970-01-01.
    pub(super) fn micros(&self) -> PyResult<i64> {
        match self.day_of_calendar()? {
            Some(day) => day.checked_mul(DAY_US).ok_or_else(|| out_of_range(())),
            None => i64::try_from(self.0.micros()?).map_err(out_of_range),
        }
    }

    /// Days since 1970-01-01, if it is the start of a day.
    pub(super) fn days(&self) -> PyResult<i32> {
        let days = match self.day_of_calendar()? {
            Some(day) => i128::from(day),
            None => {
                let micros = self.0.micros()?;
                if micros % i128::from(DAY_US) != 0 {
                    return Err(PyValueError::new_err(
                        "it is not the first moment of a day: convert it to datetime64[D]",
                    ));
                }
                micros / i128::from(DAY_US)
            }
        };
        i32::try_from(days)
            .map_err(|_| PyValueError::new_err("value is outside of 32 bits of days"))
    }

    /// The first day of a year or month, for units without a fixed length.
    fn day_of_calendar(&self) -> PyResult<Option<i64>> {
        let months = match self.0.unit.as_str() {
            "Y" => self.0.count * 12,
            "M" => self.0.count,
            _ => return Ok(None),
        };
        let day = i64::try_from(months).ok().and_then(first_day);
        day.map(Some).ok_or_else(|| out_of_range(()))
    }
}

impl Duration {
    /// Microseconds, if they are whole.
    pub(super) fn micros(&self) -> PyResult<i64> {
        i64::try_from(self.0.micros()?).map_err(out_of_range)
    }

    pub(super) fn interval<'a>(&self) -> PyResult<Value<'a>> {
        let too_many = |_| PyValueError::new_err("value is outside of an interval's 32 bits");
        let part = |count: i128| i32::try_from(count).map_err(too_many);
        Ok(match self.0.unit.as_str() {
            "Y" => Value::Interval { months: part(self.0.count * 12)?, days: 0, micros: 0 },
            "M" => Value::Interval { months: part(self.0.count)?, days: 0, micros: 0 },
            "W" => Value::Interval { months: 0, days: part(self.0.count * 7)?, micros: 0 },
            "D" => Value::Interval { months: 0, days: part(self.0.count)?, micros: 0 },
            _ => {
                let micros = i64::try_from(self.0.micros()?).map_err(out_of_range)?;
                Value::Interval { months: 0, days: 0, micros }
            }
        })
    }
}
