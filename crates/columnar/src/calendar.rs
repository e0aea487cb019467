//! Days and microseconds since 1970 to and from the calendar.

/// Microseconds in a day.
pub const DAY_US: i64 = 86_400_000_000;

/// A day of the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Astronomical year numbering: the year 0 is 1 BC.
    pub year: i64,
    /// From 1.
    pub month: u8,
    /// From 1.
    pub day: u8,
}

/// The civil date of a day count. The year is counted from March within eras of 400 years, in
/// which the leap days fall at the end (H. Hinnant, "chrono-compatible low-level date algorithms").
pub fn civil_from_days(days: i64) -> Civil {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    // Both are small by the arithmetic above: 1..=12 and 1..=31.
    Civil { year, month: month as u8, day: day as u8 }
}

/// The day count of a civil date; the inverse of [`civil_from_days`].
pub fn days_from_civil(civil: Civil) -> i64 {
    let month = i64::from(civil.month);
    let year = civil.year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(civil.day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The day number of a month's first day, with months counted from January 1970; None outside the
/// range of PostgreSQL's dates.
pub fn first_day(months: i64) -> Option<i64> {
    // Ten million years.
    if months.unsigned_abs() > 120_000_000 {
        return None;
    }
    // 1 to 12 by the remainder.
    let month = months.rem_euclid(12) as u8 + 1;
    Some(days_from_civil(Civil { year: 1970 + months.div_euclid(12), month, day: 1 }))
}

/// Hour, minute, second and microsecond of a time of day.
pub fn clock_from_us(us: i64) -> (u8, u8, u8, u32) {
    let seconds = us / 1_000_000;
    // A time of day is below 86,401 seconds, so each part fits.
    (
        (seconds / 3_600) as u8,
        (seconds / 60 % 60) as u8,
        (seconds % 60) as u8,
        (us % 1_000_000) as u32,
    )
}
