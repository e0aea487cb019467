//! A result as CSV: RFC 4180, with CR LF at the end of each line.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, SchemaRef};

use crate::{Encoder, Ending, check_schema, csv_cell, made, no_batch, values};

const LINE_END: &[u8] = b"\r\n";

/// Encodes CSV.
pub struct CsvEncoder {
    has_header: bool,
    /// `None` before the first batch and after the end.
    table: Option<Table>,
}

struct Table {
    schema: SchemaRef,
    row_bytes: usize,
}

impl CsvEncoder {
    /// An encoder of rows alone.
    pub fn new() -> Self {
        Self { has_header: false, table: None }
    }

    /// An encoder of a line with the columns' names, and rows.
    pub fn with_header() -> Self {
        Self { has_header: true, ..Self::new() }
    }
}

impl Default for CsvEncoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder for CsvEncoder {
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Buffer>, ArrowError> {
        let mut header = Vec::new();
        let table = match &mut self.table {
            Some(table) => table,
            None => {
                if self.has_header {
                    write_header(batch, &mut header);
                }
                self.table.insert(Table { schema: batch.schema(), row_bytes: 0 })
            }
        };
        check_schema(&table.schema, batch)?;
        let columns = values::columns(batch)?;
        let mut out = header;
        out.reserve(table.row_bytes * batch.num_rows());
        let start = out.len();
        for row in 0..batch.num_rows() {
            for (place, column) in columns.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                column.csv(row, &mut out);
            }
            out.extend_from_slice(LINE_END);
        }
        table.row_bytes = crate::row_bytes(out.get(start..).unwrap_or_default(), batch);
        Ok(vec![Buffer::from_vec(out)])
    }

    fn finish(&mut self) -> Result<Ending, ArrowError> {
        self.table.take().ok_or_else(no_batch)?;
        Ok(made(Vec::new()))
    }
}

fn write_header(batch: &RecordBatch, out: &mut Vec<u8>) {
    for (place, field) in batch.schema_ref().fields().iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        csv_cell::text(field.name().as_bytes(), out);
    }
    out.extend_from_slice(LINE_END);
}
