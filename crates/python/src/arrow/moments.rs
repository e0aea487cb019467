//! Timestamps and durations of a column in any unit, as microseconds.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDelta;

use colonnade_columnar::calendar::DAY_US;

/// The timestamp at an index, in microseconds. The server has no finer ones; a codec's array may,
/// and that is an error.
pub(crate) fn micros(array: &dyn Array, index: usize) -> PyResult<i64> {
    let (unit, count) = count(array, index)?;
    if unit == TimeUnit::Nanosecond && count.rem_euclid(1_000) != 0 {
        return Err(PyOverflowError::new_err(
            "Python's datetime cannot hold nanoseconds: read the column as NumPy or Arrow",
        ));
    }
    let micros = match unit {
        TimeUnit::Second => count.checked_mul(1_000_000),
        TimeUnit::Millisecond => count.checked_mul(1_000),
        TimeUnit::Microsecond => Some(count),
        TimeUnit::Nanosecond => Some(count.div_euclid(1_000)),
    };
    micros.ok_or_else(|| {
        PyOverflowError::new_err(
            "the year is outside Python's datetime (1 to 9999): cast it to text, or fetch \
             columns and read them as NumPy or Arrow",
        )
    })
}

fn count(array: &dyn Array, index: usize) -> PyResult<(TimeUnit, i64)> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let count = match array.data_type() {
        DataType::Time32(Second) => at::<Time32SecondType>(array, index),
        DataType::Time32(_) => at::<Time32MillisecondType>(array, index),
        DataType::Time64(Nanosecond) => at::<Time64NanosecondType>(array, index),
        DataType::Time64(_) => at::<Time64MicrosecondType>(array, index),
        DataType::Timestamp(Second, _) => at::<TimestampSecondType>(array, index),
        DataType::Timestamp(Millisecond, _) => at::<TimestampMillisecondType>(array, index),
        DataType::Timestamp(Microsecond, _) => at::<TimestampMicrosecondType>(array, index),
        DataType::Timestamp(Nanosecond, _) => at::<TimestampNanosecondType>(array, index),
        DataType::Duration(Second) => at::<DurationSecondType>(array, index),
        DataType::Duration(Millisecond) => at::<DurationMillisecondType>(array, index),
        DataType::Duration(Microsecond) => at::<DurationMicrosecondType>(array, index),
        DataType::Duration(Nanosecond) => at::<DurationNanosecondType>(array, index),
        other => {
            return Err(PyTypeError::new_err(format!("a column of {other} has no timestamps")));
        }
    };
    let unit = match array.data_type() {
        DataType::Time32(unit)
        | DataType::Time64(unit)
        | DataType::Timestamp(unit, _)
        | DataType::Duration(unit) => *unit,
        _ => Microsecond,
    };
    Ok((unit, count))
}

fn at<T: ArrowPrimitiveType>(array: &dyn Array, index: usize) -> i64
where
    T::Native: Into<i64>,
{
    array.as_primitive::<T>().value(index).into()
}

/// A `timedelta` of `micros` microseconds.
pub(crate) fn duration(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyDelta>> {
    let (days, rest) = (micros.div_euclid(DAY_US), micros.rem_euclid(DAY_US));
    let days = i32::try_from(days)
        .map_err(|_| PyOverflowError::new_err("the duration is too long for a timedelta"))?;
    // The seconds of a day, and the microseconds of a second, fit in 32 bits.
    PyDelta::new(py, days, (rest / 1_000_000) as i32, (rest % 1_000_000) as i32, false)
}
