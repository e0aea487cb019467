//! Groups of a stream of batches. Their memory grows with the number of groups; only for
//! [`Aggregate::Distinct`], it grows with the number of different pairs of a group and a value.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, UInt32Array};
use arrow_schema::ArrowError;

use super::sums::Sums;
use super::{Aggregate, GroupError, Groups, KeyColumn, KeyRule, Nulls, Order};
use super::{aggregate, distinct, group, place, rows_of};

/// The rows of all arrays, one after another, as one type.
pub type Concat = fn(&[ArrayRef]) -> Result<ArrayRef, ArrowError>;

/// The keys, and the result of each aggregate.
pub type Finished = (Vec<ArrayRef>, Vec<ArrayRef>);

/// An aggregate of one of the columns that are added; without one, the number of rows.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The aggregate and the rule of its column.
    pub of: Option<(Aggregate, KeyRule)>,
}

/// The groups of the batches so far.
#[derive(Clone)]
pub struct Partial {
    rules: Vec<KeyRule>,
    order: Order,
    nulls: Nulls,
    concat: Concat,
    /// The keys of each group, in order of the groups' first rows.
    keys: Option<Vec<ArrayRef>>,
    running: Vec<(Asked, Running)>,
}

#[derive(Clone)]
enum Running {
    /// Nothing yet: the first batch has the types.
    New,
    Count(Vec<i64>),
    Sums(Sums),
    /// A value per group.
    Picks(ArrayRef),
    /// Each pair of a group and a value once.
    Pairs(Vec<u32>, ArrayRef),
}

impl Partial {
    /// No groups yet; `rules` are those of the key columns.
    pub fn new(
        rules: Vec<KeyRule>,
        order: Order,
        nulls: Nulls,
        asked: Vec<Asked>,
        concat: Concat,
    ) -> Self {
        let running = asked.into_iter().map(|asked| (asked, Running::New)).collect();
        Self { rules, order, nulls, concat, keys: None, running }
    }

    /// The function that joins its arrays.
    pub(super) fn concat(&self) -> Concat {
        self.concat
    }

    /// The number of groups so far.
    pub fn len(&self) -> usize {
        self.keys.as_ref().and_then(|keys| keys.first()).map_or(0, |keys| keys.len())
    }

    /// Whether there is no group yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds rows: the key columns, and the column of each aggregate (any column for the number of
    /// rows). After an error, nothing more can be added.
    ///
    /// # Errors
    /// Columns of other types than before, and those of the aggregates.
    pub fn add(&mut self, keys: &[ArrayRef], values: &[ArrayRef]) -> Result<(), GroupError> {
        let known = self.len();
        let keys = match &self.keys {
            None => keys.to_vec(),
            Some(before) => {
                let both = before.iter().zip(keys);
                both.map(|(before, new)| (self.concat)(&[Arc::clone(before), Arc::clone(new)]))
                    .collect::<Result<Vec<_>, _>>()?
            }
        };
        let columns = keys.iter().zip(&self.rules).map(|(key, rule)| KeyColumn::of(key, *rule));
        // The known groups keep their numbers, because they come first and differ.
        let groups = group(&columns.collect::<Result<Vec<_>, _>>()?, Order::FirstSeen, self.nulls)?;
        for ((asked, running), values) in self.running.iter_mut().zip(values) {
            running.add(*asked, values, &groups, known, self.concat)?;
        }
        let firsts = keys.iter().map(|key| rows_of(key, groups.firsts.clone()));
        self.keys = Some(firsts.collect::<Result<_, _>>()?);
        Ok(())
    }

    /// The keys, and the result of each aggregate; `None` without any batch.
    ///
    /// # Errors
    /// A sum beyond its type.
    pub fn finish(self) -> Result<Option<Finished>, GroupError> {
        let groups = self.len();
        let Some(keys) = self.keys else { return Ok(None) };
        let results = self.running.into_iter().map(|(_, running)| running.finish(groups));
        let results = results.collect::<Result<Vec<_>, _>>()?;
        if self.order == Order::FirstSeen {
            return Ok(Some((keys, results)));
        }
        let columns = keys.iter().zip(&self.rules).map(|(key, rule)| KeyColumn::of(key, *rule));
        let sorted = group(&columns.collect::<Result<Vec<_>, _>>()?, self.order, Nulls::Group)?;
        let rows = UInt32Array::from(sorted.firsts);
        let in_order = |columns: Vec<ArrayRef>| {
            columns
                .iter()
                .map(|column| Ok(crate::selection::taken(column, &rows)?))
                .collect::<Result<Vec<_>, GroupError>>()
        };
        Ok(Some((in_order(keys)?, in_order(results)?)))
    }
}

impl Running {
    /// Adds rows. The first `known` of `groups` are the groups so far.
    fn add(
        &mut self,
        asked: Asked,
        values: &ArrayRef,
        groups: &Groups,
        known: usize,
        concat: Concat,
    ) -> Result<(), GroupError> {
        let codes = groups.codes.get(known..).unwrap_or_default();
        let Some((aggregate, rule)) = asked.of else {
            aggregate::count(self.counts(groups.len()), None, codes);
            return Ok(());
        };
        if !aggregate.takes(values.data_type()) {
            return Err(GroupError::Refused { aggregate });
        }
        match aggregate {
            Aggregate::Count => {
                aggregate::count(self.counts(groups.len()), Some(values), codes);
            }
            Aggregate::Sum | Aggregate::Mean => {
                if let Self::New = self {
                    let sums = Sums::of(values.data_type(), aggregate == Aggregate::Mean);
                    *self = Self::Sums(sums.ok_or(GroupError::Refused { aggregate })?);
                }
                if let Self::Sums(sums) = self {
                    sums.add(values, codes, groups.len())?;
                }
            }
            Aggregate::Distinct => self.add_pairs(values, rule, codes, concat)?,
            _ => {
                let values = match self {
                    Self::Picks(picks) => concat(&[Arc::clone(picks), Arc::clone(values)])?,
                    _ => Arc::clone(values),
                };
                *self = Self::Picks(aggregate::aggregate(aggregate, &values, rule, groups)?);
            }
        }
        Ok(())
    }

    fn counts(&mut self, groups: usize) -> &mut [i64] {
        if let Self::New = self {
            *self = Self::Count(Vec::new());
        }
        match self {
            Self::Count(counts) => {
                counts.resize(groups, 0);
                counts
            }
            _ => &mut [],
        }
    }

    fn add_pairs(
        &mut self,
        values: &ArrayRef,
        rule: KeyRule,
        codes: &[u32],
        concat: Concat,
    ) -> Result<(), GroupError> {
        let (codes, values) = match self {
            Self::Pairs(before, known) => {
                let codes = before.iter().chain(codes).copied().collect();
                (codes, concat(&[Arc::clone(known), Arc::clone(values)])?)
            }
            _ => (codes.to_vec(), Arc::clone(values)),
        };
        let rows = distinct::pairs(&values, rule, &codes)?;
        let kept = rows.iter().filter_map(|row| codes.get(place(*row)?).copied()).collect();
        *self = Self::Pairs(kept, rows_of(&values, rows)?);
        Ok(())
    }

    fn finish(self, groups: usize) -> Result<ArrayRef, GroupError> {
        match self {
            Self::New => Ok(Arc::new(Int64Array::new_null(groups))),
            Self::Count(counts) => Ok(Arc::new(Int64Array::from(counts))),
            Self::Sums(sums) => sums.finish(),
            Self::Picks(values) => Ok(values),
            Self::Pairs(codes, _) => Ok(distinct::counted(codes.into_iter(), groups)),
        }
    }
}
