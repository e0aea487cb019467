//! From groups of four digits to the integer in a decimal column: the value times ten to the power
//! of the column's scale, exactly or not at all.

use std::sync::LazyLock;

use arrow_buffer::i256;

use super::wire::{Finite, GROUP_MOST, NEGATIVE, POSITIVE, SCALE_MOST};
use crate::error::Reason;

/// The reason why a number does not fit a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Misfit {
    /// It has nonzero digits beyond the column's scale.
    Scale,
    /// It exceeds the column's precision.
    Width,
    /// It is malformed: one of its groups is not four digits.
    Group(u16),
}

/// The integers of a decimal column.
pub(super) trait Integer: Copy + Default + Send + Sync + 'static {
    /// The number of digits that any such integer can have.
    const PRECISION: u8;

    /// The largest integer with this many digits.
    fn most(precision: u8) -> Self;

    /// `number` times ten to `scale`, if that is an integer up to `most` in magnitude.
    fn scaled(number: &Finite<'_>, scale: i32, most: Self) -> Result<Self, Misfit>;

    /// [`Integer::scaled`] for a value of the most common form that fits; `None` decides nothing.
    fn quick(raw: &[u8], scale: i32, most: Self) -> Option<Self>;

    /// Multiplies all `values` by ten to `power`; returns false, and changes nothing, if one would
    /// exceed [`Integer::PRECISION`].
    fn rescale(values: &mut [Self], power: u32) -> bool;

    /// Digits of the largest of `values` in magnitude.
    fn most_digits(values: &[Self]) -> u32;

    /// Undoes [`Integer::rescale`].
    fn unscale(values: &mut [Self], power: u32);
}

impl Integer for i128 {
    const PRECISION: u8 = 38;

    fn most(precision: u8) -> Self {
        10_i128.checked_pow(precision.into()).map_or(Self::MAX, |power| power - 1)
    }

    // Two kinds of columns call this in their innermost loops.
    #[inline(always)]
    fn quick(raw: &[u8], scale: i32, most: Self) -> Option<Self> {
        let (magnitude, negative) = scaled_short(raw, scale)?;
        let magnitude = (magnitude <= most.unsigned_abs()).then_some(magnitude as Self)?;
        Some(if negative { -magnitude } else { magnitude })
    }

    fn scaled(number: &Finite<'_>, scale: i32, most: Self) -> Result<Self, Misfit> {
        let magnitude = scaled_long(number, scale)?;
        if magnitude > most.unsigned_abs() {
            return Err(Misfit::Width);
        }
        let magnitude = magnitude as Self;
        Ok(if number.negative { -magnitude } else { magnitude })
    }

    fn rescale(values: &mut [Self], power: u32) -> bool {
        let Some(factor) = 10_i128.checked_pow(power) else {
            return values.iter().all(|value| *value == 0);
        };
        let most = Self::most(Self::PRECISION) / factor;
        if values.iter().any(|value| value.abs() > most) {
            return false;
        }
        values.iter_mut().for_each(|value| *value *= factor);
        true
    }

    fn most_digits(values: &[Self]) -> u32 {
        let most = values.iter().map(|value| value.unsigned_abs()).max();
        most.and_then(u128::checked_ilog10).map_or(0, |log| log + 1)
    }

    fn unscale(values: &mut [Self], power: u32) {
        let factor = 10_i128.checked_pow(power).unwrap_or(Self::MAX);
        values.iter_mut().for_each(|value| *value /= factor);
    }
}

impl Integer for i256 {
    const PRECISION: u8 = 76;

    fn most(precision: u8) -> Self {
        let power = Self::from_i128(10).checked_pow(precision.into());
        power.map_or(Self::MAX, |power| power.wrapping_sub(Self::ONE))
    }

    #[inline(always)]
    fn quick(raw: &[u8], scale: i32, most: Self) -> Option<Self> {
        let (magnitude, negative) = scaled_short(raw, scale)?;
        // Below 2^127, see `scaled_short`.
        let magnitude = Self::from_i128(magnitude as i128);
        let magnitude = (magnitude <= most).then_some(magnitude)?;
        Some(if negative { magnitude.wrapping_neg() } else { magnitude })
    }

