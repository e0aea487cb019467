//! Dates, times and timestamps in the units that a schema requests. Every conversion is exact: a
//! value with a fraction that the unit cannot express, or outside its range, is an error.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_schema::{DataType, TimeUnit};

use super::primitive::{Native, PrimitiveBuilder, Shape};
use super::{Built, Request};
use crate::error::{Misfit, Reason};
use crate::schema::{Infinity, Override};
use crate::value::Sign;

const DAY_MICROS: i64 = 86_400_000_000;

/// An Arrow unit, and the types that use it.
pub(super) trait Unit: Send + Sync + 'static {
    type Timestamp: ArrowPrimitiveType<Native = i64>;
    type Duration: ArrowPrimitiveType<Native = i64>;
    /// 32 bits wide for the coarser units.
    type Time: ArrowPrimitiveType;
    const PER_SECOND: i64;
    const TIMESTAMP: &'static str;
    const TIME: &'static str;
    const DURATION: &'static str;
}

macro_rules! unit {
    (
        $name:ident, $per_second:literal, $timestamp:ty, $duration:ty, $time:ty, $unit:literal,
        $name_of_time:literal
    ) => {
        pub(super) struct $name;

        impl Unit for $name {
            type Timestamp = $timestamp;
            type Duration = $duration;
            type Time = $time;
            const PER_SECOND: i64 = $per_second;
            const TIMESTAMP: &'static str = concat!("timestamp[", $unit, "]");
            const TIME: &'static str = concat!($name_of_time, "[", $unit, "]");
            const DURATION: &'static str = concat!("duration[", $unit, "]");
        }
    };
}

unit!(Seconds, 1, TimestampSecondType, DurationSecondType, Time32SecondType, "s", "time32");
unit!(
    Millis,
    1_000,
    TimestampMillisecondType,
    DurationMillisecondType,
    Time32MillisecondType,
    "ms",
    "time32"
);
unit!(
    Micros,
    1_000_000,
    TimestampMicrosecondType,
    DurationMicrosecondType,
    Time64MicrosecondType,
    "us",
    "time64"
);
unit!(
    Nanos,
    1_000_000_000,
    TimestampNanosecondType,
    DurationNanosecondType,
    Time64NanosecondType,
    "ns",
    "time64"
);

/// The reason why a number of microseconds cannot be expressed in another unit.
enum Inexact {
    Fraction,
    Reach,
}

#[inline]
fn from_micros<U: Unit>(micros: i64) -> Result<i64, Inexact> {
    if U::PER_SECOND >= 1_000_000 {
        return micros.checked_mul(U::PER_SECOND / 1_000_000).ok_or(Inexact::Reach);
    }
    let factor = 1_000_000 / U::PER_SECOND;
    if micros % factor == 0 { Ok(micros / factor) } else { Err(Inexact::Fraction) }
}

fn misfit(inexact: Inexact, asked: &'static str, instead: &'static str) -> Reason {
    match inexact {
        Inexact::Fraction => Misfit::TooFine { asked, instead }.into(),
        Inexact::Reach => Misfit::OutOfReach { asked, instead }.into(),
    }
}

/// A date, time or timestamp: a finite count, or an infinity.
pub(super) enum Moment<T> {
    /// Since 1970-01-01.
    Finite(T),
    Infinite(Sign),
}

/// The source of the values: the types' own files.
pub(super) trait Source: Send + Sync + 'static {
    /// Microseconds since 1970-01-01, or since midnight.
    fn micros(raw: &[u8]) -> Result<Moment<i64>, Reason>;

    /// A type that holds every value of the source.
    const INSTEAD: &'static str;
}

fn infinite(sign: Sign, infinity: Infinity, outermost: i64) -> Result<Option<i64>, Reason> {
    match (infinity, sign) {
        (Infinity::Raise, _) => Err(Reason::Infinite(sign)),
        (Infinity::Null, _) => Ok(None),
        (Infinity::Saturate, Sign::Positive) => Ok(Some(outermost)),
        (Infinity::Saturate, Sign::Negative) => Ok(Some(-outermost)),
    }
}

/// A source's values as Arrow timestamps in a unit.
struct TimestampIn<M, U>(PhantomData<(M, U)>);

impl<M: Source, U: Unit> Shape for TimestampIn<M, U> {
    type Arrow = U::Timestamp;
    const NULL: i64 = i64::MIN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<i64> {
        match M::micros(raw) {
            Ok(Moment::Finite(micros)) => from_micros::<U>(micros).ok(),
            _ => None,
        }
    }

