//! Intervals as PostgreSQL prints them.

const MONTHS_OF_YEAR: i32 = 12;
const MICROS_OF_SECOND: u64 = 1_000_000;

/// An interval in the server's usual style: `1 year 2 mons -3 days +04:05:06.5`.
pub fn interval_text(months: i32, days: i32, micros: i64) -> String {
    let mut text = String::new();
    let mut after_negative = false;
    let units =
        [(months / MONTHS_OF_YEAR, "year"), (months % MONTHS_OF_YEAR, "mon"), (days, "day")];
    for (count, unit) in units.into_iter().filter(|(count, _)| *count != 0) {
        let space = if text.is_empty() { "" } else { " " };
        let plus = if after_negative && count > 0 { "+" } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        text.push_str(&format!("{space}{plus}{count} {unit}{plural}"));
        after_negative = count < 0;
    }
    if micros == 0 && !text.is_empty() {
        return text;
    }
    let space = if text.is_empty() { "" } else { " " };
    let sign = match (micros < 0, after_negative) {
        (true, _) => "-",
        (false, true) => "+",
        (false, false) => "",
    };
    let clock = micros.unsigned_abs();
    let (seconds, fraction) = (clock / MICROS_OF_SECOND, clock % MICROS_OF_SECOND);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    text.push_str(&format!("{space}{sign}{hours:02}:{minutes:02}:{seconds:02}"));
    if fraction != 0 {
        text.push_str(format!(".{fraction:06}").trim_end_matches('0'));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_read_as_the_server_prints_them() {
        let cases = [
            ((0, 0, 0), "00:00:00"),
            ((14, 3, 14_706_500_000), "1 year 2 mons 3 days 04:05:06.5"),
            ((-14, 3, 1), "-1 years -2 mons +3 days 00:00:00.000001"),
            ((1, -1, 3_600_000_000), "1 mon -1 days +01:00:00"),
            ((0, 1, -1_000_000), "1 day -00:00:01"),
            ((0, 0, i64::MIN), "-2562047788:00:54.775808"),
            ((-1, 0, 0), "-1 mons"),
        ];
        for ((months, days, micros), text) in cases {
            assert_eq!(interval_text(months, days, micros), text);
        }
    }
}
