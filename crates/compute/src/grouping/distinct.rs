//! Different values per group: the groups of pairs of a group and a value.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};

use super::aggregate::values_of;
use super::assign::assign;
use super::{GroupError, Groups, KeyRule, Nulls, number, place};
use arrow_buffer::NullBuffer;

/// The number of different values in each group.
pub(super) fn count(
    values: &ArrayRef,
    rule: KeyRule,
    groups: &Groups,
) -> Result<ArrayRef, GroupError> {
    let rows = pairs(values, rule, &groups.codes)?;
    let codes = rows.iter().filter_map(|row| groups.codes.get(place(*row)?).copied());
    Ok(counted(codes, groups.len()))
}

pub(super) fn counted(codes: impl Iterator<Item = u32>, groups: usize) -> ArrayRef {
    let mut counts = vec![0; groups];
    for code in codes {
        if let Some(count) = place(code).and_then(|group| counts.get_mut(group)) {
            *count += 1;
        }
    }
    Arc::new(Int64Array::from(counts))
}

/// The first row of each pair of a group and a value that is not NULL.
pub(super) fn pairs(
    values: &ArrayRef,
    rule: KeyRule,
    codes: &[u32],
) -> Result<Vec<u32>, GroupError> {
    let values = values_of(values, rule)?;
    let width = u64::from(number(values.len())).max(1);
    let in_both = |code: &u32, value: &u32| *code != super::DROPPED && *value != super::DROPPED;
    let both = || codes.iter().zip(&values.codes);
    // Both are below 2^31 where they are read.
    let pair = |(code, value): (&u32, &u32)| {
        u64::from(*code).wrapping_mul(width).wrapping_add(u64::from(*value))
    };
    let pairs: Vec<u64> = both().map(pair).collect();
    let valid: NullBuffer = both().map(|(code, value)| in_both(code, value)).collect();
    Ok(assign(&pairs, Some(&valid), Nulls::Drop).firsts)
}
