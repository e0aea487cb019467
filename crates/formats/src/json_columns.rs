//! A result as one JSON object with an array per column: `{"columns":{"a":[...]},"rows":N}`.
//!
//! A column's values are together, so all of the file is written at the end. It needs no mark of
//! its end: no JSON parser reads a part of an object.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, SchemaRef};

use crate::values::{self, member_name};
use crate::{Encoder, check_schema, no_batch};

/// Encodes JSON columns. The text of all columns is in memory until the end.
#[derive(Default)]
pub struct JsonColumnsEncoder {
    rows: usize,
    /// `None` before the first batch and after the end.
    table: Option<Table>,
}

struct Table {
    schema: SchemaRef,
    /// The values of each column so far, with commas between them.
    texts: Vec<Vec<u8>>,
}

impl Encoder for JsonColumnsEncoder {
    /// Returns nothing: all bytes come at the end.
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Buffer>, ArrowError> {
        let table = match &mut self.table {
            Some(table) => table,
            None => {
                values::check_names(batch.schema_ref())?;
                let texts = vec![Vec::new(); batch.num_columns()];
                self.table.insert(Table { schema: batch.schema(), texts })
            }
        };
        check_schema(&table.schema, batch)?;
        let columns = values::columns(batch)?;
        if batch.num_rows() == 0 {
            return Ok(Vec::new());
        }
        for (column, text) in columns.iter().zip(&mut table.texts) {
            if self.rows > 0 {
                text.push(b',');
            }
            column.json_list(0..batch.num_rows(), text);
        }
        self.rows += batch.num_rows();
        Ok(Vec::new())
    }

    fn finish(&mut self) -> Result<Vec<Buffer>, ArrowError> {
        let table = self.table.take().ok_or_else(no_batch)?;
        let mut buffers = Vec::with_capacity(2 * table.texts.len() + 1);
        let mut before = b"{\"columns\":{".to_vec();
        for (field, text) in table.schema.fields().iter().zip(table.texts) {
            before.extend(member_name(field.name()));
            before.push(b'[');
            buffers.push(Buffer::from_vec(before));
            buffers.push(Buffer::from_vec(text));
            before = b"],".to_vec();
        }
        if before.ends_with(b",") {
            before.pop();
        }
        before.extend(format!("}},\"rows\":{}}}", self.rows).into_bytes());
        buffers.push(Buffer::from_vec(before));
        Ok(buffers)
    }
}