    fn scaled(number: &Finite<'_>, scale: i32, most: Self) -> Result<Self, Misfit> {
        let magnitude = scaled_wide(number, scale)?;
        if magnitude > most {
            return Err(Misfit::Width);
        }
        Ok(if number.negative { magnitude.wrapping_neg() } else { magnitude })
    }

    fn rescale(values: &mut [Self], power: u32) -> bool {
        let Some(factor) = Self::from_i128(10).checked_pow(power) else {
            return values.iter().all(|value| *value == Self::ZERO);
        };
        let most = Self::most(Self::PRECISION).wrapping_div(factor);
        if values.iter().any(|value| value.wrapping_abs() > most) {
            return false;
        }
        values.iter_mut().for_each(|value| *value = value.wrapping_mul(factor));
        true
    }

    fn most_digits(values: &[Self]) -> u32 {
        let most = values.iter().map(|value| value.wrapping_abs()).max();
        // At most 76 digits.
        most.filter(|most| *most != Self::ZERO).map_or(0, |most| most.to_string().len() as u32)
    }

    fn unscale(values: &mut [Self], power: u32) {
        let factor = Self::from_i128(10).checked_pow(power).unwrap_or(Self::MAX);
        values.iter_mut().for_each(|value| *value = value.wrapping_div(factor));
    }
}

/// A scaled number as `head * 10^power + tail`. The group that the column's scale cuts through is
/// split off beforehand, so that only one group is ever divided.
struct Parts<'a> {
    head: &'a [[u8; 2]],
    power: u32,
    tail: u16,
}

impl<'a> Parts<'a> {
    fn of(number: &Finite<'a>, scale: i32) -> Result<Self, Misfit> {
        let groups = number.groups.iter().map(|group| u16::from_be_bytes(*group));
        if let Some(group) = groups.into_iter().find(|group| *group > GROUP_MOST) {
            return Err(Misfit::Group(group));
        }
        let mut head = number.groups;
        // As in `scaled_short`.
        let mut power = 4 * (i32::from(number.weight) + 1 - head.len() as i32) + scale;
        while power <= -4 {
            match head.split_last() {
                Some((&[0, 0], rest)) => head = rest,
                Some(_) => return Err(Misfit::Scale),
                None => return Ok(Self { head, power: 0, tail: 0 }),
            }
            power += 4;
        }
        if power >= 0 {
            return Ok(Self { head, power: power.unsigned_abs(), tail: 0 });
        }
        let Some((last, head)) = head.split_last() else {
            return Ok(Self { head, power: 0, tail: 0 });
        };
        let last = u16::from_be_bytes(*last);
        let (tail, rest) = match power {
            -1 => (last / 10, last % 10),
            -2 => (last / 100, last % 100),
            _ => (last / 1000, last % 1000),
        };
        if rest != 0 {
            return Err(Misfit::Scale);
        }
        Ok(Self { head, power: (power + 4).unsigned_abs(), tail })
    }
}

/// 10^0 to 10^19: with up to four groups the product stays within 128 bits.
const POWERS_64: [u64; 20] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
    10_000_000_000,
    100_000_000_000,
    1_000_000_000_000,
    10_000_000_000_000,
    100_000_000_000_000,
    1_000_000_000_000_000,
    10_000_000_000_000_000,
    100_000_000_000_000_000,
    1_000_000_000_000_000_000,
    10_000_000_000_000_000_000,
];

/// 10^0 to 10^38, all that fit.
static POWERS_128: LazyLock<[u128; 39]> =
    LazyLock::new(|| std::array::from_fn(|power| 10_u128.pow(power as u32)));

/// 10^0 to 10^76, all that fit.
static POWERS_256: LazyLock<[i256; 77]> =
    LazyLock::new(|| std::array::from_fn(|power| i256::from_i128(10).wrapping_pow(power as u32)));

