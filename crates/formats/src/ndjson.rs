//! A result as lines of JSON objects, one for each row.
//!
//! A file of lines that was cut between two of them is still a file of lines. So a complete one can
//! have one more line, `{"end":true,"rows":N}`, which counts the rows before it.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use crate::lines::LineFormat;
use crate::values::{self, Numbers, member_name};

/// NDJSON: how its numbers are written, and whether it has the mark.
pub struct Ndjson {
    numbers: Numbers,
    has_end_mark: bool,
}

impl Ndjson {
    /// Rows alone.
    pub fn new(numbers: Numbers) -> Self {
        Self { numbers, has_end_mark: false }
    }

    /// The same with a line at the end that counts the rows.
    #[must_use]
    pub fn with_end_mark(self) -> Self {
        Self { has_end_mark: true, ..self }
    }
}

impl LineFormat for Ndjson {
    fn check(&self, schema: &SchemaRef) -> Result<(), ArrowError> {
        values::check_names(schema)
    }

    fn head(&self, _schema: &SchemaRef) -> Vec<u8> {
        Vec::new()
    }

    fn rows(
        &self,
        batch: &RecordBatch,
        text: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<(), ArrowError> {
        let before = before_values(batch.schema_ref());
        let columns = values::columns(batch, self.numbers)?;
        for row in 0..batch.num_rows() {
            if columns.is_empty() {
                text.push(b'{');
            }
            for (before, column) in before.iter().zip(&columns) {
                text.extend_from_slice(before);
                column.json(row, text);
            }
            text.extend_from_slice(b"}\n");
            ends.push(text.len());
        }
        Ok(())
    }

    fn tail(&self, rows: usize) -> Vec<u8> {
        if !self.has_end_mark {
            return Vec::new();
        }
        format!("{{\"end\":true,\"rows\":{rows}}}\n").into_bytes()
    }
}

/// The bytes before each column's value: a comma or a brace, and its name.
fn before_values(schema: &SchemaRef) -> Vec<Vec<u8>> {
    let names = schema.fields().iter().map(|field| member_name(field.name()));
    let before = names.enumerate().map(|(place, name)| {
        let mark: &[u8] = if place == 0 { b"{" } else { b"," };
        [mark, &name].concat()
    });
    before.collect()
}
