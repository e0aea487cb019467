//! `interval`: 64-bit number of microseconds, 32-bit number of days, 32-bit number of months. All
//! three at their extremes are the infinities of PostgreSQL 17.
//!
//! Arrow's interval counts nanoseconds in 64 bits, a range of 292 years; months and days are
//! separate. A duration counts a day as 24 hours and has no months.

use arrow_array::types::{DurationMicrosecondType, IntervalMonthDayNanoType};
use arrow_buffer::IntervalMonthDayNano;
use arrow_schema::TimeUnit;

use super::primitive::{PrimitiveBuilder, Shape, exact};
use super::{Built, Codec, Kind};
use crate::error::{EncodeError, Reason};
use crate::schema::{Infinity, Override};
use crate::value::{Sign, Value};

const DAY_MICROS: i64 = 86_400_000_000;

pub(super) const INTERVAL: Codec = Codec {
    arrow: "month_day_nano_interval",
    kind: Kind::Interval,
    width: Some(16),
    casts: &["duration[us]"],
    value: |raw| match decode(raw)? {
        Length::Finite(Parts { months, days, micros }) => {
            Ok(Value::Interval { months, days, micros })
        }
        Length::Infinite(sign) => Ok(Value::IntervalInfinity(sign)),
    },
    encode: |value, out| {
        let parts = match *value {
            Value::Interval { months, days, micros } => Parts { months, days, micros },
            Value::IntervalInfinity(Sign::Positive) => Parts::MOST,
            Value::IntervalInfinity(Sign::Negative) => Parts::LEAST,
            ref other => {
                let given = other.describe();
                return Err(EncodeError::WrongKind { expected: "an interval", given });
            }
        };
        out.extend_from_slice(&parts.micros.to_be_bytes());
        out.extend_from_slice(&parts.days.to_be_bytes());
        out.extend_from_slice(&parts.months.to_be_bytes());
        Ok(())
    },
    builder: |request| match request.cast {
        None => Built::plain(PrimitiveBuilder::<MonthDayNano>::new(request.infinity)),
        Some(Override::Duration(TimeUnit::Microsecond)) => {
            Built::plain(PrimitiveBuilder::<Duration>::new(request.infinity))
        }
        Some(_) => None,
    },
};

#[derive(Clone, Copy, PartialEq)]
struct Parts {
    months: i32,
    days: i32,
    micros: i64,
}

impl Parts {
    const LEAST: Self = Self { months: i32::MIN, days: i32::MIN, micros: i64::MIN };
    const MOST: Self = Self { months: i32::MAX, days: i32::MAX, micros: i64::MAX };
}

enum Length {
    Finite(Parts),
    Infinite(Sign),
}

#[inline]
fn decode(raw: &[u8]) -> Result<Length, Reason> {
    let bits = u128::from_be_bytes(exact(raw)?);
    let parts =
        Parts { months: bits as i32, days: (bits >> 32) as i32, micros: (bits >> 64) as i64 };
    Ok(match parts {
        Parts::MOST => Length::Infinite(Sign::Positive),
        Parts::LEAST => Length::Infinite(Sign::Negative),
        parts => Length::Finite(parts),
    })
}

/// As Arrow's interval.
struct MonthDayNano;

impl Shape for MonthDayNano {
    type Arrow = IntervalMonthDayNanoType;
    const NULL: IntervalMonthDayNano = IntervalMonthDayNano::ZERO;

    #[inline]
    fn decode(raw: &[u8]) -> Option<IntervalMonthDayNano> {
        match decode(raw).ok()? {
            Length::Finite(Parts { months, days, micros }) => {
                Some(IntervalMonthDayNano::new(months, days, micros.checked_mul(1_000)?))
            }
            Length::Infinite(_) => None,
        }
    }

    fn edge(raw: &[u8], infinity: Infinity) -> Result<Option<IntervalMonthDayNano>, Reason> {
        match (decode(raw)?, infinity) {
            (Length::Finite(parts), _) => Err(Reason::IntervalNanoseconds(parts.micros)),
            (Length::Infinite(sign), Infinity::Raise) => Err(Reason::Infinite(sign)),
            (Length::Infinite(_), Infinity::Null) => Ok(None),
            (Length::Infinite(Sign::Positive), Infinity::Saturate) => {
                Ok(Some(IntervalMonthDayNano::MAX))
            }
            (Length::Infinite(Sign::Negative), Infinity::Saturate) => {
                Ok(Some(IntervalMonthDayNano::MIN))
            }
        }
    }
}

/// As a duration, which has no months and days of 24 hours.
struct Duration;

impl Shape for Duration {
    type Arrow = DurationMicrosecondType;
    const NULL: i64 = i64::MIN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<i64> {
        match decode(raw).ok()? {
            Length::Finite(Parts { months: 0, days, micros }) => {
                // The smallest integer is NumPy's NaT.
                let days = i64::from(days).checked_mul(DAY_MICROS)?;
                days.checked_add(micros).filter(|micros| *micros != i64::MIN)
            }
            _ => None,
        }
    }