/// The magnitude of a number of up to four groups, as most have, and whether it is negative. `None`
/// if the value needs the general path. This is one pass over the bytes, in 64-bit arithmetic
/// except for the last product, which is below 10^36.
#[inline(always)]
fn scaled_short(raw: &[u8], scale: i32) -> Option<(u128, bool)> {
    let (&[n0, n1, w0, w1, s0, s1, d0, d1], groups) = raw.split_first_chunk::<8>()?;
    let be = |high: u8, low: u8| u64::from(u16::from_be_bytes([high, low]));
    let (head, last, largest) = match *groups {
        [] => (0, 0, 0),
        [a, b] => (0, be(a, b), 0),
        [a, b, c, d] => (be(a, b), be(c, d), be(a, b)),
        [a, b, c, d, e, f] => (be(a, b) * 10_000 + be(c, d), be(e, f), be(a, b).max(be(c, d))),
        [a, b, c, d, e, f, g, h] => {
            let head = (be(a, b) * 10_000 + be(c, d)) * 10_000 + be(e, f);
            (head, be(g, h), be(a, b).max(be(c, d)).max(be(e, f)))
        }
        _ => return None,
    };
    let count = groups.len() / 2;
    let sign = u16::from_be_bytes([s0, s1]);
    let well_formed = be(n0, n1) == count as u64
        && sign & !NEGATIVE == 0
        && be(d0, d1) <= SCALE_MOST.into()
        && largest.max(last) <= GROUP_MOST.into();
    if !well_formed {
        return None;
    }
    let negative = sign != POSITIVE;
    let weight = i32::from(i16::from_be_bytes([w0, w1]));
    // The power of ten of the last group, in units of the column's last digit.
    let power = 4 * (weight + 1 - count as i32) + scale;
    let (tail, rest) = match power {
        0.. => {
            let factor = *POWERS_64.get(power.unsigned_abs() as usize)?;
            return Some((u128::from(head * 10_000 + last) * u128::from(factor), negative));
        }
        -1 => (last / 10, last % 10),
        -2 => (last / 100, last % 100),
        -3 => (last / 1000, last % 1000),
        _ => return None,
    };
    let factor = *POWERS_64.get((power + 4).unsigned_abs() as usize)?;
    (rest == 0).then(|| (u128::from(head) * u128::from(factor) + u128::from(tail), negative))
}

/// The magnitude of any number that fits into 128 bits.
fn scaled_long(number: &Finite<'_>, scale: i32) -> Result<u128, Misfit> {
    let Parts { head, power, tail } = Parts::of(number, scale)?;
    let sum = head.iter().try_fold(0_u128, |sum, group| {
        sum.checked_mul(10_000)?.checked_add(u16::from_be_bytes(*group).into())
    });
    let scaled = match sum {
        Some(0) => Some(0),
        Some(sum) => POWERS_128.get(power as usize).and_then(|factor| sum.checked_mul(*factor)),
        None => None,
    };
    scaled.and_then(|scaled| scaled.checked_add(tail.into())).ok_or(Misfit::Width)
}

/// The magnitude of any number that fits into 256 bits.
fn scaled_wide(number: &Finite<'_>, scale: i32) -> Result<i256, Misfit> {
    let Parts { head, power, tail } = Parts::of(number, scale)?;
    let mut sum = Some(i256::ZERO);
    for chunk in head.chunks(WIDE_STEP) {
        let digits = chunk
            .iter()
            .fold(0_i128, |sum, group| sum * 10_000 + i128::from(u16::from_be_bytes(*group)));
        let shift = POWERS_256.get(4 * chunk.len()).copied().unwrap_or(i256::ZERO);
        sum = sum
            .and_then(|sum| sum.checked_mul(shift))
            .and_then(|sum| sum.checked_add(i256::from_i128(digits)));
    }
    let scaled = match sum {
        Some(i256::ZERO) => sum,
        Some(sum) => POWERS_256.get(power as usize).and_then(|factor| sum.checked_mul(*factor)),
        None => None,
    };
    let tail = i256::from_i128(tail.into());
    scaled.and_then(|scaled| scaled.checked_add(tail)).ok_or(Misfit::Width)
}

/// The number of groups whose digits fit in 127 bits.
const WIDE_STEP: usize = 9;

/// Checks that each of a number's groups is four digits, and that none are beyond its own scale.
pub(super) fn check(number: &Finite<'_>) -> Result<(), Reason> {
    match Parts::of(number, number.scale.into()) {
        Ok(_) | Err(Misfit::Width) => Ok(()),
        Err(Misfit::Scale) => Err(Reason::NumericHiddenDigits),
        Err(Misfit::Group(group)) => Err(Reason::NumericGroup(group)),
    }
}