    fn edge(raw: &[u8], infinity: Infinity) -> Result<Option<i64>, Reason> {
        match M::micros(raw)? {
            Moment::Infinite(sign) => infinite(sign, infinity, i64::MAX),
            Moment::Finite(micros) => from_micros::<U>(micros)
                .map(Some)
                .map_err(|inexact| misfit(inexact, U::TIMESTAMP, M::INSTEAD)),
        }
    }
}

/// A source's values as dates; they must be whole days.
struct Days<M>(PhantomData<M>);

impl<M: Source> Shape for Days<M> {
    type Arrow = Date32Type;
    const NULL: i32 = i32::MIN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<i32> {
        match M::micros(raw) {
            Ok(Moment::Finite(micros)) if micros % DAY_MICROS == 0 => {
                i32::try_from(micros / DAY_MICROS).ok()
            }
            _ => None,
        }
    }

    fn edge(raw: &[u8], infinity: Infinity) -> Result<Option<i32>, Reason> {
        match M::micros(raw)? {
            Moment::Infinite(sign) => {
                let days = infinite(sign, infinity, i32::MAX.into())?;
                Ok(days.and_then(|days| i32::try_from(days).ok()))
            }
            // 64 bits of microseconds span fewer days than 32 bits hold.
            Moment::Finite(_) => Err(misfit(Inexact::Fraction, "date32", M::INSTEAD)),
        }
    }
}

/// The builder of a timestamp column with the schema's type. `zone` is the source's time zone;
/// another one can be requested only if it has one.
pub(super) fn timestamp_builder<M: Source>(
    request: &Request,
    own_zone: Option<&'static str>,
) -> Option<Built> {
    let (unit, zone) = match &request.cast {
        None => (TimeUnit::Microsecond, None),
        Some(Override::Date32) => {
            return Built::plain(PrimitiveBuilder::<Days<M>>::new(request.infinity));
        }
        Some(Override::Timestamp { unit, zone }) => (*unit, zone.clone()),
        Some(_) => return None,
    };
    if zone.is_some() && own_zone.is_none() {
        return None;
    }
    let data_type = DataType::Timestamp(unit, zone.or_else(|| own_zone.map(Arc::from)));
    match unit {
        TimeUnit::Second => built::<TimestampIn<M, Seconds>>(request, data_type),
        TimeUnit::Millisecond => built::<TimestampIn<M, Millis>>(request, data_type),
        TimeUnit::Microsecond => built::<TimestampIn<M, Micros>>(request, data_type),
        TimeUnit::Nanosecond => built::<TimestampIn<M, Nanos>>(request, data_type),
    }
}

/// A date as the timestamp of its start, in a unit.
struct DayIn<M, U>(PhantomData<(M, U)>);

/// The days since 1970-01-01 of a date on the wire.
pub(super) trait DaySource: Send + Sync + 'static {
    fn days(raw: &[u8]) -> Result<Moment<i32>, Reason>;
}

impl<M: DaySource, U: Unit> Shape for DayIn<M, U> {
    type Arrow = U::Timestamp;
    const NULL: i64 = i64::MIN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<i64> {
        match M::days(raw) {
            Ok(Moment::Finite(days)) => i64::from(days).checked_mul(86_400 * U::PER_SECOND),
            _ => None,
        }
    }

    fn edge(raw: &[u8], infinity: Infinity) -> Result<Option<i64>, Reason> {
        match M::days(raw)? {
            Moment::Infinite(sign) => infinite(sign, infinity, i64::MAX),
            Moment::Finite(_) => Err(misfit(Inexact::Reach, U::TIMESTAMP, "timestamp[s]")),
        }
    }
}

/// The builder of a date's column as timestamps of a unit.
pub(super) fn day_builder<M: DaySource>(request: &Request, unit: TimeUnit) -> Option<Built> {
    let data_type = DataType::Timestamp(unit, None);
    match unit {
        TimeUnit::Second => built::<DayIn<M, Seconds>>(request, data_type),
        TimeUnit::Millisecond => built::<DayIn<M, Millis>>(request, data_type),
        TimeUnit::Microsecond => built::<DayIn<M, Micros>>(request, data_type),
        TimeUnit::Nanosecond => built::<DayIn<M, Nanos>>(request, data_type),
    }
}

/// A time of day in another unit than microseconds; Arrow's types end before 24:00:00.
struct TimeIn<M, U>(PhantomData<(M, U)>);

