//! The parts of a value for a codec that takes and makes numbers: an interval as months, days and
//! microseconds; dates, times and timestamps as days or microseconds since 2000-01-01; a time with
//! time zone as microseconds and seconds west of UTC.

use crate::calendar::DAY_US;
use crate::types::Kind;
use crate::value::{Sign, Value};

/// Days from 1970-01-01 to 2000-01-01, PostgreSQL's epoch.
const EPOCH_DAYS: i64 = 10_957;

/// The parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parts {
    /// Of a date, time or timestamp.
    One(i64),
    /// Of a time with time zone.
    Two(i64, i32),
    /// Of an interval.
    Three(i32, i32, i64),
}

/// The parts of a value; None for one without.
pub fn parts_of(value: &Value<'_>) -> Option<Parts> {
    Some(match value {
        Value::Interval { months, days, micros } => Parts::Three(*months, *days, *micros),
        Value::IntervalInfinity(Sign::Positive) => Parts::Three(i32::MAX, i32::MAX, i64::MAX),
        Value::IntervalInfinity(Sign::Negative) => Parts::Three(i32::MIN, i32::MIN, i64::MIN),
        Value::Date(days) => Parts::One(i64::from(*days) - EPOCH_DAYS),
        Value::DateInfinity(Sign::Positive) => Parts::One(i32::MAX.into()),
        Value::DateInfinity(Sign::Negative) => Parts::One(i32::MIN.into()),
        Value::Time(micros) => Parts::One(*micros),
        Value::TimeTz { micros, offset_s } => Parts::Two(*micros, -offset_s),
        Value::Timestamp(micros) | Value::TimestampTz(micros) => {
            Parts::One(micros - EPOCH_DAYS * DAY_US)
        }
        Value::TimestampInfinity(Sign::Positive) => Parts::One(i64::MAX),
        Value::TimestampInfinity(Sign::Negative) => Parts::One(i64::MIN),
        _ => return None,
    })
}

/// The value of these parts, the inverse of [`parts_of`]; None if it exceeds its type, or if values
/// of the kind have other parts.
pub fn value_of(kind: Kind, parts: Parts) -> Option<Value<'static>> {
    Some(match (kind, parts) {
        (Kind::Interval, Parts::Three(months, days, micros)) => match (months, days, micros) {
            (i32::MAX, i32::MAX, i64::MAX) => Value::IntervalInfinity(Sign::Positive),
            (i32::MIN, i32::MIN, i64::MIN) => Value::IntervalInfinity(Sign::Negative),
            _ => Value::Interval { months, days, micros },
        },
        (Kind::Date, Parts::One(days)) => match i32::try_from(days).ok()? {
            i32::MAX => Value::DateInfinity(Sign::Positive),
            i32::MIN => Value::DateInfinity(Sign::Negative),
            days => Value::Date(i32::try_from(i64::from(days) + EPOCH_DAYS).ok()?),
        },
        (Kind::Time, Parts::One(micros)) => Value::Time(micros),
        (Kind::TimeTz, Parts::Two(micros, west)) => {
            Value::TimeTz { micros, offset_s: west.checked_neg()? }
        }
        (Kind::Timestamp | Kind::TimestampTz, Parts::One(i64::MAX)) => {
            Value::TimestampInfinity(Sign::Positive)
        }
        (Kind::Timestamp | Kind::TimestampTz, Parts::One(i64::MIN)) => {
            Value::TimestampInfinity(Sign::Negative)
        }
        (Kind::Timestamp, Parts::One(micros)) => {
            Value::Timestamp(micros.checked_add(EPOCH_DAYS * DAY_US)?)
        }
        (Kind::TimestampTz, Parts::One(micros)) => {
            Value::TimestampTz(micros.checked_add(EPOCH_DAYS * DAY_US)?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_microseconds_count_from_2000() {
        assert_eq!(parts_of(&Value::Date(10_957)), Some(Parts::One(0)));
        assert_eq!(parts_of(&Value::Timestamp(0)), Some(Parts::One(-946_684_800_000_000)));
        let zoned = Value::TimeTz { micros: 7, offset_s: 3_600 };
        assert_eq!(parts_of(&zoned), Some(Parts::Two(7, -3_600)));
    }

    #[test]
    fn the_parts_of_a_value_make_it_again() {
        let both = [Sign::Positive, Sign::Negative];
        let mut values = vec![
            (Kind::Interval, Value::Interval { months: -1, days: 2, micros: i64::MAX }),
            (Kind::Date, Value::Date(0)),
            (Kind::Time, Value::Time(DAY_US)),
            (Kind::TimeTz, Value::TimeTz { micros: 1, offset_s: -57_599 }),
            (Kind::Timestamp, Value::Timestamp(-1)),
            (Kind::TimestampTz, Value::TimestampTz(i64::MAX)),
        ];
        values.extend(both.map(|sign| (Kind::Interval, Value::IntervalInfinity(sign))));
        values.extend(both.map(|sign| (Kind::Date, Value::DateInfinity(sign))));
        values.extend(both.map(|sign| (Kind::TimestampTz, Value::TimestampInfinity(sign))));
        for (kind, value) in values {
            let parts = parts_of(&value).unwrap();
            assert_eq!(value_of(kind, parts), Some(value));
        }
    }

    #[test]
    fn what_exceeds_its_type_is_no_value() {
        assert_eq!(value_of(Kind::Date, Parts::One((i32::MAX - 1).into())), None);
        assert_eq!(value_of(Kind::Date, Parts::One(1 << 40)), None);
        assert_eq!(value_of(Kind::Timestamp, Parts::One(i64::MAX - 1)), None);
        assert_eq!(value_of(Kind::TimeTz, Parts::Two(0, i32::MIN)), None);
    }

    #[test]
    fn other_values_and_other_parts_have_none() {
        assert_eq!(parts_of(&Value::Int(1)), None);
        assert_eq!(value_of(Kind::Interval, Parts::One(1)), None);
        assert_eq!(value_of(Kind::Int, Parts::One(1)), None);
    }
}
