//! Values of NumPy's dtypes as Arrow arrays. NaT is the smallest integer in both.

use std::fmt;
use std::num::NonZeroUsize;
use std::num::TryFromIntError;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTimestampType, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Time64MicrosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, FixedSizeListArray, PrimitiveArray, StringArray,
    Time64MicrosecondArray, make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};
use colonnade_columnar::calendar::first_day;

/// NaT as an integer.
const NAT: i64 = i64::MIN;

/// Seconds of an hour and of a day.
const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 86_400;

/// Datetimes, as counts of so many units since 1970, in microseconds or another of Arrow's units,
/// and days as dates. None if only each datetime by itself can be converted: those that exceed 64
/// bits in Arrow's units, and those of finer units or of none.
pub fn moments(counts: Vec<i64>, unit: &str, step: i64, is_utc: bool) -> Option<ArrayRef> {
    if unit == "D" && step == 1 && !is_utc {
        return days(counts);
    }
    let times = |unit: i64| step.checked_mul(unit).and_then(|times| multiplied(counts, times));
    match unit {
        "Y" => times(12).and_then(first_seconds).map(|c| moment::<TimestampSecondType>(c, is_utc)),
        "M" => times(1).and_then(first_seconds).map(|c| moment::<TimestampSecondType>(c, is_utc)),
        "W" => times(7 * DAY_S).map(|c| moment::<TimestampSecondType>(c, is_utc)),
        "D" => times(DAY_S).map(|c| moment::<TimestampSecondType>(c, is_utc)),
        "h" => times(HOUR_S).map(|c| moment::<TimestampSecondType>(c, is_utc)),
        "m" => times(60).map(|c| moment::<TimestampSecondType>(c, is_utc)),
        "s" => times(1).map(|c| moment::<TimestampSecondType>(c, is_utc)),
        "ms" => times(1).map(|c| moment::<TimestampMillisecondType>(c, is_utc)),
        "us" => times(1).map(|c| moment::<TimestampMicrosecondType>(c, is_utc)),
        "ns" => times(1).map(|c| moment::<TimestampNanosecondType>(c, is_utc)),
        _ => None,
    }
}

/// Timedeltas, as counts of so many units. None as for [`moments`], and for days and months: they
/// are separate fields of an interval, which a number of seconds cannot express.
pub fn durations(counts: Vec<i64>, unit: &str, step: i64) -> Option<ArrayRef> {
    let times = |unit: i64| step.checked_mul(unit).and_then(|times| multiplied(counts, times));
    match unit {
        "h" => times(HOUR_S).map(primitive_of::<DurationSecondType>),
        "m" => times(60).map(primitive_of::<DurationSecondType>),
        "s" => times(1).map(primitive_of::<DurationSecondType>),
        "ms" => times(1).map(primitive_of::<DurationMillisecondType>),
        "us" => times(1).map(primitive_of::<DurationMicrosecondType>),
        "ns" => times(1).map(primitive_of::<DurationNanosecondType>),
        _ => None,
    }
}

/// Timedeltas since midnight as times of day; other values unchanged. None if a timedelta exceeds
/// 64 bits of microseconds.
pub fn times(array: ArrayRef) -> Result<Option<ArrayRef>, ArrowError> {
    let (unit, micros) = match *array.data_type() {
        DataType::Duration(TimeUnit::Second) => (TimeUnit::Microsecond, 1_000_000),
        DataType::Duration(TimeUnit::Millisecond) => (TimeUnit::Microsecond, 1_000),
        DataType::Duration(unit) => (unit, 1),
        _ => return Ok(Some(array)),
    };
    let data = array.to_data().into_builder().data_type(DataType::Time64(unit)).build();
    let array = data.map(make_array)?;
    if micros == 1 {
        return Ok(Some(array));
    }
    let counts = array.as_primitive_opt::<Time64MicrosecondType>();
    let counts = counts.map(|counts| counts.values().to_vec());
    let counts = counts.and_then(|counts| multiplied(counts, micros));
    Ok(counts.map(|counts| Arc::new(Time64MicrosecondArray::from_iter_values(counts)) as ArrayRef))
}

/// Each count times a number; None if a product exceeds 64 bits or becomes NaT.
fn multiplied(mut counts: Vec<i64>, times: i64) -> Option<Vec<i64>> {
    if times == 1 {
        return Some(counts);
    }
    for count in counts.iter_mut().filter(|count| **count != NAT) {
        *count = count.checked_mul(times).filter(|product| *product != NAT)?;
    }
    Some(counts)
}

