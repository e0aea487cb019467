//! The rows group by group.

use super::{Groups, place};

/// Where the rows of each group are.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    /// The rows of the first group, then those of the second one, each in their own order; `None`
    /// if the rows are in this order already.
    pub order: Option<Vec<u64>>,
    /// The place in `order` where each group begins, and the end of the last one.
    pub offsets: Vec<i64>,
}

/// The rows of each group.
pub fn layout(groups: &Groups) -> Layout {
    let mut offsets = vec![0_i64; groups.len() + 1];
    let mut is_in_order = true;
    let mut last = 0;
    for code in &groups.codes {
        is_in_order &= *code >= last;
        last = *code;
        if let Some(count) = place(*code).and_then(|group| offsets.get_mut(group + 1)) {
            *count += 1;
        }
    }
    let mut total = 0;
    for offset in &mut offsets {
        total += *offset;
        *offset = total;
    }
    // Rows without a group are last in order, if any: they need no move.
    if is_in_order {
        return Layout { order: None, offsets };
    }
    let mut next = offsets.clone();
    let mut order = vec![0_u64; usize::try_from(total).unwrap_or_default()];
    for (row, code) in (0_u64..).zip(&groups.codes) {
        if let Some(place) = place(*code).and_then(|group| next.get_mut(group))
            // The slot after the last group is for its end.
            && let Some(slot) = usize::try_from(*place).ok().and_then(|at| order.get_mut(at))
            && *code != super::DROPPED
        {
            *slot = row;
            *place += 1;
        }
    }
    Layout { order: Some(order), offsets }
}
