//! The columns of results, as the batch has them.

use arrow_array::ArrayRef;
use arrow_schema::FieldRef;
use colonnade_columnar::{MadeColumn, made_batch};
use colonnade_compute::grouping::Aggregate;
use pyo3::prelude::*;

use crate::batch::Batch;
use crate::errors;

/// A column of the batch.
pub(super) fn of_column(batch: &Batch, index: usize) -> PyResult<MadeColumn> {
    Ok(MadeColumn::of_column(batch.field(index)?, arrow_field(batch, index)))
}

/// An aggregate of a column.
pub(super) fn aggregate(
    batch: &Batch,
    index: usize,
    kind: Aggregate,
    name: &str,
) -> PyResult<MadeColumn> {
    let arrow = arrow_field(batch, index);
    let is_number = matches!(kind, Aggregate::Sum | Aggregate::Mean)
        && arrow.is_some_and(|field| field.data_type().is_numeric());
    if is_number || matches!(kind, Aggregate::Count | Aggregate::Distinct) {
        return Ok(MadeColumn::number(name));
    }
    Ok(MadeColumn::renamed(batch.field(index)?, arrow, name))
}

fn arrow_field(batch: &Batch, index: usize) -> Option<&FieldRef> {
    batch.schema().fields().get(index)
}

/// The columns as a batch with the codecs of `like`.
pub(super) fn batch(
    like: &Batch,
    described: Vec<MadeColumn>,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> PyResult<Batch> {
    let (made, results) = made_batch(described, columns, rows).map_err(errors::runtime)?;
    Ok(Batch::new(made, results, like.shared_codecs()))
}