/// Months since 1970 as seconds until their first days; None if one is outside the range of
/// PostgreSQL's timestamps.
fn first_seconds(mut months: Vec<i64>) -> Option<Vec<i64>> {
    for count in months.iter_mut().filter(|count| **count != NAT) {
        *count = first_day(*count)? * DAY_S;
    }
    Some(months)
}

fn moment<T: ArrowTimestampType>(counts: Vec<i64>, is_utc: bool) -> ArrayRef {
    let array = PrimitiveArray::<T>::from_iter_values(counts);
    Arc::new(array.with_timezone_opt(is_utc.then_some("UTC")))
}

/// None if a day exceeds 32 bits.
fn days(counts: Vec<i64>) -> Option<ArrayRef> {
    let day = |count: i64| match count {
        NAT => Some(None),
        // The smallest number would be read as NaT.
        count => i32::try_from(count).ok().filter(|day| *day != i32::MIN).map(Some),
    };
    let days = counts.into_iter().map(day).collect::<Option<Vec<_>>>();
    Some(Arc::new(Date32Array::from(days?)))
}

fn primitive_of<T: ArrowPrimitiveType<Native = i64>>(counts: Vec<i64>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter_values(counts))
}

/// Strings of `width` bytes each. NumPy pads them with NUL, and strips NUL when reading them.
pub fn fixed_bytes(bytes: &[u8], width: NonZeroUsize) -> ArrayRef {
    let strings = bytes.chunks(width.get()).map(|string| {
        let end = string.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        string.get(..end).unwrap_or_default()
    });
    Arc::new(BinaryArray::from_iter_values(strings))
}

/// As [`fixed_bytes`], for code points of four bytes; None if one is no character.
pub fn fixed_text(points: &[u32], width: NonZeroUsize) -> Option<ArrayRef> {
    let strings = points.chunks(width.get()).map(|string| {
        let end = string.iter().rposition(|point| *point != 0).map_or(0, |last| last + 1);
        let points = string.get(..end).unwrap_or_default();
        points.iter().map(|point| char::from_u32(*point)).collect::<Option<String>>()
    });
    let strings = strings.collect::<Option<Vec<_>>>();
    Some(Arc::new(StringArray::from_iter_values(strings?)))
}

/// A bit for each byte that is not 0.
pub fn packed(bytes: &[u8]) -> BooleanBuffer {
    let mut words = Vec::with_capacity(bytes.len().div_ceil(64));
    for chunk in bytes.chunks(64) {
        let bits = chunk.iter().enumerate();
        words.push(bits.fold(0_u64, |word, (bit, byte)| word | (u64::from(*byte != 0) << bit)));
    }
    BooleanBuffer::new(Buffer::from_vec(words), 0, bytes.len())
}

/// The reason why values have no lists of these lengths.
#[derive(Debug)]
pub enum NestError {
    /// A length exceeds 32 bits.
    Length(TryFromIntError),
    /// A length is 0.
    Empty,
    /// Arrow refuses the list.
    Arrow(ArrowError),
}

impl fmt::Display for NestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(error) => error.fmt(f),
            Self::Empty => f.write_str("a dimension of the array has length 0"),
            Self::Arrow(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NestError {}

/// Wraps the values in lists of these lengths, the outermost first.
pub fn nested(values: ArrayRef, lengths: &[usize]) -> Result<ArrayRef, NestError> {
    lengths.iter().rev().try_fold(values, |values, length| {
        let field = Arc::new(Field::new("item", values.data_type().clone(), true));
        let rows = values.len().checked_div(*length).unwrap_or_default();
        let length = i32::try_from(*length).map_err(NestError::Length)?;
        let lists = match length {
            0 => return Err(NestError::Empty),
            _ => FixedSizeListArray::try_new_with_length(field, length, values, None, rows),
        };
        lists.map(|lists| Arc::new(lists) as ArrayRef).map_err(NestError::Arrow)
    })
}

/// The array with the values as NULL where a byte is not 0: as many bytes as values.
pub fn masked(array: &ArrayRef, hidden: &[u8]) -> Result<ArrayRef, ArrowError> {
    let shown: NullBuffer = hidden.iter().map(|hidden| *hidden == 0).collect();
    let nulls = NullBuffer::union(Some(&shown), array.logical_nulls().as_ref());
    array.to_data().into_builder().nulls(nulls).build().map(make_array)
}

#[cfg(test)]
mod tests;
