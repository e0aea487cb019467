//! Moments and durations of Python, NumPy, pandas and Polars, to their last digit.
//!
//! pandas' Timestamp and Timedelta are a `datetime` and a `timedelta` with nanoseconds, and its NaT
//! is a `datetime`, too. So code that tests for the class first loses digits. All parts of this
//! crate that take times ask here. NumPy is not imported: given one of its objects, it is already
//! there.

use colonnade_columnar::calendar::{Civil, DAY_US, days_from_civil};
pub(crate) use colonnade_columnar::given::{Time, TimeError, Unit};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyTimeAccess, PyTzInfo,
    PyTzInfoAccess,
};

use crate::class_names;
use crate::shown::shown;

/// The clock by which a moment is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Its own: a time zone is left out.
    Own,
    /// UTC; a datetime without a time zone is in UTC already.
    Utc,
    /// UTC; a datetime without a time zone, or a date, is local time of this process, as in
    /// `astimezone` and asyncpg.
    UtcOfLocal,
}

/// A `date`, a `datetime` or a `datetime64`, which has no time zone and is in UTC. None for objects
/// that are no moment, and for NaT.
pub(crate) fn moment(object: &Bound<'_, PyAny>, clock: Clock) -> PyResult<Option<Time>> {
    if object.is_exact_instance_of::<PyDateTime>() || object.is_exact_instance_of::<PyDate>() {
        return of_python(object, clock).map(Some);
    }
    if is_missing(object)? {
        return Ok(None);
    }
    let Ok(date) = object.cast::<PyDate>() else {
        return of_numpy(object, "datetime64");
    };
    if !has_own_year(date)? {
        return beyond_python(object, clock);
    }
    finer(of_python(object, clock)?, object, "nanosecond").map(Some)
}

/// Whether the fields of a date are its own: those of a pandas Timestamp that is no moment of
/// Python's, because its year is not 1 to 9999, have another year in the C structure.
pub(crate) fn has_own_year(date: &Bound<'_, PyDate>) -> PyResult<bool> {
    if date.is_exact_instance_of::<PyDate>() || date.is_exact_instance_of::<PyDateTime>() {
        return Ok(true);
    }
    Ok(date.getattr(intern!(date.py(), "year"))?.extract::<i64>()? == i64::from(date.get_year()))
}

/// A pandas Timestamp that is no moment of Python's.
fn beyond_python(object: &Bound<'_, PyAny>, clock: Clock) -> PyResult<Option<Time>> {
    let py = object.py();
    let has_zone = !object.getattr(intern!(py, "tzinfo"))?.is_none();
    let told = match clock {
        Clock::UtcOfLocal if !has_zone => {
            return Err(PyValueError::new_err(
                "local time is known for the years 1 to 9999 only: give it a time zone",
            ));
        }
        Clock::Own if has_zone => object.call_method1(intern!(py, "tz_localize"), (py.None(),))?,
        _ => object.clone(),
    };
    of_numpy(&told.call_method0(intern!(py, "to_datetime64"))?, "datetime64")
}

/// A `timedelta` or a `timedelta64`. None for objects that are no duration, and for NaT.
pub(crate) fn duration(object: &Bound<'_, PyAny>) -> PyResult<Option<Time>> {
    let Ok(delta) = object.cast::<PyDelta>() else {
        return if is_missing(object)? { Ok(None) } else { of_numpy(object, "timedelta64") };
    };
    // The longest ones exceed 64 bits.
    let count = i128::from(delta.get_days()) * i128::from(DAY_US)
        + i128::from(delta.get_seconds()) * 1_000_000
        + i128::from(delta.get_microseconds());
    let time = Time { count, unit: Unit::MICROS };
    if delta.is_exact_instance_of::<PyDelta>() {
        return Ok(Some(time));
    }
    // The C structure of a pandas Timedelta that is too long for Python's has no days.
    let days = delta.getattr(intern!(delta.py(), "days"))?.extract::<i64>()?;
    if days != i64::from(delta.get_days()) {
        let told = delta.call_method0(intern!(delta.py(), "to_timedelta64"))?;
        return of_numpy(&told, "timedelta64");
    }
    finer(time, object, "nanoseconds").map(Some)
}

/// The months, days and nanoseconds of a `MonthDayNano`, Arrow's interval.
pub(crate) fn calendar_interval(object: &Bound<'_, PyAny>) -> PyResult<Option<(i32, i32, i64)>> {
    let class = object.get_type();
    if object.is_instance_of::<PyDelta>() || class.name()? != "MonthDayNano" {
        return Ok(None);
    }
    if class_names::is_of(&class, "pyarrow") { object.extract().map(Some) } else { Ok(None) }
}