    fn edge(raw: &[u8], infinity: Infinity) -> Result<Option<i64>, Reason> {
        match (decode(raw)?, infinity) {
            (Length::Finite(Parts { months: 0, .. }), _) => Err(Reason::DurationOverflow),
            (Length::Finite(parts), _) => Err(Reason::DurationMonths(parts.months)),
            (Length::Infinite(sign), Infinity::Raise) => Err(Reason::Infinite(sign)),
            (Length::Infinite(_), Infinity::Null) => Ok(None),
            (Length::Infinite(Sign::Positive), Infinity::Saturate) => Ok(Some(i64::MAX)),
            (Length::Infinite(Sign::Negative), Infinity::Saturate) => Ok(Some(i64::MIN + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, DurationMicrosecondArray, IntervalMonthDayNanoArray};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, Cell, assert_both_ways, encode, hex};

    // SELECT encode(interval_send('1 year 2 mons -3 days 04:05:06.000007'), 'hex')
    const MIXED: &str = "000000036c8bc087fffffffd0000000e";
    // SELECT encode(interval_send('infinity'), 'hex'), PostgreSQL 17 and later
    const INFINITY: &str = "7fffffffffffffff7fffffff7fffffff";
    const MINUS_INFINITY: &str = "80000000000000008000000080000000";
    // SELECT encode(interval_send('2562047788:00:54.775807'), 'hex')
    const LONGEST_TIME: &str = "7fffffffffffffff0000000000000000";

    fn interval(months: i32, days: i32, micros: i64) -> Value<'static> {
        Value::Interval { months, days, micros }
    }

    fn cell(months: i32, days: i32, micros: i64) -> Cell {
        Some(encode(1186, &interval(months, days, micros)).unwrap())
    }

    #[test]
    fn golden() {
        assert_both_ways(1186, hex("00000000000000000000000000000000"), interval(0, 0, 0));
        assert_both_ways(1186, hex(MIXED), interval(14, -3, 14_706_000_007));
        // SELECT encode(interval_send('-178000000 years'), 'hex')
        let years = interval(-2_136_000_000, 0, 0);
        assert_both_ways(1186, hex("00000000000000000000000080af3a00"), years);
        assert_both_ways(1186, hex(LONGEST_TIME), interval(0, 0, i64::MAX));
        assert_both_ways(1186, hex(INFINITY), Value::IntervalInfinity(Sign::Positive));
        assert_both_ways(1186, hex(MINUS_INFINITY), Value::IntervalInfinity(Sign::Negative));
        let array: IntervalMonthDayNanoArray = Case::new(1186).array(&[hex(MIXED), None]);
        assert_eq!(array.value(0), IntervalMonthDayNano::new(14, -3, 14_706_000_007_000));
        assert_eq!(array.values()[1], IntervalMonthDayNano::ZERO);
        assert!(array.is_null(1));
    }

    #[test]
    fn nanoseconds_end_after_292_years() {
        let most = i64::MAX / 1_000;
        let array: IntervalMonthDayNanoArray =
            Case::new(1186).array(&[cell(i32::MAX, i32::MIN, most), cell(0, 0, -most)]);
        assert_eq!(array.value(0).nanoseconds, most * 1_000);
        for micros in [most + 1, -most - 1, i64::MAX, i64::MIN] {
            let (row, text) = Case::new(1186).error(&[None, cell(0, 0, micros)]);
            assert_eq!(row, 1);
            assert!(text.contains("nanoseconds; pass schema={\"c\": \"utf8\"}"), "{text}");
        }
    }

    #[test]
    fn as_duration() {
        let case = Case::new(1186).cast("duration[us]");
        let array: DurationMicrosecondArray =
            case.array(&[cell(0, -1, 5), None, cell(0, 0, i64::MAX)]);
        assert_eq!(array.values()[..], [5 - DAY_MICROS, i64::MIN, i64::MAX]);
        assert!(array.is_null(1));
        let (_, text) = case.error(&[cell(-2, 0, 0)]);
        assert!(text.contains("has -2 months, which have no fixed length"), "{text}");
        let (days, micros) = (cell(0, 150_000_000, 0), cell(0, 0, i64::MIN));
        for too_long in [cell(0, 1, i64::MAX), cell(0, -1, i64::MIN), micros, days] {
            let (_, text) = case.error(&[too_long]);
            assert!(text.contains("do not fit into 64 bits; pass schema"), "{text}");
        }
    }

    #[test]
    fn infinity() {
        let cells = [hex(INFINITY), None, hex(MINUS_INFINITY)];
        let (row, text) = Case::new(1186).error(&cells);
        assert_eq!(row, 0);
        assert!(text.contains("the value is infinity; pass infinity=\"null\""), "{text}");
        let array: IntervalMonthDayNanoArray =
            Case::new(1186).infinity(Infinity::Null).array(&cells);
        assert_eq!(array.null_count(), 3);
        let saturate = || Case::new(1186).infinity(Infinity::Saturate);
        let array: IntervalMonthDayNanoArray = saturate().array(&cells);
        assert_eq!(array.value(0), IntervalMonthDayNano::MAX);
        assert_eq!(array.value(2), IntervalMonthDayNano::MIN);
        let array: DurationMicrosecondArray = saturate().cast("duration[us]").array(&cells);
        assert_eq!(array.values()[..], [i64::MAX, i64::MIN, i64::MIN + 1]);
        assert_eq!(array.null_count(), 1);
    }

    #[test]
    fn malformed() {
        for bad in ["", "0000000000000000", "0000000000000000000000000000000000"] {
            assert_eq!(Case::new(1186).error(&[hex(MIXED), hex(bad)]).0, 1);
            assert_eq!(Case::new(1186).cast("duration[us]").error(&[hex(bad)]).0, 0);
        }
        assert!(encode(1186, &Value::Text("1 day".into())).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(months: i32, days: i32, micros: i64) {
            let value = interval(months, days, micros);
            let bytes = encode(1186, &value).unwrap();
            prop_assert_eq!((INTERVAL.value)(&bytes), Ok(value));
        }
    }
}
