//! The nearest float64 of a `numeric`.

use arrow_array::types::Float64Type;

use super::scaled;
use super::text;
use super::wire::{self, Finite, GROUP_MOST, Numeric};
use crate::error::Reason;
use crate::schema::Infinity;
use crate::types::primitive::Shape;
use crate::value::Sign;

/// Floats hold all integers up to here exactly.
const EXACT_MOST: u64 = 1 << 53;

/// The powers of ten that a float64 holds exactly.
pub(crate) const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// A column of floats; NaN and infinities are kept.
pub(super) struct NumericAsFloat;

impl Shape for NumericAsFloat {
    type Arrow = Float64Type;
    const NULL: f64 = f64::NAN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<f64> {
        match wire::parse(raw).ok()? {
            Numeric::Finite(number) => nearest(&number),
            Numeric::Nan => Some(f64::NAN),
            Numeric::Infinite(Sign::Positive) => Some(f64::INFINITY),
            Numeric::Infinite(Sign::Negative) => Some(f64::NEG_INFINITY),
        }
    }

    fn edge(raw: &[u8], _: Infinity) -> Result<Option<f64>, Reason> {
        match wire::parse(raw)? {
            Numeric::Finite(number) => {
                scaled::check(&number).and(Err(Reason::NumericFloatOverflow))
            }
            // Unreachable, because floats have them.
            Numeric::Nan | Numeric::Infinite(_) => Ok(Self::decode(raw)),
        }
    }
}

/// `None` if the number exceeds the range of floats.
#[inline]
fn nearest(number: &Finite<'_>) -> Option<f64> {
    if let Some((_, magnitude)) = nearest_short(number) {
        return Some(if number.negative { -magnitude } else { magnitude });
    }
    scaled::check(number).ok()?;
    Some(nearest_long(number)).filter(|float| float.is_finite())
}

/// With an integer and a power of ten that are both exact, a single operation rounds once. Returns
/// the integer, and the float without its sign.
#[inline]
pub(super) fn nearest_short(number: &Finite<'_>) -> Option<(u64, f64)> {
    if number.groups.len() > 4 {
        return None;
    }
    let groups = number.groups.iter().map(|group| u64::from(u16::from_be_bytes(*group)));
    let (digits, largest) =
        groups.fold((0, 0), |(sum, largest), group| (sum * 10_000 + group, group.max(largest)));
    if digits > EXACT_MOST || largest > GROUP_MOST.into() {
        return None;
    }
    let power = 4 * (i32::from(number.weight) + 1 - number.groups.len() as i32);
    let factor = *EXACT_POWERS.get(power.unsigned_abs() as usize)?;
    Some((digits, if power < 0 { digits as f64 / factor } else { digits as f64 * factor }))
}

/// The float of a validated number; an infinity if it exceeds the range.
pub(super) fn nearest_long(number: &Finite<'_>) -> f64 {
    let mut digits = Vec::new();
    text::write_finite(number, &mut digits);
    // Digits, a sign and a point always form a number.
    std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(f64::NAN)
}
