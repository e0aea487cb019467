//! Dates, times and intervals.

use colonnade_columnar::{Sign, Value, given};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDate, PyDateTime, PyDelta, PyDeltaAccess, PyTime, PyTzInfoAccess};

use super::expected;
use crate::types::codecs::Dates;
use crate::values::times::{self, Clock, Unit, refused};

/// The sign of the infinity that a datetime without a time zone stands for in asyncpg.
fn infinite_moment(moment: &Bound<'_, PyDateTime>, dates: Dates) -> Option<Sign> {
    if dates == Dates::Exact || moment.get_tzinfo().is_some() {
        return None;
    }
    given::infinite_moment(times::day(moment), times::clock_us(moment))
}

pub(super) fn date<'a>(argument: &Bound<'_, PyAny>, dates: Dates) -> PyResult<Value<'a>> {
    let as_asyncpg = dates == Dates::AsAsyncpg;
    if as_asyncpg
        && let Ok(date) = argument.cast::<PyDate>()
        && times::has_own_year(date)?
    {
        let days = times::day(date);
        return Ok(match given::infinite_day(days) {
            Some(sign) => Value::DateInfinity(sign),
            // With a year of four digits, the number of days fits in 32 bits.
            None => Value::Date(days as i32),
        });
    }
    let time = times::moment(argument, Clock::Own)?;
    let Some(time) = time else { return expected("a datetime.date", argument) };
    let days = time.whole_since_epoch(Unit::DAYS).map_err(|_| {
        PyValueError::new_err("it is not the first moment of a day: convert it to datetime64[D]")
    })?;
    let days = i32::try_from(days);
    days.map(Value::Date).map_err(|_| PyValueError::new_err("value is outside of 32 bits of days"))
}

pub(super) fn time<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    match argument.cast::<PyTime>() {
        Ok(time) if time.get_tzinfo().is_none() => Ok(Value::Time(times::clock_us(time))),
        Ok(_) => Err(PyValueError::new_err("a time without time zone takes no tzinfo")),
        // The elements of NumPy's time columns: the time since midnight.
        Err(_) => match times::duration(argument)? {
            Some(since_midnight) if !argument.is_instance_of::<PyDelta>() => {
                Ok(Value::Time(since_midnight.whole(Unit::MICROS).map_err(refused)?))
            }
            _ => expected("a datetime.time", argument),
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
    Ok(Value::TimeTz { micros: times::clock_us(time), offset_s })
}

pub(super) fn timestamp<'a>(argument: &Bound<'_, PyAny>, dates: Dates) -> PyResult<Value<'a>> {
    if let Ok(moment) = argument.cast::<PyDateTime>() {
        if moment.get_tzinfo().is_some() {
            return Err(PyValueError::new_err(
                "a timestamp without time zone takes a naive datetime: drop the tzinfo, or cast \
                 the parameter to timestamptz",
            ));
        }
        if let Some(sign) = infinite_moment(moment, dates) {
            return Ok(Value::TimestampInfinity(sign));
        }
    }
    match times::moment(argument, Clock::Own)? {
        Some(moment) => {
            Ok(Value::Timestamp(moment.whole_since_epoch(Unit::MICROS).map_err(refused)?))
        }
        None => expected("a datetime.datetime", argument),
    }
}

/// Refuses a datetime that depends on this process's time zone. An infinity does not, and NumPy's
/// datetimes are UTC.
pub(super) fn check_zone(argument: &Bound<'_, PyAny>, dates: Dates) -> PyResult<()> {
    if let Ok(moment) = argument.cast::<PyDateTime>() {
        let has_zone = moment.get_tzinfo().is_some();
        // `tzinfo` may return no offset for the datetime; Python calls that naive, too.
        let is_naive = !has_zone || moment.call_method0("utcoffset")?.is_none();
        if !is_naive || infinite_moment(moment, dates).is_some() {
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

pub(super) fn timestamp_tz<'a>(argument: &Bound<'_, PyAny>, dates: Dates) -> PyResult<Value<'a>> {
    if let Ok(moment) = argument.cast::<PyDateTime>()
        && let Some(sign) = infinite_moment(moment, dates)
    {
        return Ok(Value::TimestampInfinity(sign));
    }
    match times::moment(argument, Clock::UtcOfLocal)? {
        Some(moment) => {
            Ok(Value::TimestampTz(moment.whole_since_epoch(Unit::MICROS).map_err(refused)?))
        }
        None => expected("a datetime.datetime", argument),
    }
}

pub(super) fn interval<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    if let Some((months, days, nanos)) = times::calendar_interval(argument)? {
        let micros = times::whole_micros(nanos)?;
        return Ok(Value::Interval { months, days, micros });
    }
    let Some(duration) = times::duration(argument)? else {
        return expected("a datetime.timedelta", argument);
    };
    let is_of_python = argument.is_instance_of::<PyDelta>();
    let is_calendar =
        matches!(duration.unit, Unit::YEARS | Unit::MONTHS | Unit::WEEKS | Unit::DAYS);
    let interval = if is_of_python && !is_calendar {
        duration.interval_of_days()
    } else {
        duration.interval()
    };
    interval.map_err(refused)
}
