//! A result as CSV, in one of two dialects.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use crate::csv_cell::Cells;
use crate::lines::LineFormat;
use crate::values::{self, Numbers};

/// CSV: its cells, and how its lines end.
pub struct Csv {
    has_header: bool,
    line_end: &'static [u8],
    cells: Cells,
}

impl Csv {
    /// RFC 4180: commas, with CR LF at the end of each line. NULL is an empty cell.
    pub fn rfc4180() -> Self {
        Self { has_header: false, line_end: b"\r\n", cells: Cells::default() }
    }

    /// As PostgreSQL's COPY writes it and reads it back: any delimiter, any text for NULL, and LF
    /// at the end of each line.
    pub fn copy(delimiter: u8, null: &str) -> Self {
        let cells = Cells::new(delimiter, null);
        Self { has_header: false, line_end: b"\n", cells }
    }

    /// The same with a line of the columns' names.
    #[must_use]
    pub fn with_header(self) -> Self {
        Self { has_header: true, ..self }
    }
}

impl LineFormat for Csv {
    fn check(&self, _schema: &SchemaRef) -> Result<(), ArrowError> {
        Ok(())
    }

    fn head(&self, schema: &SchemaRef) -> Vec<u8> {
        let mut head = Vec::new();
        if !self.has_header {
            return head;
        }
        for (place, field) in schema.fields().iter().enumerate() {
            if place > 0 {
                head.push(self.cells.delimiter);
            }
            self.cells.text(field.name().as_bytes(), &mut head);
        }
        head.extend_from_slice(self.line_end);
        head
    }

    fn rows(
        &self,
        batch: &RecordBatch,
        text: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<(), ArrowError> {
        // No value of CSV is rounded by its reader: all of them are text.
        let columns = values::columns(batch, Numbers::JavaScript)?;
        for row in 0..batch.num_rows() {
            for (place, column) in columns.iter().enumerate() {
                if place > 0 {
                    text.push(self.cells.delimiter);
                }
                column.csv(row, &self.cells, text);
            }
            text.extend_from_slice(self.line_end);
            ends.push(text.len());
        }
        Ok(())
    }

    fn tail(&self, _rows: usize) -> Vec<u8> {
        Vec::new()
    }
}
