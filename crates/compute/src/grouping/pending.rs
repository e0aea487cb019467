//! Batches that wait to be grouped together.

use arrow_array::ArrayRef;

use super::{Finished, GroupError, Partial};

/// Rows are grouped together with the known keys: as long as these are fewer, that costs little.
const PENDING_ROWS_LEAST: usize = 1 << 16;

/// The groups of all batches that were added, and batches that are not among them yet.
pub struct PendingGroups {
    partial: Partial,
    /// The keys of a batch, and a column for each result.
    pending: Vec<(Vec<ArrayRef>, Vec<ArrayRef>)>,
    pending_rows: usize,
}

impl PendingGroups {
    /// No rows yet.
    pub fn new(partial: Partial) -> Self {
        Self { partial, pending: Vec::new(), pending_rows: 0 }
    }

    /// Adds a batch of `rows` rows: its keys, and a column for each result. Returns whether it is
    /// time to [`flush`](Self::flush).
    pub fn add(&mut self, rows: usize, keys: Vec<ArrayRef>, values: Vec<ArrayRef>) -> bool {
        self.pending_rows += rows;
        self.pending.push((keys, values));
        self.pending_rows >= PENDING_ROWS_LEAST.max(self.partial.len())
    }

    /// The number of rows that wait.
    pub fn pending_rows(&self) -> usize {
        self.pending_rows
    }

    /// The number of groups without the rows that wait.
    pub fn groups(&self) -> usize {
        self.partial.len()
    }

    /// Groups the rows that wait. After an error, nothing more can be added.
    ///
    /// # Errors
    /// Those of [`Partial::add`].
    pub fn flush(&mut self) -> Result<(), GroupError> {
        let pending = std::mem::take(&mut self.pending);
        self.pending_rows = 0;
        let Some((keys, values)) = pending.first() else { return Ok(()) };
        let joined = self.partial.concat();
        let whole = |count: usize, columns: &dyn Fn(usize) -> Vec<ArrayRef>| {
            (0..count).map(|index| joined(&columns(index))).collect::<Result<Vec<_>, _>>()
        };
        let keys = whole(keys.len(), &|index| {
            pending.iter().filter_map(|(keys, _)| keys.get(index).cloned()).collect()
        })?;
        let values = whole(values.len(), &|index| {
            pending.iter().filter_map(|(_, values)| values.get(index).cloned()).collect()
        })?;
        self.partial.add(&keys, &values)
    }

    /// The keys and results of all rows that were grouped; None before the first one.
    ///
    /// # Errors
    /// Those of [`Partial::finish`].
    pub fn finished(&self) -> Result<Option<Finished>, GroupError> {
        self.partial.clone().finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Array, Int64Array};
    use arrow_schema::ArrowError;

    use super::*;
    use crate::grouping::{Aggregate, Asked, KeyRule, Nulls, Order};

    fn joined(parts: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
        let values = parts.iter().flat_map(|part| part.as_primitive::<Int64Type>().iter());
        Ok(Arc::new(values.collect::<Int64Array>()))
    }

    fn groups() -> PendingGroups {
        let rule = KeyRule::Plain;
        let asked = vec![Asked { of: Some((Aggregate::Sum, rule)) }, Asked { of: None }];
        let partial = Partial::new(vec![rule], Order::FirstSeen, Nulls::Group, asked, joined);
        PendingGroups::new(partial)
    }

    fn column(values: &[i64]) -> ArrayRef {
        Arc::new(Int64Array::from(values.to_vec()))
    }

    fn add(groups: &mut PendingGroups, keys: &[i64], values: &[i64]) -> bool {
        let of = vec![column(values), column(keys)];
        groups.add(keys.len(), vec![column(keys)], of)
    }

    fn numbers(array: &ArrayRef) -> Vec<i64> {
        array.as_primitive::<Int64Type>().values().to_vec()
    }

    #[test]
    fn batches_are_grouped_together() {
        let mut groups = groups();
        assert!(groups.finished().unwrap().is_none());
        assert!(!add(&mut groups, &[1, 2], &[10, 20]));
        assert!(!add(&mut groups, &[2, 3], &[5, 7]));
        assert_eq!((groups.pending_rows(), groups.groups()), (4, 0));
        groups.flush().unwrap();
        assert_eq!((groups.pending_rows(), groups.groups()), (0, 3));
        assert!(!add(&mut groups, &[3], &[1]));
        groups.flush().unwrap();
        groups.flush().unwrap();
        let (keys, results) = groups.finished().unwrap().unwrap();
        assert_eq!(numbers(&keys[0]), [1, 2, 3]);
        assert_eq!(results[1].len(), 3);
        assert_eq!(numbers(&results[1]), [1, 2, 2]);
    }

    #[test]
    fn many_rows_are_due() {
        let mut groups = groups();
        let rows = vec![1; PENDING_ROWS_LEAST - 1];
        assert!(!add(&mut groups, &rows, &rows));
        assert!(add(&mut groups, &[1], &[1]));
    }
}
