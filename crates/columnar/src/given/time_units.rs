//! Units of time, and counts of them.

use std::fmt;

use crate::calendar::{DAY_US, civil_from_days, first_day};
use crate::value::Value;

/// The units of NumPy's times: each name, its name in errors, and its length in attoseconds. A year
/// and a month have no fixed length.
const UNITS: [(&str, &str, i128); 13] = [
    ("Y", "years", 0),
    ("M", "months", 0),
    ("W", "weeks", 7 * 86_400 * SECOND),
    ("D", "days", 86_400 * SECOND),
    ("h", "hours", 3_600 * SECOND),
    ("m", "minutes", 60 * SECOND),
    ("s", "seconds", SECOND),
    ("ms", "milliseconds", SECOND / 1_000),
    ("us", "microseconds", SECOND / 1_000_000),
    ("ns", "nanoseconds", SECOND / 1_000_000_000),
    ("ps", "picoseconds", 1_000_000),
    ("fs", "femtoseconds", 1_000),
    ("as", "attoseconds", 1),
];

/// In attoseconds.
const SECOND: i128 = 1_000_000_000_000_000_000;

const MONTHS_OF_YEAR: i128 = 12;

/// The calendar computes with days of up to this many, which are a quadrillion years.
const DAYS_MOST: u64 = 1 << 58;

/// A unit of time, by its place in `UNITS`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit(usize);

impl Unit {
    /// Years.
    pub const YEARS: Self = Self(0);
    /// Months.
    pub const MONTHS: Self = Self(1);
    /// Weeks.
    pub const WEEKS: Self = Self(2);
    /// Days.
    pub const DAYS: Self = Self(3);
    /// Microseconds.
    pub const MICROS: Self = Self(8);
    /// Nanoseconds.
    pub const NANOS: Self = Self(9);

    /// The unit of a name, such as "us".
    pub fn of(name: &str) -> Option<Self> {
        UNITS.iter().position(|(known, ..)| *known == name).map(Self)
    }

    fn words(self) -> &'static str {
        UNITS.get(self.0).map_or("", |(_, words, _)| words)
    }

    /// None for a unit without a fixed length.
    fn attoseconds(self) -> Option<i128> {
        UNITS.get(self.0).map(|(.., length)| *length).filter(|length| *length > 0)
    }

    /// The months of a unit without a fixed length.
    fn months(self) -> i128 {
        if self == Self::YEARS { MONTHS_OF_YEAR } else { 1 }
    }
}

/// A duration, or a moment since 1970-01-01, as a count of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Time {
    /// How many units.
    pub count: i128,
    /// The unit.
    pub unit: Unit,
}

/// The reason why a time is no whole number of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeError {
    /// It exceeds 64 bits of the unit.
    OutOfRange {
        /// The unit.
        unit: Unit,
    },
    /// It has a fraction, or nobody can tell.
    Fraction {
        /// The time.
        time: Time,
        /// The unit.
        unit: Unit,
        /// The remedy, or the reason why nobody can tell.
        remedy: &'static str,
    },
    /// It exceeds the 32 bits of an interval's months or days.
    Interval,
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { unit } => {
                write!(f, "value is outside of 64 bits of {}", unit.words())
            }
            Self::Fraction { time: Time { count, unit: given }, unit, remedy } => write!(
                f,
                "a count of {count} {} is not a whole number of {}: {remedy}",
                given.words(),
                unit.words()
            ),
            Self::Interval => f.write_str("value is outside of an interval's 32 bits"),
        }
    }
}

impl std::error::Error for TimeError {}

impl Time {
    /// A duration as a whole number of another unit.
    pub fn whole(self, unit: Unit) -> Result<i64, TimeError> {
        in_64_bits(self.whole_of_any_size(unit)?, unit)
    }

    /// As `whole`, beyond 64 bits, too.
    fn whole_of_any_size(self, unit: Unit) -> Result<i128, TimeError> {
        match (self.unit.attoseconds(), unit.attoseconds()) {
            (Some(from), Some(to)) => self.scaled(unit, from, to),
            (None, None) => self.scaled(unit, self.unit.months(), unit.months()),
            _ => Err(self.refusal(unit, "a month has no fixed length")),
        }
    }

    /// A moment as a whole number of another unit.
    pub fn whole_since_epoch(self, unit: Unit) -> Result<i64, TimeError> {
        match (self.unit.attoseconds(), unit.attoseconds()) {
            (None, Some(_)) => {
                let months = i64::try_from(self.count * self.unit.months()).ok();
                let day = months.and_then(first_day).map(i128::from);
                let day = day.ok_or_else(|| out_of_range(unit))?;
                Self { count: day, unit: Unit::DAYS }.whole(unit)
            }
            (Some(_), None) => {
                let refused = |_| self.refusal(unit, "round it");
                let days = self.whole(Unit::DAYS).map_err(refused)?;
                if days.unsigned_abs() > DAYS_MOST {
                    return Err(out_of_range(unit));
                }
                let civil = civil_from_days(days);
                if civil.day != 1 {
                    return Err(self.refusal(unit, "round it"));
                }
                let years = i128::from(civil.year) - 1970;
                let count = years * MONTHS_OF_YEAR + i128::from(civil.month) - 1;
                Self { count, unit: Unit::MONTHS }.whole(unit)
            }
            _ => self.whole(unit),
        }
    }

