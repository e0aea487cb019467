//! Formats whose rows are text with a line break at the end: the shared part of NDJSON and CSV.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, SchemaRef};

use crate::{Encoder, Ending, check_schema, made, no_batch};

/// How rows are written. A value of it writes one result.
pub trait LineFormat: Send {
    /// Refuses columns for which the format has no place, before the first row.
    fn check(&self, schema: &SchemaRef) -> Result<(), ArrowError>;

    /// The text before the first row.
    fn head(&self, schema: &SchemaRef) -> Vec<u8>;

    /// Appends the rows of a batch, and the end of each to `ends`.
    fn rows(
        &self,
        batch: &RecordBatch,
        text: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<(), ArrowError>;

    /// The text after `rows` rows.
    fn tail(&self, rows: usize) -> Vec<u8>;
}

/// Rows as text, which is shared by the parts into which they are cut.
#[derive(Clone, Debug)]
pub struct Lines {
    text: Buffer,
    /// Where each row ends in the whole text.
    ends: Arc<[usize]>,
    rows: Range<usize>,
}

impl Lines {
    fn new(text: Vec<u8>, ends: Vec<usize>) -> Self {
        let rows = 0..ends.len();
        Self { text: Buffer::from_vec(text), ends: ends.into(), rows }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Some of the rows, counted from the first of these.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        let end = rows.end.min(self.len());
        let start = rows.start.min(end);
        let rows = self.rows.start + start..self.rows.start + end;
        Self { rows, ..self.clone() }
    }

    /// The text of the rows.
    pub fn text(&self) -> &[u8] {
        let place = self.end_of(self.rows.start)..self.end_of(self.rows.end);
        self.text.get(place).unwrap_or_default()
    }

    /// The number of rows, from the first on, that have at most `bytes_most` bytes together.
    pub fn fitting(&self, bytes_most: usize) -> usize {
        let most = self.end_of(self.rows.start).saturating_add(bytes_most);
        let ends = self.ends.get(self.rows.clone()).unwrap_or_default();
        ends.partition_point(|end| *end <= most)
    }

    /// Where the first `rows` rows of the whole text end.
    fn end_of(&self, rows: usize) -> usize {
        let last = rows.checked_sub(1).and_then(|last| self.ends.get(last));
        last.copied().unwrap_or(0)
    }
}

/// Writes the batches of one result as lines.
pub struct LineEncoder {
    format: Box<dyn LineFormat>,
    rows: usize,
    /// `None` before the first batch and after the end.
    table: Option<Table>,
}

struct Table {
    schema: SchemaRef,
    /// The bytes of a row of the last batch, rounded up, from which the next one's are estimated.
    row_bytes: usize,
}

impl LineEncoder {
    /// An encoder of this format.
    pub fn new(format: impl LineFormat + 'static) -> Self {
        Self { format: Box::new(format), rows: 0, table: None }
    }

    /// Checks the columns. Whether the batch is the first one.
    fn begin(&mut self, batch: &RecordBatch) -> Result<bool, ArrowError> {
        if let Some(table) = &self.table {
            check_schema(&table.schema, batch)?;
            return Ok(false);
        }
        self.format.check(batch.schema_ref())?;
        self.table = Some(Table { schema: batch.schema(), row_bytes: 0 });
        Ok(true)
    }

    fn append(
        &mut self,
        batch: &RecordBatch,
        text: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<(), ArrowError> {
        let row_bytes = self.table.as_ref().map_or(0, |table| table.row_bytes);
        text.reserve(row_bytes * batch.num_rows());
        let start = text.len();
        ends.reserve(batch.num_rows());
        self.format.rows(batch, text, ends)?;
        self.rows += batch.num_rows();
        if let Some(table) = &mut self.table {
            table.row_bytes = (text.len() - start).div_ceil(batch.num_rows().max(1));
        }
        Ok(())
    }
}

impl Encoder for LineEncoder {
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Buffer>, ArrowError> {
        let mut text = if self.begin(batch)? { self.head() } else { Vec::new() };
        self.append(batch, &mut text, &mut Vec::new())?;
        Ok(vec![Buffer::from_vec(text)])
    }

    fn finish(&mut self) -> Result<Ending, ArrowError> {
        self.table.take().ok_or_else(no_batch)?;
        Ok(made(vec![Buffer::from_vec(self.format.tail(self.rows))]))
    }

    fn lines(&mut self, batches: &[RecordBatch]) -> Result<Lines, ArrowError> {
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for batch in batches {
            self.begin(batch)?;
            self.append(batch, &mut text, &mut ends)?;
        }
        Ok(Lines::new(text, ends))
    }

    fn head(&self) -> Vec<u8> {
        self.table.as_ref().map(|table| self.format.head(&table.schema)).unwrap_or_default()
    }
}
