//! From groups of four digits to the integer that a decimal column holds: the value times ten to
//! the column's scale, exactly or not at all.

use arrow_buffer::i256;

use super::wire::Finite;

/// Why a number is not in a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Misfit {
    /// It has nonzero digits beyond the column's scale.
    Scale,
    /// It is beyond the column's precision.
    Width,
}

/// The integers that a decimal column is made of.
pub(super) trait Integer: Copy + Default + Send + Sync + 'static {
    /// Digits that any such integer can have.
    const PRECISION: u8;

    /// The largest integer with this many digits.
    fn most(precision: u8) -> Self;

    /// `number` times ten to `scale`, if that is an integer up to `most` in magnitude.
    fn scaled(number: &Finite<'_>, scale: i32, most: Self) -> Result<Self, Misfit>;

    /// All `values` times ten to `power`; false, and untouched, when one would pass
    /// [`Integer::PRECISION`].
    fn rescale(values: &mut [Self], power: u32) -> bool;
}

impl Integer for i128 {
    const PRECISION: u8 = 38;

    fn most(precision: u8) -> Self {
        10_i128.checked_pow(precision.into()).map_or(Self::MAX, |power| power - 1)
    }

    #[inline]
    fn scaled(number: &Finite<'_>, scale: i32, most: Self) -> Result<Self, Misfit> {
        let Parts { head, power, tail } = Parts::of(number, scale)?;
        let magnitude = match POWERS_64.get(power as usize) {
            // Four groups are below 10^16: neither the sum nor the product can overflow.
            Some(factor) if head.len() <= 4 => {
                u128::from(fold_64(head)) * u128::from(*factor) + u128::from(tail)
            }
            _ => scaled_long(head, power, tail).ok_or(Misfit::Width)?,
        };
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
}

impl Integer for i256 {
    const PRECISION: u8 = 76;

    fn most(precision: u8) -> Self {
        let power = Self::from_i128(10).checked_pow(precision.into());
        power.map_or(Self::MAX, |power| power.wrapping_sub(Self::ONE))
    }

    fn scaled(number: &Finite<'_>, scale: i32, most: Self) -> Result<Self, Misfit> {
        let Parts { head, power, tail } = Parts::of(number, scale)?;
        let magnitude = scaled_wide(head, power, tail).filter(|magnitude| *magnitude <= most);
        let magnitude = magnitude.ok_or(Misfit::Width)?;
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
}

/// A scaled number as `head * 10^power + tail`. The group that the column's scale cuts through is
/// split off beforehand, so that nothing is ever divided but one group.
struct Parts<'a> {
    head: &'a [[u8; 2]],
    power: u32,
    tail: u16,
}

impl<'a> Parts<'a> {
    #[inline]
    fn of(number: &Finite<'a>, scale: i32) -> Result<Self, Misfit> {
        let mut head = number.groups;
        // Ten to this is what the last group counts, in units of the column's last digit.
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

#[inline]
fn fold_64(groups: &[[u8; 2]]) -> u64 {
    groups.iter().fold(0, |sum, group| sum * 10_000 + u64::from(u16::from_be_bytes(*group)))
}

fn scaled_long(head: &[[u8; 2]], power: u32, tail: u16) -> Option<u128> {
    let sum = head.iter().try_fold(0_u128, |sum, group| {
        sum.checked_mul(10_000)?.checked_add(u16::from_be_bytes(*group).into())
    })?;
    if sum == 0 {
        return Some(tail.into());
    }
    sum.checked_mul(10_u128.checked_pow(power)?)?.checked_add(tail.into())
}

fn scaled_wide(head: &[[u8; 2]], power: u32, tail: u16) -> Option<i256> {
    let mut sum = i256::ZERO;
    for chunk in head.chunks(4) {
        let shift = i256::from_i128(10_i128.pow(4 * chunk.len() as u32));
        sum = sum.checked_mul(shift)?.checked_add(i256::from_i128(fold_64(chunk).into()))?;
    }
    if sum == i256::ZERO {
        return Some(i256::from_i128(tail.into()));
    }
    let factor = i256::from_i128(10).checked_pow(power)?;
    sum.checked_mul(factor)?.checked_add(i256::from_i128(tail.into()))
}
