//! Rows of a table in chunks, chosen by a mask or by their positions.
//!
//! The chunks of a table are record batches with one schema; there is at least one.

mod gather;
mod positions;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::ArrowError;
use arrow_select::filter::{FilterBuilder, FilterPredicate};

use gather::gathered;
pub(crate) use gather::taken;
pub use positions::{PositionError, row_at, rows_at, rows_at_array};

/// The rows where the mask is true; NULL is not. The mask has a value for each row.
///
/// A chunk is shared if all its rows are chosen. Chunks without a chosen row are left out, except
/// the first one if all are.
///
/// # Errors
/// A mask of another length, and columns past Arrow's offsets.
pub fn filter(chunks: &[RecordBatch], mask: &BooleanArray) -> Result<Vec<RecordBatch>, ArrowError> {
    let rows: usize = chunks.iter().map(RecordBatch::num_rows).sum();
    if rows != mask.len() {
        let text = format!("a mask of {} values for {rows} rows", mask.len());
        return Err(ArrowError::InvalidArgumentError(text));
    }
    let mut chosen = Vec::with_capacity(chunks.len());
    let mut first = 0;
    for chunk in chunks {
        let part = filtered(chunk, &mask.slice(first, chunk.num_rows()))?;
        first += chunk.num_rows();
        chosen.extend((part.num_rows() > 0).then_some(part));
    }
    if chosen.is_empty() {
        chosen.extend(chunks.first().map(|chunk| chunk.slice(0, 0)));
    }
    Ok(chosen)
}

fn filtered(chunk: &RecordBatch, mask: &BooleanArray) -> Result<RecordBatch, ArrowError> {
    let chosen = mask.true_count();
    if chosen == chunk.num_rows() {
        return Ok(chunk.clone());
    }
    if chosen == 0 {
        return Ok(chunk.slice(0, 0));
    }
    let mut predicate = FilterBuilder::new(mask);
    if chunk.num_columns() > 1 {
        predicate = predicate.optimize();
    }
    let predicate: FilterPredicate = predicate.build();
    let columns = chunk.columns().iter().map(|column| predicate.filter(column)).collect();
    with_columns(chunk, columns, chosen)
}

/// The rows at these positions, in this order; a position may occur several times.
///
/// # Errors
/// A position past the last row, and columns past Arrow's offsets.
pub fn take(chunks: &[RecordBatch], positions: &[u64]) -> Result<RecordBatch, ArrowError> {
    let [first, ..] = chunks else {
        return Err(ArrowError::InvalidArgumentError("there is no chunk".to_owned()));
    };
    if let [only] = chunks {
        let rows = only.num_rows();
        if let Some(past) = positions.iter().find(|position| !is_below(**position, rows)) {
            return Err(past_the_end(*past, rows));
        }
        let indices = UInt64Array::from(positions.to_vec());
        let taken = only.columns().iter().map(|column| taken(column, &indices));
        return with_columns(only, taken.collect(), positions.len());
    }
    let places = places(chunks, positions)?;
    let columns = (0..first.num_columns()).map(|index| {
        let parts: Option<Vec<&ArrayRef>> =
            chunks.iter().map(|chunk| chunk.columns().get(index)).collect();
        let parts = parts.ok_or_else(|| {
            ArrowError::InvalidArgumentError("the chunks have other columns".to_owned())
        })?;
        gathered(&parts, &places)
    });
    with_columns(first, columns.collect(), positions.len())
}

/// The chunk and the row within it of each position.
fn places(chunks: &[RecordBatch], positions: &[u64]) -> Result<Vec<(usize, usize)>, ArrowError> {
    let mut starts = Vec::with_capacity(chunks.len());
    let mut rows = 0;
    for chunk in chunks {
        starts.push(rows);
        rows += chunk.num_rows();
    }
    let mut places = Vec::with_capacity(positions.len());
    for &position in positions {
        let row = usize::try_from(position).ok().filter(|row| *row < rows);
        let row = row.ok_or_else(|| past_the_end(position, rows))?;
        // The last chunk that starts at or before the row: chunks without rows start there, too.
        let chunk = starts.partition_point(|start| *start <= row) - 1;
        places.push((chunk, row - starts.get(chunk).copied().unwrap_or_default()));
    }
    Ok(places)
}

fn is_below(position: u64, rows: usize) -> bool {
    usize::try_from(position).is_ok_and(|position| position < rows)
}

fn past_the_end(position: u64, rows: usize) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("there is no row {position}: there are {rows}"))
}

fn with_columns(
    like: &RecordBatch,
    columns: Result<Vec<ArrayRef>, ArrowError>,
    rows: usize,
) -> Result<RecordBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(like.schema(), columns?, &options)
}

#[cfg(test)]
mod tests;
