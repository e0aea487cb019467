//! The rows of a COPY in the binary format, from a record batch.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::plan::copied_encoder;
use super::{CastError, CellError, ColumnEncoder, EncodeOptions};
use crate::error::EncodeError;
use crate::types::Type;

/// Signature, flags, and the length of the (empty) header extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// Takes the place of a row's column count.
const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();

/// The size of a row's column count.
const COUNT_BYTES: usize = 2;

/// Rows per block: enough to amortize the call per column, and few enough for the block to stay in
/// a near cache until its last column is written.
const BLOCK_ROWS_MOST: usize = 1024;

/// The estimate before the first row: if the rows turn out to be long, the first block is measured
/// in full but only the rows that fit are written.
const ROW_BYTES_AT_FIRST: usize = 1024;

/// A target column of a COPY.
#[derive(Clone, Debug)]
pub struct TargetColumn {
    /// The index of its source column in the batch.
    pub source: usize,
    /// Its name in the table.
    pub name: String,
    /// Its type.
    pub pg_type: Arc<Type>,
    /// Its type modifier, -1 for none.
    pub type_modifier: i32,
}

/// Writes the rows of one record batch.
pub struct RowEncoder {
    columns: Vec<Column>,
    /// Rows of the batch.
    rows: usize,
    /// The first row not yet written.
    next_row: usize,
    /// Rows in the previous batches.
    rows_before: u64,
    /// Bytes per row, from the rows written last.
    row_bytes: usize,
    /// Scratch of a block: bytes of each row.
    sizes: Vec<usize>,
    /// Scratch of a block: the position of each row's next cell.
    cursors: Vec<usize>,
}

struct Column {
    name: String,
    type_name: String,
    arrow_type: String,
    encoder: Box<dyn ColumnEncoder>,
}

impl RowEncoder {
    /// Encoders for the columns of a table, in the COPY's order. `rows_before` is the number of
    /// rows in the previous batches, for errors.
    ///
    /// # Errors
    /// There is no cast, or the batch lacks the column.
    pub fn new(
        targets: &[TargetColumn],
        batch: &RecordBatch,
        options: &EncodeOptions,
        rows_before: u64,
    ) -> Result<Self, CastError> {
        let column = |target: &TargetColumn| {
            let Some(array) = batch.columns().get(target.source) else {
                return Err(CastError {
                    column: target.name.clone(),
                    arrow_type: "nothing".to_owned(),
                    type_name: target.pg_type.name.clone(),
                    advice: format!("the source has no column {}", target.source),
                });
            };
            let encoder = copied_encoder(&target.pg_type, target.type_modifier, array, options)
                .map_err(|error| error.in_column(&target.name))?;
            Ok(Column {
                name: target.name.clone(),
                type_name: target.pg_type.name.clone(),
                arrow_type: array.data_type().to_string(),
                encoder,
            })
        };
        Ok(Self {
            columns: targets.iter().map(column).collect::<Result<_, _>>()?,
            rows: batch.num_rows(),
            next_row: 0,
            rows_before,
            row_bytes: ROW_BYTES_AT_FIRST,
            sizes: Vec::new(),
            cursors: Vec::new(),
        })
    }

    /// Appends the header of a COPY.
    pub fn header(out: &mut Vec<u8>) {
        out.extend_from_slice(HEADER);
    }

    /// Appends the trailer of a COPY.
    pub fn trailer(out: &mut Vec<u8>) {
        out.extend_from_slice(&TRAILER);
    }

    /// The number of rows written.
    pub fn rows_done(&self) -> usize {
        self.next_row
    }

    /// Appends rows until they take `limit_bytes` bytes, but at least one, and returns whether
    /// there are more.
    ///
    /// # Errors
    /// A type cannot hold a value: the first faulty row is reported, and in it the first faulty
    /// column. The rows before its block have been written.
    pub fn append(
        &mut self,
        out: &mut Vec<u8>,
        limit_bytes: usize,
    ) -> Result<bool, Box<CellError>> {
        let start = out.len();
        let mut limit = limit_bytes.max(1);
        while self.next_row < self.rows && limit > 0 {
            let block_rows = (limit / self.row_bytes).clamp(1, BLOCK_ROWS_MOST);
            self.measure(self.next_row..self.rows.min(self.next_row + block_rows))?;
            self.write_up_to(limit, out);
            limit = limit_bytes.saturating_sub(out.len() - start);
        }
        Ok(self.next_row < self.rows)
    }

    fn measure(&mut self, rows: Range<usize>) -> Result<(), Box<CellError>> {
        self.sizes.clear();
        self.sizes.resize(rows.len(), COUNT_BYTES);
        let mut first: Option<(usize, CellError)> = None;
        for column in &mut self.columns {
            let Err((place, reason)) = column.encoder.measure(rows.clone(), &mut self.sizes) else {
                continue;
            };
            if first.as_ref().is_none_or(|(earliest, _)| place < *earliest) {
                let row = self.rows_before + (rows.start + place) as u64;
                first = Some((place, column.error(row, reason)));
            }
        }
        first.map_or(Ok(()), |(_, error)| Err(Box::new(error)))
    }

    /// Writes the rows measured last, up to `limit` bytes but at least one row.
    fn write_up_to(&mut self, limit: usize, out: &mut Vec<u8>) {
        let start = out.len();
        let mut end = start;
        self.cursors.clear();
        for size in &self.sizes {
            if end + size - start > limit && end > start {
                break;
            }
            self.cursors.push(end);
            end += size;
        }
        let written = self.cursors.len();
        self.row_bytes = ((end - start) / written.max(1)).max(1);
        out.resize(end, 0);
        // At most 1664 columns, PostgreSQL's limit; the server refuses more.
        let count = (self.columns.len() as u16).to_be_bytes();
        for cursor in &mut self.cursors {
            if let Some(slot) = out.get_mut(*cursor..*cursor + COUNT_BYTES) {
                slot.copy_from_slice(&count);
            }
            *cursor += COUNT_BYTES;
        }
        for column in &mut self.columns {
            column.encoder.write(out, &mut self.cursors);
        }
        self.next_row += written;
    }
}

impl Column {
    fn error(&self, row: u64, reason: EncodeError) -> CellError {
        CellError {
            column: self.name.clone(),
            row,
            arrow_type: self.arrow_type.clone(),
            type_name: self.type_name.clone(),
            reason,
        }
    }
}
