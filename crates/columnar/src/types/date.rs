//! `date`: 32-bit number of days since 2000-01-01; the integer's extremes are the infinities.

use arrow_array::types::Date32Type;

use super::primitive::{PrimitiveBuilder, Shape, exact};
use super::units::{DaySource, Moment, day_builder};
use super::{Built, Codec, Kind};
use crate::error::{EncodeError, Reason};
use crate::schema::{Infinity, Override};
use crate::value::{Sign, Value};

/// Days from 1970-01-01 to PostgreSQL's epoch.
const EPOCH_DAYS: i32 = 10_957;

/// 4714-11-24 BC, day 0 of the Julian calendar and PostgreSQL's first, since 2000-01-01.
const FIRST_DAY: i32 = -2_451_545;

/// 5874897-12-31, PostgreSQL's last, since 2000-01-01.
const LAST_DAY: i32 = 2_145_031_948;

/// From the first to the last, for messages.
pub(crate) const RANGE: &str = "from 4714-11-24 BC to 5874897-12-31";

pub(super) const DATE: Codec = Codec {
    arrow: "date32",
    kind: Kind::Date,
    width: Some(4),
    casts: &["date32", "timestamp[unit]"],
    value: |raw| match decode(raw)? {
        Moment::Finite(days) => Ok(Value::Date(days)),
        Moment::Infinite(sign) => Ok(Value::DateInfinity(sign)),
    },
    encode,
    builder: |request| match request.cast.clone() {
        None | Some(Override::Date32) => {
            Built::plain(PrimitiveBuilder::<Date>::new(request.infinity))
        }
        Some(Override::Timestamp { unit, zone: None }) => day_builder::<Wire>(request, unit),
        Some(_) => None,
    },
};

/// For the units that a schema requests.
struct Wire;

impl DaySource for Wire {
    #[inline]
    fn days(raw: &[u8]) -> Result<Moment<i32>, Reason> {
        decode(raw)
    }
}

#[inline]
fn decode(raw: &[u8]) -> Result<Moment<i32>, Reason> {
    match i32::from_be_bytes(exact(raw)?) {
        i32::MAX => Ok(Moment::Infinite(Sign::Positive)),
        i32::MIN => Ok(Moment::Infinite(Sign::Negative)),
        days @ FIRST_DAY..=LAST_DAY => Ok(Moment::Finite(days + EPOCH_DAYS)),
        days => Err(Reason::DateOutOfRange(days)),
    }
}

/// The wire value of days since 1970-01-01, if the type has that day.
#[inline]
pub(crate) fn wire_days(days: i64) -> Option<i32> {
    let days = i32::try_from(days.checked_sub(EPOCH_DAYS.into())?).ok()?;
    (FIRST_DAY..=LAST_DAY).contains(&days).then_some(days)
}

fn encode(value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let days = match value {
        Value::Date(days) => wire_days((*days).into())
            .ok_or(EncodeError::TimeOutOfRange { type_name: "date", range: RANGE })?,
        Value::DateInfinity(Sign::Positive) => i32::MAX,
        Value::DateInfinity(Sign::Negative) => i32::MIN,
        other => {
            return Err(EncodeError::WrongKind { expected: "a date", given: other.describe() });
        }
    };
    out.extend_from_slice(&days.to_be_bytes());
    Ok(())
}

struct Date;

impl Shape for Date {
    type Arrow = Date32Type;
    const NULL: i32 = i32::MIN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<i32> {
        let days = i32::from_be_bytes(exact(raw).ok()?);
        (FIRST_DAY..=LAST_DAY).contains(&days).then(|| days.wrapping_add(EPOCH_DAYS))
    }

    fn edge(raw: &[u8], infinity: Infinity) -> Result<Option<i32>, Reason> {
        match (decode(raw)?, infinity) {
            (Moment::Finite(days), _) => Ok(Some(days)),
            (Moment::Infinite(sign), Infinity::Raise) => Err(Reason::Infinite(sign)),
            (Moment::Infinite(_), Infinity::Null) => Ok(None),
            (Moment::Infinite(Sign::Positive), Infinity::Saturate) => Ok(Some(i32::MAX)),
            (Moment::Infinite(Sign::Negative), Infinity::Saturate) => Ok(Some(i32::MIN + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, Date32Array};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    #[test]
    fn golden() {
        assert_both_ways(1082, hex("00000000"), Value::Date(10_957));
        // 4714-11-24 BC and 5874897-12-31, the first and the last.
        assert_both_ways(1082, hex("ffda97a7"), Value::Date(-2_440_588));
        assert_both_ways(1082, hex("7fda970c"), Value::Date(2_145_042_905));
        assert_both_ways(1082, hex("7fffffff"), Value::DateInfinity(Sign::Positive));
        assert_both_ways(1082, hex("80000000"), Value::DateInfinity(Sign::Negative));
        let array: Date32Array = Case::new(1082).array(&[hex("00000000"), None]);
        assert_eq!(array, Date32Array::from(vec![Some(10_957), None]));
        assert_eq!(array.values()[1], i32::MIN);
    }

    #[test]
    fn infinity() {
        let cells = [hex("00000001"), hex("7fffffff"), None, hex("80000000")];
        let (row, text) = Case::new(1082).error(&cells);
        assert_eq!(row, 1);
        assert!(text.contains("the value is infinity; pass infinity=\"null\""), "{text}");
        let array: Date32Array = Case::new(1082).infinity(Infinity::Null).array(&cells);
        assert_eq!(array, Date32Array::from(vec![Some(10_958), None, None, None]));
        assert_eq!(array.values()[1..], [i32::MIN; 3]);
        let array: Date32Array = Case::new(1082).infinity(Infinity::Saturate).array(&cells);
        let saturated = vec![Some(10_958), Some(i32::MAX), None, Some(i32::MIN + 1)];
        assert_eq!(array, Date32Array::from(saturated));
        assert_eq!(array.null_count(), 1);
    }

    #[test]
    fn malformed() {
        for bad in ["", "00", "0000000000", "ffda97a6", "7fda970d", "7ffffffe", "80000001"] {
            assert_eq!(Case::new(1082).error(&[hex("00000000"), hex(bad)]).0, 1, "{bad}");
        }
        for out in [-2_440_589, 2_145_042_906, i32::MIN, i32::MAX] {
            assert!(encode(1082, &Value::Date(out)).is_err());
        }
        assert!(encode(1082, &Value::Timestamp(0)).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(days in -2_440_588..=2_145_042_905_i32) {
            let bytes = encode(1082, &Value::Date(days)).unwrap();
            let array: Date32Array = Case::new(1082).array(&[Some(bytes.clone())]);
            prop_assert_eq!(array.value(0), days);
            prop_assert_eq!((DATE.value)(&bytes), Ok(Value::Date(days)));
        }
    }
}
