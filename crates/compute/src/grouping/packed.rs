//! Several key columns as one: the keys of a row side by side in one integer.
//!
//! A key takes as many bits as the range of its column needs, NULL being the value after the
//! greatest. Texts and values with parts are numbered first; so are columns that together exceed
//! 128 bits. The integers have the order of the keys.

use std::borrow::Cow;

use arrow_buffer::NullBuffer;

use super::assign::assign;
use super::keys::Keys;
use super::{DROPPED, Groups, KeyColumn, Nulls, Order, group_column, sorted};

const BITS_MOST: u32 = 128;

/// A column as integers from 0.
struct Part<'a> {
    keys: Cow<'a, [u64]>,
    nulls: Option<&'a NullBuffer>,
    least: u64,
    /// The greatest key without `least`.
    span: u64,
}

/// The groups of several columns.
pub(super) fn group(columns: &[KeyColumn], order: Order, nulls: Nulls) -> Groups {
    let valid = match nulls {
        Nulls::Group => None,
        Nulls::Drop => columns
            .iter()
            .fold(None, |valid, column| NullBuffer::union(valid.as_ref(), column.nulls())),
    };
    let mut parts: Vec<Part<'_>> = Vec::new();
    for column in columns {
        let mut part = Part::of(column, order);
        let total: u32 = parts.iter().map(Part::bits).sum();
        if total + part.bits() > BITS_MOST && part.bits() > u32::BITS {
            part = Part::numbered(column, order);
        }
        if total + part.bits() > BITS_MOST {
            let groups = group_parts(&parts, valid.as_ref(), order);
            parts = vec![Part::of_codes(&groups, None)];
        }
        parts.push(part);
    }
    group_parts(&parts, valid.as_ref(), order)
}

impl<'a> Part<'a> {
    fn of(column: &'a KeyColumn, order: Order) -> Self {
        let Some(keys) = column.keys().narrow() else { return Self::numbered(column, order) };
        let nulls = column.nulls();
        let (least, most) = match nulls {
            None => keys
                .iter()
                .fold((u64::MAX, 0), |(least, most), key| (least.min(*key), most.max(*key))),
            Some(nulls) => {
                let valid = keys.iter().zip(nulls).filter(|(_, valid)| *valid);
                valid.fold((u64::MAX, 0), |(least, most), (key, _)| {
                    (least.min(*key), most.max(*key))
                })
            }
        };
        // No value at all: only NULL.
        let span = most.saturating_sub(least);
        if span >= u64::MAX >> 1 && nulls.is_some() {
            return Self::numbered(column, order);
        }
        Self { keys, nulls, least, span }
    }

    /// The column as the numbers of its own groups.
    fn numbered(column: &'a KeyColumn, order: Order) -> Self {
        let groups = group_column(column, order, Nulls::Drop);
        Self::of_codes(&groups, column.nulls())
    }

    fn of_codes(groups: &Groups, nulls: Option<&'a NullBuffer>) -> Self {
        let keys = groups.codes.iter().map(|code| u64::from(*code)).collect();
        let span = u64::try_from(groups.len().saturating_sub(1)).unwrap_or(u64::from(DROPPED));
        Self { keys: Cow::Owned(keys), nulls, least: 0, span }
    }

    fn most(&self) -> u64 {
        self.span.saturating_add(u64::from(self.nulls.is_some()))
    }

    fn bits(&self) -> u32 {
        u64::BITS - self.most().leading_zeros()
    }

    /// Calls `take` with the key of each row.
    fn each(&self, mut take: impl FnMut(u64)) {
        let least = self.least;
        match self.nulls {
            // Rows that are dropped may hold any number; they are not read again.
            None => self.keys.iter().for_each(|key| take(key.wrapping_sub(least))),
            Some(nulls) => {
                let null = self.most();
                for (key, valid) in self.keys.iter().zip(nulls) {
                    take(if valid { key.wrapping_sub(least) } else { null });
                }
            }
        }
    }
}

fn group_parts(parts: &[Part<'_>], valid: Option<&NullBuffer>, order: Order) -> Groups {
    let rows = parts.first().map_or(0, |part| part.keys.len());
    let bits: u32 = parts.iter().map(Part::bits).sum();
    let keys = if bits <= u64::BITS {
        let mut keys = vec![0_u64; rows];
        for part in parts {
            let (mut slots, bits) = (keys.iter_mut(), part.bits());
            part.each(|key| {
                if let Some(slot) = slots.next() {
                    *slot = slot.checked_shl(bits).unwrap_or(0) | key;
                }
            });
        }
        Keys::Narrow(keys)
    } else {
        let mut keys = vec![0_u128; rows];
        for part in parts {
            let (mut slots, bits) = (keys.iter_mut(), part.bits());
            part.each(|key| {
                if let Some(slot) = slots.next() {
                    *slot = (*slot << bits) | u128::from(key);
                }
            });
        }
        Keys::Wide(keys)
    };
    let groups = match &keys {
        Keys::Narrow(keys) => assign(keys, valid, Nulls::Drop),
        Keys::Wide(keys) => assign(keys, valid, Nulls::Drop),
        _ => Groups::default(),
    };
    match order {
        Order::FirstSeen => groups,
        Order::Sorted => sorted(&KeyColumn::new(keys, None), groups),
    }
}
