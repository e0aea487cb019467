//! Timestamps and durations of a column in any unit, as microseconds.

use std::fmt;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};

/// The reason why a value has no microseconds, with its class in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MomentError {
    /// It has nanoseconds.
    Nanoseconds(&'static str),
    /// They exceed 64 bits.
    OutOfRange(&'static str),
    /// The column holds other values.
    OtherType(DataType),
}

const TIMEDELTA: &str = "timedelta";

impl fmt::Display for MomentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nanoseconds(class) => write!(
                f,
                "Python's {class} cannot hold nanoseconds: read the column as NumPy or Arrow"
            ),
            Self::OutOfRange(TIMEDELTA) => f.write_str(
                "the duration is outside Python's timedelta: fetch columns and read them as NumPy \
                 or Arrow",
            ),
            Self::OutOfRange(_) => f.write_str(
                "the year is outside Python's datetime (1 to 9999): cast it to text, or fetch \
                 columns and read them as NumPy or Arrow",
            ),
            Self::OtherType(other) => write!(f, "a column of {other} has no timestamps"),
        }
    }
}

impl std::error::Error for MomentError {}

/// The moment or duration at an index, in microseconds. The server has no finer ones; a codec's
/// array may, and that is an error.
pub fn micros(array: &dyn Array, index: usize) -> Result<i64, MomentError> {
    let (unit, count) = count(array, index)?;
    if unit == TimeUnit::Nanosecond && count.rem_euclid(1_000) != 0 {
        return Err(MomentError::Nanoseconds(class_of(array)));
    }
    let micros = match unit {
        TimeUnit::Second => count.checked_mul(1_000_000),
        TimeUnit::Millisecond => count.checked_mul(1_000),
        TimeUnit::Microsecond => Some(count),
        TimeUnit::Nanosecond => Some(count.div_euclid(1_000)),
    };
    micros.ok_or_else(|| MomentError::OutOfRange(class_of(array)))
}

fn class_of(array: &dyn Array) -> &'static str {
    match array.data_type() {
        DataType::Duration(_) => TIMEDELTA,
        DataType::Time32(_) | DataType::Time64(_) => "time",
        _ => "datetime",
    }
}

fn count(array: &dyn Array, index: usize) -> Result<(TimeUnit, i64), MomentError> {
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
        other => return Err(MomentError::OtherType(other.clone())),
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

#[cfg(test)]
mod tests {
    use arrow_array::{
        DurationSecondArray, Int32Array, Time32SecondArray, Time64NanosecondArray,
        TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    };
    use arrow_schema::DataType;

    use super::{MomentError, micros};

    #[test]
    fn each_unit_becomes_microseconds() {
        assert_eq!(micros(&Time32SecondArray::from(vec![2]), 0), Ok(2_000_000));
        assert_eq!(micros(&DurationSecondArray::from(vec![-3]), 0), Ok(-3_000_000));
        assert_eq!(micros(&TimestampMillisecondArray::from(vec![0, -7]), 1), Ok(-7_000));
        assert_eq!(micros(&TimestampMicrosecondArray::from(vec![i64::MIN]), 0), Ok(i64::MIN));
        assert_eq!(micros(&Time64NanosecondArray::from(vec![5_000]), 0), Ok(5));
    }

    #[test]
    fn nanoseconds_are_refused_unless_they_are_whole_microseconds() {
        let array = TimestampNanosecondArray::from(vec![-1_000, -1_001, 999]);
        assert_eq!(micros(&array, 0), Ok(-1));
        assert_eq!(micros(&array, 1), Err(MomentError::Nanoseconds("datetime")));
        assert_eq!(micros(&array, 2), Err(MomentError::Nanoseconds("datetime")));
    }

    #[test]
    fn what_exceeds_64_bits_and_other_types_are_refused() {
        let most = DurationSecondArray::from(vec![i64::MAX / 1_000_000, i64::MAX / 1_000_000 + 1]);
        assert_eq!(micros(&most, 0), Ok(i64::MAX / 1_000_000 * 1_000_000));
        let told = micros(&most, 1).unwrap_err().to_string();
        assert!(told.starts_with("the duration is outside Python's timedelta: "), "{told}");
        let other = micros(&Int32Array::from(vec![1]), 0);
        assert_eq!(other, Err(MomentError::OtherType(DataType::Int32)));
        assert_eq!(other.unwrap_err().to_string(), "a column of Int32 has no timestamps");
    }
}
