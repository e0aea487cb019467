//! A result as lines of JSON objects, one for each row.
//!
//! A file of lines that was cut between two of them is still a file of lines. So a complete one can
//! have one more line, `{"end":true,"rows":N}`, which counts the rows before it.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, SchemaRef};

use crate::values::{self, member_name};
use crate::{Encoder, Ending, check_schema, made, no_batch};

/// Encodes NDJSON.
pub struct NdjsonEncoder {
    has_end_mark: bool,
    rows: usize,
    /// `None` before the first batch and after the end.
    table: Option<Table>,
}

struct Table {
    schema: SchemaRef,
    /// What is before each column's value: a comma or a brace, and its name.
    before: Vec<Vec<u8>>,
    row_bytes: usize,
}

impl NdjsonEncoder {
    /// An encoder of rows alone.
    pub fn new() -> Self {
        Self { has_end_mark: false, rows: 0, table: None }
    }

    /// An encoder of rows and a line at the end that counts them.
    pub fn with_end_mark() -> Self {
        Self { has_end_mark: true, ..Self::new() }
    }
}

impl Default for NdjsonEncoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Table {
    fn new(batch: &RecordBatch) -> Self {
        let names = batch.schema_ref().fields().iter().map(|field| member_name(field.name()));
        let before = names.enumerate().map(|(place, name)| {
            let mark: &[u8] = if place == 0 { b"{" } else { b"," };
            [mark, &name].concat()
        });
        Self { schema: batch.schema(), before: before.collect(), row_bytes: 0 }
    }
}

impl Encoder for NdjsonEncoder {
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Buffer>, ArrowError> {
        let table = match &mut self.table {
            Some(table) => table,
            None => {
                values::check_names(batch.schema_ref())?;
                self.table.insert(Table::new(batch))
            }
        };
        check_schema(&table.schema, batch)?;
        let columns = values::columns(batch)?;
        let mut out = Vec::with_capacity(table.row_bytes * batch.num_rows());
        for row in 0..batch.num_rows() {
            if columns.is_empty() {
                out.push(b'{');
            }
            for (before, column) in table.before.iter().zip(&columns) {
                out.extend_from_slice(before);
                column.json(row, &mut out);
            }
            out.extend_from_slice(b"}\n");
        }
        self.rows += batch.num_rows();
        table.row_bytes = crate::row_bytes(&out, batch);
        Ok(vec![Buffer::from_vec(out)])
    }

    fn finish(&mut self) -> Result<Ending, ArrowError> {
        self.table.take().ok_or_else(no_batch)?;
        if !self.has_end_mark {
            return Ok(made(Vec::new()));
        }
        let mark = format!("{{\"end\":true,\"rows\":{}}}\n", self.rows);
        Ok(made(vec![Buffer::from_vec(mark.into_bytes())]))
    }
}
