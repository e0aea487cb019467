//! The binary format of a decimal given as an integer and a scale, as in Arrow: converted directly
//! to groups of four digits, without text in between.

use std::ops::{Div, Mul, Rem};

use super::wire::{NEGATIVE, POSITIVE};

/// The size of the header before the groups.
const HEAD: usize = 8;

/// A 128-bit integer has 39 digits; up to 3 of them may share a padded group.
const GROUPS_MOST: usize = 11;

/// Powers of ten.
const GROUP: u64 = 10_000;
const FOUR_GROUPS: u64 = GROUP * GROUP * GROUP * GROUP;

/// Appends the binary format of `unscaled` divided by ten to `scale`, with `scale` digits after the
/// point.
pub(crate) fn push(unscaled: i128, scale: u8, out: &mut Vec<u8>) {
    let mut form = [0; HEAD + 2 * GROUPS_MOST];
    let (head, groups) = form.split_at_mut(HEAD);
    let (slots, _) = groups.as_chunks_mut::<2>();
    let filled = fill(unscaled.unsigned_abs(), scale, slots);
    // Trailing zero groups are omitted; there are no leading ones.
    let zeros = slots.iter().rev().take(filled).take_while(|group| **group == [0, 0]).count();
    let count = filled - zeros;
    // At most 11 groups, of which at most 64 are after the point: every word fits.
    let weight = if count == 0 { 0 } else { filled as i16 - fraction_groups(scale) as i16 - 1 };
    let sign = if unscaled < 0 { NEGATIVE } else { POSITIVE };
    let words = [count as u16, weight as u16, sign, scale.into()];
    for (slot, word) in head.as_chunks_mut::<2>().0.iter_mut().zip(words) {
        *slot = word.to_be_bytes();
    }
    out.extend_from_slice(head);
    let first = 2 * (GROUPS_MOST - filled);
    out.extend_from_slice(groups.get(first..first + 2 * count).unwrap_or(&[]));
}

fn fraction_groups(scale: u8) -> u8 {
    scale.div_ceil(4)
}

/// Fills the last slots with the groups of a number, and returns their number.
#[inline]
fn fill(magnitude: u128, scale: u8, slots: &mut [[u8; 2]]) -> usize {
    let mut filled = 0;
    let mut slots = slots.iter_mut().rev();
    let mut put = |group: u64| {
        if let Some(slot) = slots.next() {
            // Below 10,000.
            *slot = (group as u16).to_be_bytes();
            filled += 1;
        }
    };
    if magnitude == 0 {
        return 0;
    }
    let mut rest = match u64::try_from(magnitude) {
        Ok(rest) => {
            let (rest, last) = split_last(rest, scale);
            last.into_iter().for_each(&mut put);
            rest
        }
        Err(_) => {
            let (mut wide, last) = split_last(magnitude, scale);
            last.into_iter().for_each(|group| put(group as u64));
            while wide > u64::MAX.into() {
                let mut four = (wide % u128::from(FOUR_GROUPS)) as u64;
                wide /= u128::from(FOUR_GROUPS);
                for _ in 0..4 {
                    put(four % GROUP);
                    four /= GROUP;
                }
            }
            wide as u64
        }
    };
    while rest > 0 {
        put(rest % GROUP);
        rest /= GROUP;
    }
    filled
}

/// Splits off the digits of the last group if it is not full, and pads it with zeros. The divisors
/// are constants, which is far faster than a general division.
#[inline]
fn split_last<N>(magnitude: N, scale: u8) -> (N, Option<N>)
where
    N: Copy + From<u16> + Div<Output = N> + Rem<Output = N> + Mul<Output = N>,
{
    let split = |unit: u16, filling: u16| {
        let last = (magnitude % N::from(unit)) * N::from(filling);
        (magnitude / N::from(unit), Some(last))
    };
    match scale % 4 {
        0 => (magnitude, None),
        1 => split(10, 1_000),
        2 => split(100, 100),
        _ => split(1_000, 10),
    }
}