impl<M: Source, U: Unit> Shape for TimeIn<M, U>
where
    Clock<U>: TryFrom<i64> + Least,
{
    type Arrow = U::Time;
    const NULL: Clock<U> = Clock::<U>::LEAST;

    #[inline]
    fn decode(raw: &[u8]) -> Option<Clock<U>> {
        match M::micros(raw) {
            Ok(Moment::Finite(micros @ 0..DAY_MICROS)) => {
                from_micros::<U>(micros).ok().and_then(|count| count.try_into().ok())
            }
            _ => None,
        }
    }

    fn edge(raw: &[u8], _: Infinity) -> Result<Option<Native<Self>>, Reason> {
        match M::micros(raw)? {
            Moment::Finite(DAY_MICROS) => Err(Reason::EndOfDay),
            _ => Err(misfit(Inexact::Fraction, U::TIME, M::INSTEAD)),
        }
    }
}

/// The integer type for a time of day in a unit.
type Clock<U> = <<U as Unit>::Time as ArrowPrimitiveType>::Native;

/// The number that NumPy reads as NaT.
trait Least {
    const LEAST: Self;
}

impl Least for i32 {
    const LEAST: Self = Self::MIN;
}

impl Least for i64 {
    const LEAST: Self = Self::MIN;
}

/// A time of day as a duration since midnight, which includes 24:00:00.
struct DurationIn<M, U>(PhantomData<(M, U)>);

impl<M: Source, U: Unit> Shape for DurationIn<M, U> {
    type Arrow = U::Duration;
    const NULL: i64 = i64::MIN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<i64> {
        match M::micros(raw) {
            Ok(Moment::Finite(micros)) => from_micros::<U>(micros).ok(),
            _ => None,
        }
    }

    fn edge(raw: &[u8], infinity: Infinity) -> Result<Option<i64>, Reason> {
        match M::micros(raw)? {
            Moment::Infinite(sign) => infinite(sign, infinity, i64::MAX),
            Moment::Finite(micros) => from_micros::<U>(micros)
                .map(Some)
                .map_err(|inexact| misfit(inexact, U::DURATION, "duration[us]")),
        }
    }
}

/// The builder of a time of day in a unit.
pub(super) fn time_builder<M: Source>(request: &Request, unit: TimeUnit) -> Option<Built> {
    match unit {
        TimeUnit::Second => built::<TimeIn<M, Seconds>>(request, DataType::Time32(unit)),
        TimeUnit::Millisecond => built::<TimeIn<M, Millis>>(request, DataType::Time32(unit)),
        TimeUnit::Microsecond => built::<TimeIn<M, Micros>>(request, DataType::Time64(unit)),
        TimeUnit::Nanosecond => built::<TimeIn<M, Nanos>>(request, DataType::Time64(unit)),
    }
}

/// The builder of a time as the duration since midnight.
pub(super) fn duration_builder<M: Source>(request: &Request, unit: TimeUnit) -> Option<Built> {
    let data_type = DataType::Duration(unit);
    match unit {
        TimeUnit::Second => built::<DurationIn<M, Seconds>>(request, data_type),
        TimeUnit::Millisecond => built::<DurationIn<M, Millis>>(request, data_type),
        TimeUnit::Microsecond => built::<DurationIn<M, Micros>>(request, data_type),
        TimeUnit::Nanosecond => built::<DurationIn<M, Nanos>>(request, data_type),
    }
}

