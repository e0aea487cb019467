//! Groups of rows with equal keys, and aggregates of each group.
//!
//! * [`group`] numbers the groups of whole columns, and gives each row the number of its group.
//! * [`aggregate`](fn@aggregate) makes one value per group of a column.
//! * [`Partial`] does both for a stream of batches, [`PendingGroups`] for many batches at a time.
//!
//! Two values are one key if PostgreSQL's `=` says so: NaN equals NaN, 0.0 equals -0.0, an interval
//! of one month equals 30 days. Every kind of key becomes integers or bytes with the same order as
//! the values (`keys.rs`), so that one set of algorithms (`assign.rs`) serves all of them. Several
//! key columns are numbered one by one, and the pairs of their numbers are keys again.

mod aggregate;
mod assign;
mod bytes;
mod canonical;
mod distinct;
mod error;
mod keys;
mod layout;
mod packed;
mod partial;
mod pending;
mod picks;
mod radix;
mod sums;
mod texts;

#[cfg(test)]
mod tests;

use arrow_array::{ArrayRef, UInt32Array};

use self::assign::assign;
use self::keys::Keys;
use crate::selection::taken;

pub use self::aggregate::{Aggregate, aggregate, size};
pub use self::error::GroupError;
pub use self::keys::{KeyColumn, KeyRule};
pub use self::layout::{Layout, layout};
pub use self::partial::{Asked, Concat, Finished, Partial};
pub use self::pending::PendingGroups;

/// The number of a row that belongs to no group.
pub const DROPPED: u32 = u32::MAX;

/// The fate of rows with a NULL key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nulls {
    /// NULL is a key like others, as in SQL.
    Group,
    /// The rows belong to no group.
    Drop,
}

/// The order of the groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// By the first row of each.
    FirstSeen,
    /// By their keys as `ORDER BY` has it, NULL last.
    Sorted,
}

/// The groups of some rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The number of each row's group, or [`DROPPED`].
    pub codes: Vec<u32>,
    /// The first row of each group.
    pub firsts: Vec<u32>,
}

impl Groups {
    /// The number of groups.
    pub fn len(&self) -> usize {
        self.firsts.len()
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// The same groups, each with the number `ranks` has for it.
    fn renumbered(mut self, ranks: &[u32]) -> Self {
        for code in &mut self.codes {
            if let Some(rank) = place(*code).and_then(|place| ranks.get(place)) {
                *code = *rank;
            }
        }
        let mut firsts = vec![0; self.firsts.len()];
        for (first, rank) in self.firsts.iter().zip(ranks) {
            if let Some(slot) = place(*rank).and_then(|place| firsts.get_mut(place)) {
                *slot = *first;
            }
        }
        Self { codes: self.codes, firsts }
    }
}

/// The index in a vector of groups or rows.
fn place(number: u32) -> Option<usize> {
    usize::try_from(number).ok()
}

/// A row or group as a number; there are never more than [`rows_fit`] has allowed.
fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(DROPPED)
}

/// Checks that rows can be numbered.
fn rows_fit(rows: usize) -> Result<(), GroupError> {
    if i32::try_from(rows).is_ok() { Ok(()) } else { Err(GroupError::TooManyRows { rows }) }
}

/// The groups of the rows of one or more key columns of equal length.
///
/// # Errors
/// No column, or more than 2^31 - 1 rows.
pub fn group(columns: &[KeyColumn], order: Order, nulls: Nulls) -> Result<Groups, GroupError> {
    let rows = columns.first().ok_or(GroupError::NoKeys)?.len();
    rows_fit(rows)?;
    match columns {
        [column] => Ok(group_column(column, order, nulls)),
        _ => Ok(packed::group(columns, order, nulls)),
    }
}

fn group_column(column: &KeyColumn, order: Order, nulls: Nulls) -> Groups {
    let valid = column.nulls();
    let groups = match column.keys() {
        Keys::Small(keys) => assign(keys, valid, nulls),
        Keys::Signed(keys) => assign(keys, valid, nulls),
        Keys::Narrow(keys) => assign(keys, valid, nulls),
        Keys::Wide(keys) => assign(keys, valid, nulls),
        Keys::Texts(keys) => assign::texts(keys, valid, nulls),
        Keys::Bytes(keys) => bytes::assign(keys, valid, nulls),
    };
    match order {
        Order::FirstSeen => groups,
        Order::Sorted => sorted(column, groups),
    }
}

/// The groups in the order of their keys, a group of NULL last.
fn sorted(column: &KeyColumn, groups: Groups) -> Groups {
    let nulls = column.nulls();
    let is_null = |row: u32| {
        nulls.zip(place(row)).is_some_and(|(nulls, row)| row < nulls.len() && nulls.is_null(row))
    };
    let order = match column.keys() {
        Keys::Small(keys) => in_order(&groups.firsts, is_null, |row| keys.get(row).copied()),
        Keys::Signed(keys) => in_order(&groups.firsts, is_null, |row| keys.get(row).copied()),
        Keys::Narrow(keys) => in_order(&groups.firsts, is_null, |row| keys.get(row).copied()),
        Keys::Wide(keys) => in_order(&groups.firsts, is_null, |row| keys.get(row).copied()),
        Keys::Texts(keys) => in_order(&groups.firsts, is_null, |row| keys.get(row)),
        Keys::Bytes(keys) => in_order(&groups.firsts, is_null, |row| Some(keys.get(row))),
    };
    let Some(order) = order else { return groups };
    let mut ranks = vec![0; order.len()];
    for (rank, group) in order.into_iter().enumerate() {
        if let Some(slot) = place(group).and_then(|group| ranks.get_mut(group)) {
            *slot = number(rank);
        }
    }
    groups.renumbered(&ranks)
}

/// The groups ordered by (is NULL, key); `None` if they already are.
fn in_order<K: Ord>(
    firsts: &[u32],
    is_null: impl Fn(u32) -> bool,
    key: impl Fn(usize) -> Option<K>,
) -> Option<Vec<u32>> {
    let mut keyed: Vec<(bool, Option<K>, u32)> = firsts
        .iter()
        .enumerate()
        .map(|(group, row)| {
            let null = is_null(*row);
            let key = if null { None } else { place(*row).and_then(&key) };
            (null, key, number(group))
        })
        .collect();
    if keyed.is_sorted() {
        return None;
    }
    keyed.sort_unstable();
    Some(keyed.into_iter().map(|(_, _, group)| group).collect())
}

/// The values of the given rows.
fn rows_of(values: &ArrayRef, rows: Vec<u32>) -> Result<ArrayRef, GroupError> {
    Ok(taken(values, &UInt32Array::from(rows))?)
}

/// The keys of the groups: the values of `column` in the first row of each.
///
/// # Errors
/// Those of Arrow's kernels.
pub fn keys_of(column: &ArrayRef, groups: &Groups) -> Result<ArrayRef, GroupError> {
    rows_of(column, groups.firsts.clone())
}