    /// A duration as an interval. Years to days are parts of their own; shorter units are time.
    pub fn interval(self) -> Result<Value<'static>, TimeError> {
        let part = |times: i128| i32::try_from(self.count * times).map_err(|_| TimeError::Interval);
        let (mut months, mut days, mut micros) = (0, 0, 0);
        match self.unit {
            Unit::YEARS => months = part(12)?,
            Unit::MONTHS => months = part(1)?,
            Unit::WEEKS => days = part(7)?,
            Unit::DAYS => days = part(1)?,
            _ => micros = self.whole(Unit::MICROS)?,
        }
        Ok(Value::Interval { months, days, micros })
    }

    /// A duration as the days and microseconds of an interval, as Python counts: only the days are
    /// negative.
    pub fn interval_of_days(self) -> Result<Value<'static>, TimeError> {
        let whole = self.whole_of_any_size(Unit::MICROS)?;
        let days = i32::try_from(whole.div_euclid(DAY_US.into()));
        Ok(Value::Interval {
            months: 0,
            days: days.map_err(|_| TimeError::Interval)?,
            micros: whole.rem_euclid(DAY_US.into()) as i64,
        })
    }

    /// Each unit is a multiple of all smaller ones.
    fn scaled(self, unit: Unit, from: i128, to: i128) -> Result<i128, TimeError> {
        if from >= to {
            return self.count.checked_mul(from / to).ok_or_else(|| out_of_range(unit));
        }
        let parts = to / from;
        if self.count % parts == 0 {
            return Ok(self.count / parts);
        }
        Err(self.refusal(unit, "round it"))
    }

    fn refusal(self, unit: Unit, remedy: &'static str) -> TimeError {
        TimeError::Fraction { time: self, unit, remedy }
    }
}

fn out_of_range(unit: Unit) -> TimeError {
    TimeError::OutOfRange { unit }
}

fn in_64_bits(count: i128, unit: Unit) -> Result<i64, TimeError> {
    i64::try_from(count).map_err(|_| out_of_range(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(count: i128, unit: &str) -> Time {
        Time { count, unit: Unit::of(unit).unwrap() }
    }

    #[test]
    fn units_are_multiples_of_smaller_ones() {
        assert_eq!(time(2, "W").whole(Unit::DAYS), Ok(14));
        assert_eq!(time(-3, "h").whole(Unit::MICROS), Ok(-3 * 3_600_000_000));
        assert_eq!(time(7_000_000, "ps").whole(Unit::MICROS), Ok(7));
        assert_eq!(time(24, "M").whole(Unit::YEARS), Ok(2));
        assert_eq!(Unit::of("generic"), None);
    }

    #[test]
    fn nothing_is_rounded() {
        let refused = time(1_500, "ns").whole(Unit::MICROS).unwrap_err();
        let text = "a count of 1500 nanoseconds is not a whole number of microseconds: round it";
        assert_eq!(refused.to_string(), text);
        let refused = time(1, "M").whole(Unit::DAYS).unwrap_err();
        let text = "a count of 1 months is not a whole number of days: a month has no fixed length";
        assert_eq!(refused.to_string(), text);
    }

    #[test]
    fn what_exceeds_64_bits_is_refused() {
        let most = i128::from(i64::MAX);
        assert_eq!(time(most, "us").whole(Unit::MICROS), Ok(i64::MAX));
        let refused = time(most + 1, "us").whole(Unit::MICROS).unwrap_err();
        assert_eq!(refused.to_string(), "value is outside of 64 bits of microseconds");
        assert_eq!(time(most + 1, "us").whole_of_any_size(Unit::MICROS), Ok(most + 1));
        let refused = time(i128::MAX, "h").whole(Unit::MICROS);
        assert_eq!(refused, Err(TimeError::OutOfRange { unit: Unit::MICROS }));
    }

    #[test]
    fn months_since_1970_are_days() {
        assert_eq!(time(1, "Y").whole_since_epoch(Unit::DAYS), Ok(365));
        assert_eq!(time(-1, "M").whole_since_epoch(Unit::DAYS), Ok(-31));
        let refused = time(i128::from(i64::MAX), "Y").whole_since_epoch(Unit::DAYS);
        assert_eq!(refused, Err(TimeError::OutOfRange { unit: Unit::DAYS }));
    }

    #[test]
    fn the_first_day_of_a_month_is_a_count_of_months() {
        assert_eq!(time(31, "D").whole_since_epoch(Unit::MONTHS), Ok(1));
        assert_eq!(time(-31, "D").whole_since_epoch(Unit::MONTHS), Ok(-1));
        assert_eq!(time(365 * 24, "h").whole_since_epoch(Unit::YEARS), Ok(1));
        for other in [time(30, "D"), time(1, "h")] {
            let refused = other.whole_since_epoch(Unit::MONTHS).unwrap_err();
            assert!(matches!(refused, TimeError::Fraction { .. }), "{refused}");
        }
        let refused = time(i128::from(i64::MAX), "D").whole_since_epoch(Unit::MONTHS);
        assert_eq!(refused, Err(TimeError::OutOfRange { unit: Unit::MONTHS }));
    }

    #[test]
    fn an_interval_keeps_years_to_days_apart_from_time() {
        let interval = |months, days, micros| Ok(Value::Interval { months, days, micros });
        assert_eq!(time(2, "Y").interval(), interval(24, 0, 0));
        assert_eq!(time(-2, "W").interval(), interval(0, -14, 0));
        assert_eq!(time(30, "h").interval(), interval(0, 0, 30 * 3_600_000_000));
        assert_eq!(time(1 << 31, "D").interval(), Err(TimeError::Interval));
        assert_eq!(time(-1, "us").interval_of_days(), interval(0, -1, DAY_US - 1));
        let long = time(i128::from(DAY_US) << 31, "us");
        assert_eq!(long.interval_of_days(), Err(TimeError::Interval));
    }
}
