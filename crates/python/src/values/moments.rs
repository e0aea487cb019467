//! Dates, times and intervals as objects of Python's `datetime`.

use colonnade_columnar::calendar::{DAY_US, civil_from_days, clock_from_us};
use colonnade_columnar::{Sign, given};
use pyo3::prelude::*;
use pyo3::types::{PyDate, PyDateTime, PyDelta, PyTime, PyTzInfo};

use super::ValueError;

pub(super) fn date(py: Python<'_>, days: i32) -> Result<Py<PyAny>, ValueError> {
    let civil = civil_from_days(i64::from(days));
    let year = python_year(civil.year, "date")?;
    Ok(PyDate::new(py, year, civil.month, civil.day)?.into_any().unbind())
}

pub(super) fn date_infinity(py: Python<'_>, sign: Sign) -> PyResult<Py<PyAny>> {
    let (year, month, day) = if sign == Sign::Positive { (9999, 12, 31) } else { (1, 1, 1) };
    Ok(PyDate::new(py, year, month, day)?.into_any().unbind())
}

/// A time of day; `zone` for one with time zone.
pub(super) fn time(
    py: Python<'_>,
    us: i64,
    zone: Option<&Bound<'_, PyTzInfo>>,
) -> Result<Py<PyAny>, ValueError> {
    if us >= DAY_US {
        let columns =
            if zone.is_none() { ", or fetch it as columns with \"int64\" in schema" } else { "" };
        return Err(ValueError::OutOfRange(format!(
            "Python's time cannot hold 24:00:00: cast it to text{columns}"
        )));
    }
    let (hour, minute, second, us) = clock_from_us(us);
    Ok(PyTime::new(py, hour, minute, second, us, zone)?.into_any().unbind())
}

pub(super) fn time_tz(py: Python<'_>, us: i64, offset_s: i32) -> Result<Py<PyAny>, ValueError> {
    let zone = PyTzInfo::fixed_offset(py, PyDelta::new(py, 0, offset_s, 0, true)?)?;
    time(py, us, Some(&zone))
}

pub(super) fn timestamp(
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

/// As in asyncpg: the first and last datetime that Python can express.
pub(super) fn timestamp_infinity(py: Python<'_>, sign: Sign) -> PyResult<Py<PyAny>> {
    let made = match sign {
        Sign::Positive => PyDateTime::new(py, 9999, 12, 31, 23, 59, 59, 999_999, None),
        Sign::Negative => PyDateTime::new(py, 1, 1, 1, 0, 0, 0, 0, None),
    };
    Ok(made?.into_any().unbind())
}

/// The refusal of an infinity where Python's dates mean themselves.
pub(super) fn no_infinity(sign: Sign) -> ValueError {
    ValueError::OutOfRange(given::no_infinity(sign))
}

pub(super) fn interval(
    py: Python<'_>,
    months: i32,
    days: i32,
    micros: i64,
) -> Result<Py<PyAny>, ValueError> {
    let delta = given::timedelta_of(months, days, micros);
    let (days, seconds, micros) = delta.map_err(ValueError::OutOfRange)?;
    Ok(PyDelta::new(py, days, seconds, micros, false)?.into_any().unbind())
}

pub(super) fn interval_infinity(sign: Sign) -> ValueError {
    ValueError::OutOfRange(given::no_interval_infinity(sign))
}

fn python_year(year: i64, class: &str) -> Result<i32, ValueError> {
    given::year_of_class(year, class).map_err(ValueError::OutOfRange)
}
