//! To `date`, `time`, `timestamp`, `timestamptz` and `interval`: numbers in one unit are converted
//! to another unit, exactly or not at all.

use std::marker::PhantomData;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrowNativeTypeOp};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, TimeUnit};

use super::fixed::{Convert, primitive};
use super::{ColumnEncoder, EncodeOptions};
use crate::error::EncodeError;
use crate::types::{date, time, timestamp};

/// Microseconds in a day, in a second, in a millisecond.
const DAY: i64 = 86_400_000_000;
const SECOND: i64 = 1_000_000;
const MILLISECOND: i64 = 1_000;

/// Milliseconds in a day.
const DAY_MILLIS: i64 = 86_400_000;

/// A PostgreSQL type that counts time.
trait Clock<const WIDTH: usize>: Send + Sync + 'static {
    const TYPE_NAME: &'static str;
    const RANGE: &'static str;
    fn to_wire(count: i64) -> Option<[u8; WIDTH]>;
}

struct Date;

impl Clock<4> for Date {
    const TYPE_NAME: &'static str = "date";
    const RANGE: &'static str = date::RANGE;

    #[inline(always)]
    fn to_wire(days: i64) -> Option<[u8; 4]> {
        date::wire_days(days).map(i32::to_be_bytes)
    }
}

struct Time;

impl Clock<8> for Time {
    const TYPE_NAME: &'static str = "time";
    const RANGE: &'static str = time::RANGE;

    #[inline(always)]
    fn to_wire(micros: i64) -> Option<[u8; 8]> {
        time::wire_micros(micros).map(i64::to_be_bytes)
    }
}

/// `timestamp` and `timestamptz`.
struct Moment;

impl Clock<8> for Moment {
    const TYPE_NAME: &'static str = "timestamp";
    const RANGE: &'static str = timestamp::RANGE;

    #[inline(always)]
    fn to_wire(micros: i64) -> Option<[u8; 8]> {
        timestamp::wire_micros(micros).map(i64::to_be_bytes)
    }
}

/// `interval`, with microseconds only.
struct Span;

impl Clock<16> for Span {
    const TYPE_NAME: &'static str = "interval";
    const RANGE: &'static str = "to 2^63 microseconds either way";

    #[inline(always)]
    fn to_wire(micros: i64) -> Option<[u8; 16]> {
        // Days and months follow, 0 each.
        Some((u128::from(micros as u64) << 64).to_be_bytes())
    }
}

/// From a unit that is `TIMES` of the target's, or one `PARTS`th of the target's.
struct Counted<C, const TIMES: i64, const PARTS: i64>(PhantomData<fn() -> C>);

impl<N, C, const TIMES: i64, const PARTS: i64, const WIDTH: usize> Convert<N, WIDTH>
    for Counted<C, TIMES, PARTS>
where
    N: ArrowNativeType + Into<i64>,
    C: Clock<WIDTH>,
{
    #[inline(always)]
    fn convert(&self, native: N) -> Option<[u8; WIDTH]> {
        let count: i64 = native.into();
        if PARTS != 1 && count % PARTS != 0 {
            return None;
        }
        C::to_wire((count / PARTS).checked_mul(TIMES)?)
    }

    fn fault(&self, native: N) -> EncodeError {
        let count: i64 = native.into();
        if count % PARTS != 0 {
            let unit = if PARTS == DAY_MILLIS { "milliseconds" } else { "nanoseconds" };
            return EncodeError::Inexact {
                given: format!("a count of {count} {unit}"),
                type_name: C::TYPE_NAME.to_owned(),
            };
        }
        EncodeError::TimeOutOfRange { type_name: C::TYPE_NAME, range: C::RANGE }
    }
}

fn counted<T, C, const TIMES: i64, const PARTS: i64, const WIDTH: usize>(
    array: &dyn Array,
    options: &EncodeOptions,
) -> Option<Box<dyn ColumnEncoder>>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64>,
    C: Clock<WIDTH>,
{
    let is_nat: fn(T::Native) -> bool = |count| count == T::Native::MIN_TOTAL_ORDER;
    let convert = Counted::<C, TIMES, PARTS>(PhantomData);
    Some(primitive(array.as_primitive::<T>(), convert, options.nat_as_null.then_some(is_nat)))
}

/// An encoder to `date`; `None` if there is no cast.
pub(super) fn date(array: &dyn Array, options: &EncodeOptions) -> Option<Box<dyn ColumnEncoder>> {
    match array.data_type() {
        DataType::Date32 => counted::<Date32Type, Date, 1, 1, 4>(array, options),
        DataType::Date64 => counted::<Date64Type, Date, 1, DAY_MILLIS, 4>(array, options),
        _ => None,
    }
}

/// An encoder to `time`.
pub(super) fn time(array: &dyn Array, options: &EncodeOptions) -> Option<Box<dyn ColumnEncoder>> {
    match array.data_type() {
        DataType::Time32(TimeUnit::Second) => {
            counted::<Time32SecondType, Time, SECOND, 1, 8>(array, options)
        }
        DataType::Time32(_) => {
            counted::<Time32MillisecondType, Time, MILLISECOND, 1, 8>(array, options)
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            counted::<Time64NanosecondType, Time, 1, 1_000, 8>(array, options)
        }
        DataType::Time64(_) => counted::<Time64MicrosecondType, Time, 1, 1, 8>(array, options),
        _ => None,
    }
}

/// An encoder to `timestamp` or `timestamptz`; the source must have a time zone if and only if the
/// type does.
pub(super) fn timestamp(
    has_zone: bool,
    array: &dyn Array,
    options: &EncodeOptions,
) -> Option<Box<dyn ColumnEncoder>> {
    match array.data_type() {
        DataType::Timestamp(_, zone) if zone.is_some() != has_zone => None,
        DataType::Timestamp(TimeUnit::Second, _) => {
            counted::<TimestampSecondType, Moment, SECOND, 1, 8>(array, options)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            counted::<TimestampMillisecondType, Moment, MILLISECOND, 1, 8>(array, options)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            counted::<TimestampMicrosecondType, Moment, 1, 1, 8>(array, options)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            counted::<TimestampNanosecondType, Moment, 1, 1_000, 8>(array, options)
        }
        DataType::Date32 if !has_zone => counted::<Date32Type, Moment, DAY, 1, 8>(array, options),
        DataType::Date64 if !has_zone => {
            counted::<Date64Type, Moment, MILLISECOND, 1, 8>(array, options)
        }
        _ => None,
    }
}

/// An encoder of durations to `interval`.
pub(super) fn interval(
    array: &dyn Array,
    options: &EncodeOptions,
) -> Option<Box<dyn ColumnEncoder>> {
    match array.data_type() {
        DataType::Duration(TimeUnit::Second) => {
            counted::<DurationSecondType, Span, SECOND, 1, 16>(array, options)
        }
        DataType::Duration(TimeUnit::Millisecond) => {
            counted::<DurationMillisecondType, Span, MILLISECOND, 1, 16>(array, options)
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            counted::<DurationMicrosecondType, Span, 1, 1, 16>(array, options)
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            counted::<DurationNanosecondType, Span, 1, 1_000, 16>(array, options)
        }
        _ => None,
    }
}
