//! The wire format: four 16-bit words (number of groups, weight, sign, scale), then the groups,
//! each four decimal digits as a number up to 9999. The value is the sum of `group[i] * 10000 ^
//! (weight - i)`.

use crate::error::Reason;
use crate::value::Sign;

/// The maximum number of digits after the point.
pub(super) const SCALE_MOST: u16 = 16_383;

/// The largest group.
pub(super) const GROUP_MOST: u16 = 9_999;

/// Sign words.
pub(super) const POSITIVE: u16 = 0x0000;
pub(super) const NEGATIVE: u16 = 0x4000;
pub(super) const NAN: u16 = 0xC000;
pub(super) const PLUS_INFINITY: u16 = 0xD000;
pub(super) const MINUS_INFINITY: u16 = 0xF000;

/// A value in a message.
pub(super) enum Numeric<'a> {
    Finite(Finite<'a>),
    Nan,
    Infinite(Sign),
}

/// A number.
pub(super) struct Finite<'a> {
    /// Never set for zero, whatever sign its message has.
    pub(super) negative: bool,
    /// Power of 10000 of the first group.
    pub(super) weight: i16,
    /// The number of digits printed after the point, at most [`SCALE_MOST`].
    pub(super) scale: u16,
    /// Most significant first; each at most [`GROUP_MOST`], which the reader must check.
    pub(super) groups: &'a [[u8; 2]],
}

/// Checks a value's layout except for the groups, which are read only once.
#[inline]
pub(super) fn parse(raw: &[u8]) -> Result<Numeric<'_>, Reason> {
    let Some((&[n0, n1, w0, w1, s0, s1, d0, d1], rest)) = raw.split_first_chunk::<8>() else {
        return Err(Reason::TooShort { least: 8, actual: raw.len() });
    };
    let count = u16::from_be_bytes([n0, n1]);
    let (groups, odd) = rest.as_chunks::<2>();
    if groups.len() != usize::from(count) || !odd.is_empty() {
        return Err(Reason::NumericLength { groups: count, actual: raw.len() });
    }
    let sign = u16::from_be_bytes([s0, s1]);
    if sign != POSITIVE && sign != NEGATIVE {
        return special(sign);
    }
    let scale = u16::from_be_bytes([d0, d1]);
    if scale > SCALE_MOST {
        return Err(Reason::NumericScaleWord(scale));
    }
    let weight = i16::from_be_bytes([w0, w1]);
    let negative = sign == NEGATIVE && groups.iter().any(|group| *group != [0, 0]);
    Ok(Numeric::Finite(Finite { negative, weight, scale, groups }))
}

#[cold]
fn special<'a>(sign: u16) -> Result<Numeric<'a>, Reason> {
    match sign {
        NAN => Ok(Numeric::Nan),
        PLUS_INFINITY => Ok(Numeric::Infinite(Sign::Positive)),
        MINUS_INFINITY => Ok(Numeric::Infinite(Sign::Negative)),
        sign => Err(Reason::NumericSign(sign)),
    }
}

/// The scale of a well-formed number, 0 for all other values. (The scale word of an infinity is not
/// 0, and has no meaning.)
#[inline]
pub(super) fn scale_of(raw: &[u8]) -> u16 {
    match raw.first_chunk::<8>() {
        Some(&[.., 0x00 | 0x40, 0x00, d0, d1]) => u16::from_be_bytes([d0, d1]),
        _ => 0,
    }
}
