//! A result as one JSON object with an array per column: `{"columns":{"a":[...]},"rows":N}`.
//!
//! A column's values are together, so the text begins when the last batch is known. Until then the
//! batches wait as they are, which take less memory than their text; the text is made while it is
//! read. It needs no mark of its end: no JSON parser reads a part of an object.

use std::collections::VecDeque;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, SchemaRef};

use crate::values::{self, Numbers, member_name};
use crate::{Encoder, Ending, check_schema, no_batch};

/// A part has about this many bytes: it stays in the processor's cache until it is copied.
const PART_BYTES: usize = 128 << 10;
/// The most rows that are written at once, and those of a column's first step.
const ROWS_MAX: usize = 8192;
const ROWS_AT_FIRST: usize = 256;

/// Encodes JSON columns. All batches are in memory until the end.
#[derive(Default)]
pub struct JsonColumnsEncoder {
    rows: usize,
    /// `None` before the first batch and after the end.
    table: Option<Table>,
}

struct Table {
    schema: SchemaRef,
    /// The arrays of each column so far, without those of no rows.
    columns: VecDeque<Vec<ArrayRef>>,
}

impl Encoder for JsonColumnsEncoder {
    /// Returns nothing: all bytes come at the end.
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Buffer>, ArrowError> {
        let table = match &mut self.table {
            Some(table) => table,
            None => {
                values::check_names(batch.schema_ref())?;
                let columns = vec![Vec::new(); batch.num_columns()].into();
                self.table.insert(Table { schema: batch.schema(), columns })
            }
        };
        check_schema(&table.schema, batch)?;
        // A column without a text is refused now, and not amid the document.
        values::columns(batch, Numbers::JavaScript)?;
        if batch.num_rows() > 0 {
            for (column, array) in table.columns.iter_mut().zip(batch.columns()) {
                column.push(array.clone());
            }
        }
        self.rows += batch.num_rows();
        Ok(Vec::new())
    }

    fn finish(&mut self) -> Result<Ending, ArrowError> {
        let table = self.table.take().ok_or_else(no_batch)?;
        Ok(Box::new(Document::new(table, self.rows)))
    }
}

/// The text of a table, part by part. A column is dropped when it is written.
struct Document {
    table: Table,
    rows: usize,
    /// The current column, of the schema's; those before it are dropped.
    column: usize,
    /// The next piece of it.
    next: Next,
    /// How many of its rows make about one part.
    step: usize,
    /// The bytes of the last part.
    part_bytes: usize,
}

enum Next {
    Name,
    /// The values from this row of this array.
    Values(usize, usize),
    /// Nothing: the document is complete.
    Nothing,
}

impl Document {
    fn new(table: Table, rows: usize) -> Self {
        Self { table, rows, column: 0, next: Next::Name, step: ROWS_AT_FIRST, part_bytes: 0 }
    }

    /// Appends the next few bytes.
    fn append(&mut self, text: &mut Vec<u8>) -> Result<(), ArrowError> {
        match self.next {
            Next::Name => self.append_name(text),
            Next::Values(place, row) => self.append_values(place, row, text)?,
            Next::Nothing => {}
        }
        Ok(())
    }

    fn append_name(&mut self, text: &mut Vec<u8>) {
        if self.column == 0 {
            text.extend_from_slice(b"{\"columns\":{");
        }
        let Some(field) = self.table.schema.fields().get(self.column) else {
            text.extend(format!("}},\"rows\":{}}}", self.rows).into_bytes());
            self.next = Next::Nothing;
            return;
        };
        if self.column > 0 {
            text.push(b',');
        }
        text.extend(member_name(field.name()));
        text.push(b'[');
        self.next = Next::Values(0, 0);
        self.step = ROWS_AT_FIRST;
    }

    fn append_values(
        &mut self,
        place: usize,
        row: usize,
        text: &mut Vec<u8>,
    ) -> Result<(), ArrowError> {
        let array = self.table.columns.front().and_then(|arrays| arrays.get(place));
        let (Some(array), Some(field)) = (array, self.table.schema.fields().get(self.column))
        else {
            text.push(b']');
            self.table.columns.pop_front();
            self.column += 1;
            self.next = Next::Name;
            return Ok(());
        };
        if (place, row) != (0, 0) {
            text.push(b',');
        }
        let rows = self.step.min(array.len() - row);
        let start = text.len();
        let values = array.slice(row, rows);
        values::column(field, &values, Numbers::JavaScript)?.json_list(0..rows, text);
        let row_bytes = (text.len() - start).div_ceil(rows).max(1);
        self.step = (PART_BYTES / row_bytes).clamp(1, ROWS_MAX);
        let end = row + rows;
        self.next =
            if end < array.len() { Next::Values(place, end) } else { Next::Values(place + 1, 0) };
        Ok(())
    }
}

impl Iterator for Document {
    type Item = Result<Buffer, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut text = Vec::with_capacity(self.part_bytes);
        while text.len() < PART_BYTES && !matches!(self.next, Next::Nothing) {
            if let Err(error) = self.append(&mut text) {
                self.next = Next::Nothing;
                return Some(Err(error));
            }
        }
        self.part_bytes = text.len();
        (!text.is_empty()).then(|| Ok(Buffer::from_vec(text)))
    }
}
