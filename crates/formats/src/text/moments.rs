//! Days, times and intervals in ISO 8601. A fraction of a second has no zeros at its end.

const DAY_SECONDS: i64 = 86_400;
const MONTHS_OF_YEAR: i32 = 12;

/// The days since 1970 as a date.
pub(crate) fn date(days: i64, out: &mut Vec<u8>) {
    out.push(b'"');
    push_date(days, out);
    out.push(b'"');
}

/// A time of day, in units since midnight.
pub(crate) fn time<const UNITS_OF_SECOND: i64>(units: i64, out: &mut Vec<u8>) {
    out.push(b'"');
    if units < 0 {
        out.push(b'-');
    }
    push_clock::<UNITS_OF_SECOND>(units.unsigned_abs(), out);
    out.push(b'"');
}

/// Units since 1970, with Z if they count an instant of UTC.
pub(crate) fn timestamp<const UNITS_OF_SECOND: i64>(
    units: i64,
    is_instant: bool,
    out: &mut Vec<u8>,
) {
    let day_units = DAY_SECONDS * UNITS_OF_SECOND;
    out.push(b'"');
    push_date(units.div_euclid(day_units), out);
    out.push(b'T');
    push_clock::<UNITS_OF_SECOND>(units.rem_euclid(day_units).unsigned_abs(), out);
    out.extend_from_slice(if is_instant { b"Z\"" } else { b"\"" });
}

/// A duration, as PostgreSQL prints it with `IntervalStyle = iso_8601`: every part has a sign of
/// its own, because a month has no fixed number of days, nor a day of hours.
pub(crate) fn interval<const UNITS_OF_SECOND: i64>(
    months: i32,
    days: i32,
    units: i64,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"\"P");
    push_part(i64::from(months / MONTHS_OF_YEAR), b'Y', out);
    push_part(i64::from(months % MONTHS_OF_YEAR), b'M', out);
    push_part(i64::from(days), b'D', out);
    if units != 0 || (months, days) == (0, 0) {
        out.push(b'T');
        let seconds = units / UNITS_OF_SECOND;
        push_part(seconds / 3_600, b'H', out);
        push_part(seconds / 60 % 60, b'M', out);
        push_seconds::<UNITS_OF_SECOND>(units, out);
    }
    out.push(b'"');
}

fn push_part(count: i64, unit: u8, out: &mut Vec<u8>) {
    if count != 0 {
        out.extend_from_slice(itoa::Buffer::new().format(count).as_bytes());
        out.push(unit);
    }
}

/// The seconds of a minute. They are left out if they are zero and others are not.
fn push_seconds<const UNITS_OF_SECOND: i64>(units: i64, out: &mut Vec<u8>) {
    let seconds = units / UNITS_OF_SECOND % 60;
    let fraction = units % UNITS_OF_SECOND;
    if units != 0 && (seconds, fraction) == (0, 0) {
        return;
    }
    if units < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(itoa::Buffer::new().format(seconds.unsigned_abs()).as_bytes());
    push_fraction::<UNITS_OF_SECOND>(fraction.unsigned_abs(), out);
    out.push(b'S');
}

/// A date with the year in four digits, or in six and a sign if it is before 0 or after 9999, as
/// ECMAScript's `Date` has it. The year 0 is 1 BC.
fn push_date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil(days);
    match u64::try_from(year) {
        Ok(year @ 0..=9_999) => {
            let ([y1, y2], [y3, y4]) = (pair(year / 100), pair(year % 100));
            let ([m1, m2], [d1, d2]) = (pair(month), pair(day));
            out.extend_from_slice(&[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2]);
            return;
        }
        _ => {
            let mut buffer = itoa::Buffer::new();
            let digits = buffer.format(year.unsigned_abs());
            out.push(if year < 0 { b'-' } else { b'+' });
            out.extend(std::iter::repeat_n(b'0', 6_usize.saturating_sub(digits.len())));
            out.extend_from_slice(digits.as_bytes());
        }
    }
    let ([m1, m2], [d1, d2]) = (pair(month), pair(day));
    out.extend_from_slice(&[b'-', m1, m2, b'-', d1, d2]);
}

fn push_clock<const UNITS_OF_SECOND: i64>(units: u64, out: &mut Vec<u8>) {
    let seconds = units / UNITS_OF_SECOND.unsigned_abs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let ([m1, m2], [s1, s2]) = (pair(minutes), pair(seconds));
    if hours < 100 {
        let [h1, h2] = pair(hours);
        out.extend_from_slice(&[h1, h2, b':', m1, m2, b':', s1, s2]);
    } else {
        out.extend_from_slice(itoa::Buffer::new().format(hours).as_bytes());
        out.extend_from_slice(&[b':', m1, m2, b':', s1, s2]);
    }
    push_fraction::<UNITS_OF_SECOND>(units % UNITS_OF_SECOND.unsigned_abs(), out);
}

/// A point and digits, unless there is no fraction.
fn push_fraction<const UNITS_OF_SECOND: i64>(fraction: u64, out: &mut Vec<u8>) {
    if fraction == 0 {
        return;
    }
    let nanos = fraction * (1_000_000_000 / UNITS_OF_SECOND.unsigned_abs());
    let ([a, b], [c, d], [e, f]) =
        (pair(nanos / 10_000_000), pair(nanos / 100_000 % 100), pair(nanos / 1_000 % 100));
    out.extend_from_slice(&[b'.', a, b, c, d, e, f]);
    let ([g, h], i) = (pair(nanos / 10 % 100), b'0' + (nanos % 10) as u8);
    if UNITS_OF_SECOND > 1_000_000 {
        out.extend_from_slice(&[g, h, i]);
    }
    // It has another digit, so this ends before the point.
    while out.last() == Some(&b'0') {
        out.pop();
    }
}

/// Two digits of a number below 100.
fn pair(number: u64) -> [u8; 2] {
    [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]
}

/// Year, month and day of a day since 1970. The year is counted from March within eras of 400
/// years, so that leap days are at the end of it (H. Hinnant, "chrono-compatible low-level date
/// algorithms"). `chrono` ends in the year 262142, PostgreSQL's dates in 5874897.
fn civil(days: i64) -> (i64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097).unsigned_abs();
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era.cast_signed() + i64::from(month <= 2);
    (year, month, day)
}
