//! The dates, moments and intervals that Python's `datetime` can hold.

use crate::calendar::{Civil, DAY_US, civil_from_days};
use crate::value::Sign;

/// The range of `timedelta`, in days either way.
const DELTA_DAYS_MAX: i64 = 999_999_999;
/// asyncpg's length of a year and a month.
const DAYS_OF_YEAR: i64 = 365;
const DAYS_OF_MONTH: i64 = 30;

/// The sign of the infinity that the first and the last date stand for in asyncpg.
pub fn infinite_day(days: i64) -> Option<Sign> {
    match civil_from_days(days) {
        Civil { year: 9999, month: 12, day: 31 } => Some(Sign::Positive),
        Civil { year: 1, month: 1, day: 1 } => Some(Sign::Negative),
        _ => None,
    }
}

/// As [`infinite_day`], for a moment of a day.
pub fn infinite_moment(days: i64, clock_us: i64) -> Option<Sign> {
    let sign = infinite_day(days)?;
    let outermost = if sign == Sign::Positive { DAY_US - 1 } else { 0 };
    (clock_us == outermost).then_some(sign)
}

/// The year as `date` or `datetime` has it; an error is the message for a year that they lack.
#[inline]
pub fn year_of_class(year: i64, class: &str) -> Result<i32, String> {
    match i32::try_from(year) {
        Ok(year) if (1..=9999).contains(&year) => Ok(year),
        _ => {
            let shown = if year < 1 { format!("{} BC", 1 - year) } else { year.to_string() };
            Err(format!(
                "the year {shown} is outside Python's {class} (1 to 9999): cast it to text, \
                 or fetch columns and read them as NumPy or Arrow"
            ))
        }
    }
}

/// The text for an infinity where Python's dates mean themselves.
pub fn no_infinity(sign: Sign) -> String {
    format!(
        "the value is {}infinity, and Python's dates have none: cast it to text, or fetch \
         columns with infinity=\"null\" or \"saturate\"",
        minus(sign)
    )
}

/// Microseconds as days, and the seconds and microseconds of a day.
pub fn days_and_rest(micros: i64) -> (i64, i32, i32) {
    let rest = micros.rem_euclid(DAY_US);
    // Less than a day, so both parts fit.
    (micros.div_euclid(DAY_US), (rest / 1_000_000) as i32, (rest % 1_000_000) as i32)
}

/// An interval as the days, seconds and microseconds of a `timedelta`; an error is the text for one
/// that is too long.
pub fn timedelta_of(months: i32, days: i32, micros: i64) -> Result<(i32, i32, i32), String> {
    let months = i64::from(months);
    let of_months = months / 12 * DAYS_OF_YEAR + months % 12 * DAYS_OF_MONTH;
    let (of_micros, seconds, micros) = days_and_rest(micros);
    let days = of_months + i64::from(days) + of_micros;
    match i32::try_from(days) {
        Ok(days) if i64::from(days).abs() <= DELTA_DAYS_MAX => Ok((days, seconds, micros)),
        _ => Err(no_interval(&format!("an interval of {days} days"))),
    }
}

/// The text for an infinite interval.
pub fn no_interval_infinity(sign: Sign) -> String {
    no_interval(&format!("the interval {}infinity", minus(sign)))
}

fn no_interval(what: &str) -> String {
    format!("{what} is outside Python's timedelta (999999999 days either way): cast it to text")
}

fn minus(sign: Sign) -> &'static str {
    if sign == Sign::Positive { "" } else { "-" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::days_from_civil;

    const LAST: Civil = Civil { year: 9999, month: 12, day: 31 };
    const FIRST: Civil = Civil { year: 1, month: 1, day: 1 };

    #[test]
    fn the_outermost_days_are_infinite() {
        let (first, last) = (days_from_civil(FIRST), days_from_civil(LAST));
        assert_eq!(infinite_day(last), Some(Sign::Positive));
        assert_eq!(infinite_day(first), Some(Sign::Negative));
        assert_eq!((infinite_day(first + 1), infinite_day(last - 1)), (None, None));
        assert_eq!(infinite_moment(last, DAY_US - 1), Some(Sign::Positive));
        assert_eq!(infinite_moment(last, DAY_US - 2), None);
        assert_eq!(infinite_moment(first, 0), Some(Sign::Negative));
        assert_eq!(infinite_moment(first, 1), None);
    }

    #[test]
    fn years_are_1_to_9999() {
        assert_eq!(year_of_class(1, "date"), Ok(1));
        assert_eq!(year_of_class(9999, "date"), Ok(9999));
        let refused = year_of_class(0, "date").unwrap_err();
        assert!(refused.starts_with("the year 1 BC is outside Python's date (1 to 9999)"));
        assert!(year_of_class(10_000, "datetime").unwrap_err().starts_with("the year 10000 is"));
        assert!(year_of_class(i64::MAX, "datetime").is_err());
    }

    #[test]
    fn a_months_length_is_asyncpgs() {
        assert_eq!(timedelta_of(14, 1, 0), Ok((365 + 60 + 1, 0, 0)));
        assert_eq!(timedelta_of(-1, 0, 0), Ok((-30, 0, 0)));
        // Only the days are negative.
        assert_eq!(timedelta_of(0, 0, -1), Ok((-1, 86_399, 999_999)));
    }

    #[test]
    fn longer_intervals_are_refused() {
        assert_eq!(timedelta_of(0, 999_999_999, DAY_US - 1), Ok((999_999_999, 86_399, 999_999)));
        let refused = timedelta_of(0, 999_999_999, DAY_US).unwrap_err();
        assert!(refused.starts_with("an interval of 1000000000 days is outside"), "{refused}");
        assert!(timedelta_of(i32::MIN, i32::MIN, i64::MIN).is_err());
    }

    #[test]
    fn infinities_show_their_sign() {
        assert!(no_infinity(Sign::Negative).starts_with("the value is -infinity, and"));
        assert!(no_interval_infinity(Sign::Positive).starts_with("the interval infinity is"));
    }
}