fn built<S: Shape>(request: &Request, data_type: DataType) -> Option<Built> {
    Built::plain(PrimitiveBuilder::<S>::of_type(request.infinity, data_type))
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        Array, Date32Array, DurationSecondArray, Time32MillisecondArray, Time32SecondArray,
        Time64NanosecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
        TimestampNanosecondArray, TimestampSecondArray,
    };

    use super::*;
    use crate::Value;
    use crate::testing::{Case, Cell, encode};

    fn timestamp(micros: i64) -> Cell {
        Some(encode(1114, &Value::Timestamp(micros)).unwrap())
    }

    fn time(micros: i64) -> Cell {
        Some(encode(1083, &Value::Time(micros)).unwrap())
    }

    fn date(days: i32) -> Cell {
        Some(encode(1082, &Value::Date(days)).unwrap())
    }

    #[test]
    fn timestamps_in_every_unit() {
        let cells = [timestamp(-86_400_000_000), None, timestamp(1_000_000)];
        let seconds: TimestampSecondArray = Case::new(1114).cast("timestamp[s]").array(&cells);
        assert_eq!(seconds, TimestampSecondArray::from(vec![Some(-86_400), None, Some(1)]));
        assert_eq!(seconds.values()[1], i64::MIN);
        let millis: TimestampMillisecondArray = Case::new(1114).cast("timestamp[ms]").array(&cells);
        assert_eq!((millis.value(0), millis.value(2)), (-86_400_000, 1_000));
        let nanos: TimestampNanosecondArray = Case::new(1114).cast("timestamp[ns]").array(&cells);
        assert_eq!(nanos.value(2), 1_000_000_000);
        let micros: TimestampMicrosecondArray = Case::new(1114).cast("timestamp[us]").array(&cells);
        assert_eq!(micros.value(2), 1_000_000);
        let days: Date32Array = Case::new(1114).cast("date32").array(&cells[..2]);
        assert_eq!(days, Date32Array::from(vec![Some(-1), None]));
    }

    #[test]
    fn zones() {
        let cells = [timestamp(0)];
        let kept: TimestampSecondArray = Case::new(1184).cast("timestamp[s]").array(&cells);
        assert_eq!(kept.timezone(), Some("UTC"));
        let named: TimestampMicrosecondArray =
            Case::new(1184).cast("timestamp[us, Europe/Berlin]").array(&cells);
        assert_eq!((named.timezone(), named.value(0)), (Some("Europe/Berlin"), 0));
    }

    #[test]
    fn what_does_not_fit() {
        for (cast, micros, reason) in [
            ("timestamp[s]", 1_500_000, "has a fraction that timestamp[s] cannot hold; pass"),
            ("timestamp[ms]", -1, "has a fraction that timestamp[ms] cannot hold"),
            ("date32", 1, "schema={\"c\": \"timestamp[us]\"} to get it"),
            ("timestamp[ns]", i64::MAX / 1_000 + 1, "further from 1970 than timestamp[ns] reaches"),
            ("timestamp[ns]", i64::MIN / 1_000 - 1, "pass schema={\"c\": \"timestamp[us]\"}"),
        ] {
            let cells = [timestamp(0), None, timestamp(micros)];
            let (row, text) = Case::new(1184).cast(cast).error(&cells);
            assert_eq!(row, 2);
            assert!(text.contains(reason), "{text}");
        }
    }

    #[test]
    fn infinities() {
        let cells = [Some(i64::MIN.to_be_bytes().to_vec()), Some(i64::MAX.to_be_bytes().to_vec())];
        for cast in ["timestamp[s]", "date32"] {
            let case = Case::new(1114).cast(cast);
            assert!(case.error(&cells).1.contains("the value is -infinity"));
            let nulls = Case::new(1114).cast(cast).infinity(Infinity::Null).decode(&cells);
            assert_eq!(nulls.unwrap().null_count(), 2);
        }
        let case = |cast| Case::new(1114).cast(cast).infinity(Infinity::Saturate);
        let seconds: TimestampSecondArray = case("timestamp[s]").array(&cells);
        assert_eq!(seconds.values()[..], [i64::MIN + 1, i64::MAX]);
        let days: Date32Array = case("date32").array(&cells);
        assert_eq!(days.values()[..], [i32::MIN + 1, i32::MAX]);
    }

    #[test]
    fn dates_as_timestamps() {
        let cells = [date(-1), None, date(19_782)];
        let seconds: TimestampSecondArray = Case::new(1082).cast("timestamp[s]").array(&cells);
        assert_eq!(
            seconds,
            TimestampSecondArray::from(vec![Some(-86_400), None, Some(1_709_164_800)])
        );
        let (row, text) = Case::new(1082).cast("timestamp[ns]").error(&[date(0), date(106_752)]);
        assert_eq!(row, 1);
        assert!(text.contains("pass schema={\"c\": \"timestamp[s]\"}"), "{text}");
    }

    #[test]
    fn times_of_day() {
        let cells = [time(3_600_000_000), None];
        let seconds: Time32SecondArray = Case::new(1083).cast("time32[s]").array(&cells);
        assert_eq!(seconds, Time32SecondArray::from(vec![Some(3_600), None]));
        assert_eq!(seconds.values()[1], i32::MIN);
        let millis: Time32MillisecondArray = Case::new(1083).cast("time32[ms]").array(&cells);
        assert_eq!(millis.value(0), 3_600_000);
        let nanos: Time64NanosecondArray = Case::new(1083).cast("time64[ns]").array(&cells);
        assert_eq!(nanos.value(0), 3_600_000_000_000);
        let end = [time(DAY_MICROS)];
        let durations: DurationSecondArray = Case::new(1083).cast("duration[s]").array(&end);
        assert_eq!(durations.value(0), 86_400);
        assert!(Case::new(1083).cast("time32[s]").error(&end).1.contains("24:00:00"));
        for (cast, remedy) in [("time32[s]", "time64[us]"), ("duration[ms]", "duration[us]")] {
            let (_, text) = Case::new(1083).cast(cast).error(&[time(1)]);
            assert!(text.contains(&format!("{cast} cannot hold; pass")), "{text}");
            assert!(text.contains(remedy), "{text}");
        }
    }
}
