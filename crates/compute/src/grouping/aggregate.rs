//! One value per group of a column.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::{DataType, IntervalUnit};

use super::picks::{Pick, picks};
use super::sums::Sums;
use super::{GroupError, Groups, KeyColumn, KeyRule, Nulls, Order, distinct, group_column};
use super::{place, rows_of};

/// An aggregate of a column. All of them ignore NULL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregate {
    /// The number of values.
    Count,
    /// Their sum; NULL without a value.
    Sum,
    /// Their mean; NULL without a value.
    Mean,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// The value of the first row that has one.
    First,
    /// The value of the last row that has one.
    Last,
    /// The number of different values.
    Distinct,
}

impl Aggregate {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Count,
        Self::Sum,
        Self::Mean,
        Self::Min,
        Self::Max,
        Self::First,
        Self::Last,
        Self::Distinct,
    ];

    /// Its name in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
            Self::First => "first",
            Self::Last => "last",
            Self::Distinct => "nunique",
        }
    }

    /// The aggregate of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|aggregate| aggregate.name() == name)
    }

    /// Whether values of an Arrow type have this aggregate, as far as the Arrow type tells.
    pub fn takes(self, data_type: &DataType) -> bool {
        use DataType::{Decimal128, Decimal256, Duration, Interval};
        let is_number = data_type.is_numeric();
        match self {
            Self::Sum => {
                is_number || matches!(data_type, Duration(_) | Interval(IntervalUnit::MonthDayNano))
            }
            Self::Mean => is_number || matches!(data_type, Decimal128(..) | Decimal256(..)),
            _ => true,
        }
    }

    pub(super) fn pick(self) -> Option<Pick> {
        match self {
            Self::Min => Some(Pick::Least),
            Self::Max => Some(Pick::Greatest),
            Self::First => Some(Pick::First),
            Self::Last => Some(Pick::Last),
            _ => None,
        }
    }
}

/// The aggregate of each group.
///
/// # Errors
/// An aggregate that the type does not have, and a sum beyond its type.
pub fn aggregate(
    aggregate: Aggregate,
    values: &ArrayRef,
    rule: KeyRule,
    groups: &Groups,
) -> Result<ArrayRef, GroupError> {
    if !aggregate.takes(values.data_type()) {
        return Err(GroupError::Refused { aggregate });
    }
    if let Some(pick) = aggregate.pick() {
        return rows_of(values, picks(pick, values, rule, groups)?);
    }
    match aggregate {
        Aggregate::Sum | Aggregate::Mean => {
            let mut sums = Sums::of(values.data_type(), aggregate == Aggregate::Mean)
                .ok_or(GroupError::Refused { aggregate })?;
            sums.add(values, &groups.codes, groups.len())?;
            sums.finish()
        }
        Aggregate::Distinct => distinct::count(values, rule, groups),
        _ => {
            let mut counts = vec![0; groups.len()];
            count(&mut counts, Some(values), &groups.codes);
            Ok(Arc::new(Int64Array::from(counts)))
        }
    }
}

/// The number of rows in each group.
pub fn size(groups: &Groups) -> ArrayRef {
    let mut counts = vec![0; groups.len()];
    count(&mut counts, None, &groups.codes);
    Arc::new(Int64Array::from(counts))
}

/// Adds the number of values, or of rows without `values`, to the count of each group.
pub(super) fn count(counts: &mut [i64], values: Option<&ArrayRef>, codes: &[u32]) {
    let mut add = |code: u32| {
        if let Some(count) = place(code).and_then(|group| counts.get_mut(group)) {
            *count += 1;
        }
    };
    match values.and_then(Array::logical_nulls).filter(|nulls| nulls.null_count() > 0) {
        None => codes.iter().for_each(|code| add(*code)),
        Some(nulls) => {
            for (code, valid) in codes.iter().zip(&nulls) {
                if valid {
                    add(*code);
                }
            }
        }
    }
}

/// The groups of a column's values; NULL belongs to none.
pub(super) fn values_of(values: &ArrayRef, rule: KeyRule) -> Result<Groups, GroupError> {
    let column = KeyColumn::of(values, rule)?;
    Ok(group_column(&column, Order::FirstSeen, Nulls::Drop))
}
