//! Dates, times and intervals.

use colonnade_columnar::{Sign, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{
    PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyTime, PyTimeAccess, PyTzInfo,
    PyTzInfoAccess,
};

use super::{expected, numpy};
use colonnade_columnar::calendar::{Civil, DAY_US, days_from_civil};

fn civil(date: &impl PyDateAccess) -> Civil {
    Civil { year: i64::from(date.get_year()), month: date.get_month(), day: date.get_day() }
}

fn clock_us(time: &impl PyTimeAccess) -> i64 {
    let seconds = i64::from(time.get_hour()) * 3_600
        + i64::from(time.get_minute()) * 60
        + i64::from(time.get_second());
    seconds * 1_000_000 + i64::from(time.get_microsecond())
}

fn moment_us(moment: &Bound<'_, PyDateTime>) -> i64 {
    days_from_civil(civil(moment)) * DAY_US + clock_us(moment)
}

/// pandas' datetimes and timedeltas extend `datetime`'s by digits that PostgreSQL cannot store.
fn check_nanoseconds(argument: &Bound<'_, PyAny>, attribute: &str) -> PyResult<()> {
    let is_exact =
        argument.is_exact_instance_of::<PyDateTime>() || argument.is_exact_instance_of::<PyDelta>();
    if is_exact {
        return Ok(());
    }
    match argument.getattr_opt(attribute)? {
        Some(digits) if digits.extract::<i64>().unwrap_or(0) != 0 => {
            Err(PyValueError::new_err("it has nanoseconds, PostgreSQL only microseconds: round it"))
        }
        _ => Ok(()),
    }
}

/// The first and last date that Python can express stand for the infinities, as in asyncpg.
pub(super) fn date<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let Ok(date) = argument.cast::<PyDate>() else {
        return match numpy::datetime64(argument)? {
            Some(moment) => Ok(Value::Date(moment.days()?)),
            None => expected("a datetime.date", argument),
        };
    };
    Ok(match civil(date) {
        Civil { year: 9999, month: 12, day: 31 } => Value::DateInfinity(Sign::Positive),
        Civil { year: 1, month: 1, day: 1 } => Value::DateInfinity(Sign::Negative),
        // With a year of four digits, the number of days fits in 32 bits.
        day => Value::Date(days_from_civil(day) as i32),
    })
}

pub(super) fn time<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    match argument.cast::<PyTime>() {
        Ok(time) if time.get_tzinfo().is_none() => Ok(Value::Time(clock_us(time))),
        Ok(_) => Err(PyValueError::new_err("a time without time zone takes no tzinfo")),
        // The elements of NumPy's time columns: the time since midnight.
        Err(_) => match numpy::timedelta64(argument)? {
            Some(since_midnight) => Ok(Value::Time(since_midnight.micros()?)),
            None => expected("a datetime.time", argument),
        },
    }
}

pub(super) fn time_tz<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let Ok(time) = argument.cast::<PyTime>() else {
        return expected("a datetime.time", argument);
    };
    let offset = time.call_method0("utcoffset")?;
    let Ok(offset) = offset.cast::<PyDelta>() else {
        return Err(PyValueError::new_err(
            "a time with time zone takes a tzinfo with a fixed offset, such as datetime.UTC",
        ));
    };
    if offset.get_microseconds() != 0 {
        return Err(PyValueError::new_err("the offset of a time zone must be whole seconds"));
    }
    // Python's offsets are shorter than a day.
    let offset_s = offset.get_days() * 86_400 + offset.get_seconds();
    Ok(Value::TimeTz { micros: clock_us(time), offset_s })
}

/// The first and last datetime that Python can express stand for the infinities, as in asyncpg.
fn infinity(moment: &Bound<'_, PyDateTime>) -> Option<Sign> {
    match (civil(moment), clock_us(moment)) {
        (Civil { year: 9999, month: 12, day: 31 }, us) if us == DAY_US - 1 => Some(Sign::Positive),
        (Civil { year: 1, month: 1, day: 1 }, 0) => Some(Sign::Negative),
        _ => None,
    }
}

