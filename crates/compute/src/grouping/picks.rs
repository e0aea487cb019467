//! Aggregates that are one of the group's values.

use std::cmp::Ordering;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;

use super::keys::{Keys, key_at};
use super::{DROPPED, GroupError, Groups, KeyColumn, KeyRule, number, place};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pick {
    Least,
    Greatest,
    First,
    Last,
}

/// The row of each group that holds the picked value. In a group of only NULLs it is one of these,
/// so that the result's slot holds what the column has below NULL.
pub(super) fn picks(
    pick: Pick,
    values: &ArrayRef,
    rule: KeyRule,
    groups: &Groups,
) -> Result<Vec<u32>, GroupError> {
    let nulls = values.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    let valid = nulls.as_ref();
    let codes = &groups.codes;
    let mut rows = match pick {
        Pick::First if valid.is_none() => return Ok(groups.firsts.clone()),
        Pick::First => placed(codes, valid, groups.len(), |known, _| known == DROPPED),
        Pick::Last => placed(codes, valid, groups.len(), |_, _| true),
        Pick::Least | Pick::Greatest => {
            let column = KeyColumn::of(values, rule)?;
            let is_less = pick == Pick::Least;
            match column.keys() {
                Keys::Small(keys) => extremes(keys, codes, valid, groups.len(), is_less),
                Keys::Signed(keys) => extremes(keys, codes, valid, groups.len(), is_less),
                Keys::Narrow(keys) => extremes(keys, codes, valid, groups.len(), is_less),
                Keys::Wide(keys) => extremes(keys, codes, valid, groups.len(), is_less),
                Keys::Texts(keys) => {
                    let is_better = better(is_less, |row| keys.get(row));
                    placed(codes, valid, groups.len(), is_better)
                }
                Keys::Bytes(keys) => {
                    let is_better = better(is_less, |row| Some(keys.get(row)));
                    placed(codes, valid, groups.len(), is_better)
                }
            }
        }
    };
    for (row, first) in rows.iter_mut().zip(&groups.firsts) {
        if *row == DROPPED {
            *row = *first;
        }
    }
    Ok(rows)
}

/// Whether a row's key is less, or greater, than that of the row known so far.
fn better<K: Ord>(is_less: bool, key: impl Fn(usize) -> Option<K>) -> impl Fn(u32, u32) -> bool {
    move |known, row| {
        let keys = || place(row).and_then(&key).cmp(&place(known).and_then(&key));
        known == DROPPED || keys() == if is_less { Ordering::Less } else { Ordering::Greater }
    }
}

/// For each group, the row that `is_better` than the one before; [`DROPPED`] stands for none.
fn placed(
    codes: &[u32],
    valid: Option<&NullBuffer>,
    groups: usize,
    is_better: impl Fn(u32, u32) -> bool,
) -> Vec<u32> {
    let mut rows = vec![DROPPED; groups];
    each(codes, valid, |row, code| {
        if let Some(known) = place(code).and_then(|group| rows.get_mut(group))
            && is_better(*known, row)
        {
            *known = row;
        }
    });
    rows
}

/// Calls `take` with each row that has a value, and its group.
fn each(codes: &[u32], valid: Option<&NullBuffer>, mut take: impl FnMut(u32, u32)) {
    match valid {
        None => codes.iter().enumerate().for_each(|(row, code)| take(number(row), *code)),
        Some(valid) => {
            for ((row, code), valid) in codes.iter().enumerate().zip(valid) {
                if valid {
                    take(number(row), *code);
                }
            }
        }
    }
}

/// Like `placed` with the extremes of integers, which are kept beside the rows.
fn extremes<K: Copy + Ord + Default>(
    keys: &[K],
    codes: &[u32],
    valid: Option<&NullBuffer>,
    groups: usize,
    is_less: bool,
) -> Vec<u32> {
    let mut best = vec![(DROPPED, K::default()); groups];
    each(codes, valid, |row, code| {
        let known = place(code).and_then(|group| best.get_mut(group));
        if let Some((known, key)) = known.zip(key_at(keys, row))
            && (known.0 == DROPPED || if is_less { key < known.1 } else { key > known.1 })
        {
            *known = (row, key);
        }
    });
    best.into_iter().map(|(row, _)| row).collect()
}