/// The exception of a time that is no whole number of a unit.
pub(crate) fn refused(error: TimeError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Nanoseconds as whole microseconds.
pub(crate) fn whole_micros(nanos: i64) -> PyResult<i64> {
    Time { count: i128::from(nanos), unit: Unit::NANOS }.whole(Unit::MICROS).map_err(refused)
}

/// Whether an object is pandas' NA or NaT, or NumPy's NaT or masked value, which would convert to a
/// number: `float(masked)` is NaN, `int(masked)` is 0.
pub(crate) fn is_missing(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = object.get_type();
    let name = class.name()?;
    Ok(match name.to_str()? {
        "NaTType" | "NAType" => class_names::is_of(&class, "pandas"),
        "MaskedConstant" => class_names::is_of(&class, "numpy"),
        "datetime64" | "timedelta64" if class_names::is_of(&class, "numpy") => {
            // NaT is the only datetime that is not equal to itself.
            object.ne(object)?
        }
        _ => false,
    })
}

/// Whether an object is the NaT of pandas or NumPy.
pub(crate) fn is_nat(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_other = matches!(object.get_type().name()?.to_str()?, "NAType" | "MaskedConstant");
    Ok(!is_other && is_missing(object)?)
}

/// A time with the nanoseconds beyond its microseconds, which an attribute of pandas' classes has.
fn finer(time: Time, object: &Bound<'_, PyAny>, attribute: &str) -> PyResult<Time> {
    let digits = object.getattr_opt(attribute)?;
    match digits.and_then(|digits| digits.extract::<i128>().ok()) {
        None | Some(0) => Ok(time),
        Some(digits) => Ok(Time { count: time.count * 1_000 + digits, unit: Unit::NANOS }),
    }
}

fn civil(date: &impl PyDateAccess) -> Civil {
    Civil { year: i64::from(date.get_year()), month: date.get_month(), day: date.get_day() }
}

/// The microseconds since midnight.
pub(crate) fn clock_us(time: &impl PyTimeAccess) -> i64 {
    let seconds = i64::from(time.get_hour()) * 3_600
        + i64::from(time.get_minute()) * 60
        + i64::from(time.get_second());
    seconds * 1_000_000 + i64::from(time.get_microsecond())
}

/// The day of a `date` since 1970-01-01, or that of a `datetime` on its own clock.
pub(crate) fn day(date: &impl PyDateAccess) -> i64 {
    days_from_civil(civil(date))
}

/// A `date` or `datetime` without its digits beyond microseconds.
fn of_python(object: &Bound<'_, PyAny>, clock: Clock) -> PyResult<Time> {
    let py = object.py();
    let plain = match object.cast::<PyDateTime>() {
        Ok(moment) => plain_datetime(moment)?,
        Err(_) => {
            let date = object.cast::<PyDate>()?;
            let (year, month, day) = (date.get_year(), date.get_month(), date.get_day());
            PyDateTime::new(py, year, month, day, 0, 0, 0, 0, None)?
        }
    };
    let is_utc = match clock {
        Clock::Own => true,
        Clock::Utc => plain.get_tzinfo().is_none(),
        Clock::UtcOfLocal => false,
    };
    let plain = if is_utc {
        plain
    } else {
        let utc = plain.call_method1(intern!(py, "astimezone"), (PyTzInfo::utc(py)?,))?;
        utc.cast_into::<PyDateTime>()?
    };
    let micros = day(&plain) * DAY_US + clock_us(&plain);
    Ok(Time { count: i128::from(micros), unit: Unit::MICROS })
}

/// The same datetime as a plain `datetime`: pandas' own does not know local time.
fn plain_datetime<'py>(moment: &Bound<'py, PyDateTime>) -> PyResult<Bound<'py, PyDateTime>> {
    if moment.is_exact_instance_of::<PyDateTime>() {
        return Ok(moment.clone());
    }
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

/// A scalar of a NumPy class of times, which is not NaT.
fn of_numpy(object: &Bound<'_, PyAny>, class_name: &str) -> PyResult<Option<Time>> {
    let class = object.get_type();
    if class.name()? != class_name || !class_names::is_of(&class, "numpy") {
        return Ok(None);
    }
    let numpy = PyModule::import(object.py(), "numpy")?;
    let dtype = object.getattr("dtype")?;
    let (name, step) =
        numpy.call_method1("datetime_data", (dtype,))?.extract::<(String, i128)>()?;
    let unit = Unit::of(&name).ok_or_else(|| {
        PyTypeError::new_err("it has no unit of time: give it one, as datetime64[us] has")
    })?;
    let count: i64 = object.call_method1("astype", ("i8",))?.extract()?;
    Ok(Some(Time { count: i128::from(count) * step, unit }))
}

fn unit_of(name: &str) -> PyResult<Unit> {
    Unit::of(name).ok_or_else(|| PyValueError::new_err(format!("{name:?} is no unit of time")))
}

/// The whole number of a unit from 1970-01-01 to a moment, which is in UTC if it has a time zone.
/// TypeError says that the caller takes `wanted`; ValueError says which digits would be lost.
#[pyfunction]
#[pyo3(signature = (value, unit, wanted, /))]
fn count_moment(value: &Bound<'_, PyAny>, unit: &str, wanted: &str) -> PyResult<i64> {
    let time = taken(value, moment(value, Clock::Utc)?, wanted)?;
    time.whole_since_epoch(unit_of(unit)?).map_err(refused)
}

/// As `count_moment`, for a duration.
#[pyfunction]
#[pyo3(signature = (value, unit, wanted, /))]
fn count_duration(value: &Bound<'_, PyAny>, unit: &str, wanted: &str) -> PyResult<i64> {
    taken(value, duration(value)?, wanted)?.whole(unit_of(unit)?).map_err(refused)
}

fn taken(object: &Bound<'_, PyAny>, time: Option<Time>, wanted: &str) -> PyResult<Time> {
    time.ok_or_else(|| PyTypeError::new_err(format!("takes {wanted}, not {}", shown(object))))
}

/// Whether an object is the NULL of pandas or NumPy.
#[pyfunction]
#[pyo3(name = "is_missing", signature = (value, /))]
fn is_missing_value(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    is_missing(value)
}

/// Adds the functions that count the times of structs.
pub(crate) fn add_counts(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(count_moment, module)?)?;
    module.add_function(wrap_pyfunction!(count_duration, module)?)
}

pub(crate) fn add_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(is_missing_value, module)?)
}
