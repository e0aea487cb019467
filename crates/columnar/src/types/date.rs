//! `date`: 32-bit count of days since 2000-01-01; the extremes of the integer are the infinities.

use arrow_array::types::Date32Type;

use super::primitive::{PrimitiveBuilder, Shape, exact};
use super::{Built, Codec, Kind};
use crate::error::{EncodeError, Reason};
use crate::schema::Infinity;
use crate::value::{Sign, Value};

/// Days from 1970-01-01 to PostgreSQL's epoch.
const EPOCH_DAYS: i32 = 10_957;

/// 4714-11-24 BC, day 0 of the Julian calendar and PostgreSQL's first, since 2000-01-01.
const FIRST_DAY: i32 = -2_451_545;

/// 5874897-12-31, PostgreSQL's last, since 2000-01-01.
const LAST_DAY: i32 = 2_145_031_948;

pub(super) const DATE: Codec = Codec {
    arrow: "date32",
    kind: Kind::Date,
    casts: &[],
    value: |raw| match decode(raw)? {
        Day::Finite(days) => Ok(Value::Date(days)),
        Day::Infinite(sign) => Ok(Value::DateInfinity(sign)),
    },
    encode,
    builder: |request| match request.cast {
        None => Built::plain(PrimitiveBuilder::<Date>::new(request.infinity)),
        Some(_) => None,
    },
};

enum Day {
    /// Days since 1970-01-01.
    Finite(i32),
    Infinite(Sign),
}

fn decode(raw: &[u8]) -> Result<Day, Reason> {
    match i32::from_be_bytes(exact(raw)?) {
        i32::MAX => Ok(Day::Infinite(Sign::Positive)),
        i32::MIN => Ok(Day::Infinite(Sign::Negative)),
        days @ FIRST_DAY..=LAST_DAY => Ok(Day::Finite(days + EPOCH_DAYS)),
        days => Err(Reason::DateOutOfRange(days)),
    }
}

fn encode(value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let days = match value {
        Value::Date(days) => days
            .checked_sub(EPOCH_DAYS)
            .filter(|days| (FIRST_DAY..=LAST_DAY).contains(days))
            .ok_or(EncodeError::TimeOutOfRange {
                type_name: "date",
                range: "from 4714-11-24 BC to 5874897-12-31",
            })?,
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
            (Day::Finite(days), _) => Ok(Some(days)),
            (Day::Infinite(sign), Infinity::Raise) => Err(Reason::Infinite(sign)),
            (Day::Infinite(_), Infinity::Null) => Ok(None),
            (Day::Infinite(Sign::Positive), Infinity::Saturate) => Ok(Some(i32::MAX)),
            (Day::Infinite(Sign::Negative), Infinity::Saturate) => Ok(Some(i32::MIN + 1)),
        }
    }
}