pub(super) fn timestamp<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    if let Ok(moment) = argument.cast::<PyDateTime>() {
        if moment.get_tzinfo().is_some() {
            return Err(PyValueError::new_err(
                "a timestamp without time zone takes a naive datetime: drop the tzinfo, or cast \
                 the parameter to timestamptz",
            ));
        }
        check_nanoseconds(argument, "nanosecond")?;
        return Ok(match infinity(moment) {
            Some(sign) => Value::TimestampInfinity(sign),
            None => Value::Timestamp(moment_us(moment)),
        });
    }
    if let Ok(date) = argument.cast::<PyDate>() {
        return Ok(Value::Timestamp(days_from_civil(civil(date)) * DAY_US));
    }
    match numpy::datetime64(argument)? {
        Some(moment) => Ok(Value::Timestamp(moment.micros()?)),
        None => expected("a datetime.datetime", argument),
    }
}

/// Refuses a datetime that depends on this process's time zone. The first and last datetime mean
/// infinity in any zone; NumPy's datetimes are UTC.
pub(super) fn check_zone(argument: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(moment) = argument.cast::<PyDateTime>() {
        let has_zone = moment.get_tzinfo().is_some();
        // `tzinfo` may return no offset for the datetime; Python calls that naive, too.
        let is_naive = !has_zone || moment.call_method0("utcoffset")?.is_none();
        if !is_naive || (!has_zone && infinity(moment).is_some()) {
            return Ok(());
        }
        return Err(PyValueError::new_err(
            "without a time zone it names no moment, and naive_datetimes is \"refuse\": write \
             .replace(tzinfo=datetime.UTC), or .astimezone() if it is local time",
        ));
    }
    if argument.is_instance_of::<PyDate>() {
        return Err(PyValueError::new_err(
            "a date names no moment, and naive_datetimes is \"refuse\": write \
             datetime.datetime.combine(day, datetime.time(tzinfo=datetime.UTC))",
        ));
    }
    Ok(())
}

pub(super) fn timestamp_tz<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let py = argument.py();
    let Ok(moment) = argument.cast::<PyDateTime>() else {
        if let Ok(date) = argument.cast::<PyDate>() {
            let (year, month, day) = (date.get_year(), date.get_month(), date.get_day());
            let midnight = PyDateTime::new(py, year, month, day, 0, 0, 0, 0, None)?;
            return Ok(Value::TimestampTz(utc_us(&midnight)?));
        }
        // NumPy has no time zones; its datetimes are UTC, as in columns that NumPy reads.
        return match numpy::datetime64(argument)? {
            Some(moment) => Ok(Value::TimestampTz(moment.micros()?)),
            None => expected("a datetime.datetime", argument),
        };
    };
    check_nanoseconds(argument, "nanosecond")?;
    if moment.get_tzinfo().is_none()
        && let Some(sign) = infinity(moment)
    {
        return Ok(Value::TimestampInfinity(sign));
    }
    // pandas does not support local time.
    let plain = if argument.is_exact_instance_of::<PyDateTime>() {
        moment.clone()
    } else {
        plain_datetime(moment)?
    };
    Ok(Value::TimestampTz(utc_us(&plain)?))
}

/// Microseconds since the epoch in UTC. A naive datetime is local time, as in `astimezone` and
/// asyncpg.
fn utc_us(moment: &Bound<'_, PyDateTime>) -> PyResult<i64> {
    let utc = moment.call_method1("astimezone", (PyTzInfo::utc(moment.py())?,))?;
    Ok(moment_us(utc.cast::<PyDateTime>()?))
}

/// The same datetime as a plain `datetime`.
fn plain_datetime<'py>(moment: &Bound<'py, PyDateTime>) -> PyResult<Bound<'py, PyDateTime>> {
    PyDateTime::new_with_fold(
        moment.py(),
        moment.get_year(),
        moment.get_month(),
        moment.get_day(),
        moment.get_hour(),
        moment.get_minute(),
        moment.get_second(),
        moment.get_microsecond(),
        moment.get_tzinfo().as_ref(),
        moment.get_fold(),
    )
}

pub(super) fn interval<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let Ok(delta) = argument.cast::<PyDelta>() else {
        return match numpy::timedelta64(argument)? {
            Some(duration) => duration.interval(),
            None => expected("a datetime.timedelta", argument),
        };
    };
    check_nanoseconds(argument, "nanoseconds")?;
    Ok(Value::Interval {
        months: 0,
        days: delta.get_days(),
        micros: i64::from(delta.get_seconds()) * 1_000_000 + i64::from(delta.get_microseconds()),
    })
}
