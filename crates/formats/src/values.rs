//! The values of an array as text: in JSON, and as cells of CSV.

mod choice;
mod nested;
mod scalar;

use std::ops::Range;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, Field, Schema};

pub use choice::NUMERALS;
pub(crate) use nested::member_name;

use crate::csv_cell::Cells;

/// How JSON has the numbers that a reader's double may round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbers {
    /// As numbers with all digits, as PostgreSQL writes and reads them.
    Exact,
    /// As strings, because JavaScript would round them unnoticed.
    JavaScript,
}

impl Numbers {
    /// That of a name: "exact" or "javascript".
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "exact" => Some(Self::Exact),
            "javascript" => Some(Self::JavaScript),
            _ => None,
        }
    }
}

/// The values of one array. No method is called for the row of a NULL.
trait Values {
    /// Appends a value in JSON.
    fn json(&self, row: usize, out: &mut Vec<u8>);

    /// Appends a value as a cell of CSV: its text in JSON, but a string without its quotes. The
    /// strings that come here have nothing that JSON escapes or CSV usually quotes.
    fn csv(&self, row: usize, cells: &Cells, out: &mut Vec<u8>) {
        let start = out.len();
        self.json(row, out);
        if out.get(start) == Some(&b'"') && out.len() > start + 2 {
            out.pop();
            out.remove(start);
        }
        cells.enclose_word(start, out);
    }

    /// Appends several values in JSON, with commas between them. It is a method of each
    /// implementation so that the loop calls `json` directly.
    fn json_list(&self, nulls: Option<&NullBuffer>, rows: Range<usize>, out: &mut Vec<u8>) {
        let first = rows.start;
        let Some(nulls) = nulls else {
            for row in rows {
                if row != first {
                    out.push(b',');
                }
                self.json(row, out);
            }
            return;
        };
        for row in rows {
            if row != first {
                out.push(b',');
            }
            if nulls.is_null(row) {
                out.extend_from_slice(b"null");
            } else {
                self.json(row, out);
            }
        }
    }
}

/// The values of one array, with its NULLs.
pub(crate) struct Column<'a> {
    nulls: Option<NullBuffer>,
    values: Box<dyn Values + 'a>,
}

impl<'a> Column<'a> {
    /// The array of this field. Text and bytes of a JSON or UUID type are known by the field.
    fn new(field: &Field, array: &'a dyn Array, numbers: Numbers) -> Result<Self, Refusal> {
        let values = choice::values(field, array, numbers)?;
        // Logical NULLs: those of a dictionary's values, and a run's, too.
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(Self { nulls, values })
    }

    /// Appends one value in JSON.
    pub(crate) fn json(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            out.extend_from_slice(b"null");
        } else {
            self.values.json(row, out);
        }
    }

    /// Appends these values in JSON, with commas between them.
    pub(crate) fn json_list(&self, rows: Range<usize>, out: &mut Vec<u8>) {
        self.values.json_list(self.nulls.as_ref(), rows, out);
    }

    /// Appends one cell of CSV.
    pub(crate) fn csv(&self, row: usize, cells: &Cells, out: &mut Vec<u8>) {
        if self.is_null(row) {
            cells.null(out);
        } else {
            self.values.csv(row, cells, out);
        }
    }

    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
}

/// Why a column has no text: a clause about it, such as "has the type ...".
struct Refusal(String);

/// The columns of a batch. An error names the column that has no text.
pub(crate) fn columns(
    batch: &RecordBatch,
    numbers: Numbers,
) -> Result<Vec<Column<'_>>, ArrowError> {
    let fields = batch.schema_ref().fields().iter();
    fields.zip(batch.columns()).map(|(field, array)| column(field, array, numbers)).collect()
}

/// One of them.
pub(crate) fn column<'a>(
    field: &Field,
    array: &'a dyn Array,
    numbers: Numbers,
) -> Result<Column<'a>, ArrowError> {
    Column::new(field, array, numbers).map_err(|Refusal(clause)| {
        let name = field.name();
        ArrowError::InvalidArgumentError(format!("column {name:?} {clause}"))
    })
}

/// Refuses columns that share a name: an object has one member of each name.
pub(crate) fn check_names(schema: &Schema) -> Result<(), ArrowError> {
    let repeated = nested::repeated_names(schema.fields());
    if repeated.is_empty() {
        return Ok(());
    }
    Err(ArrowError::InvalidArgumentError(format!(
        "several columns have the name {}: a JSON object has one member of each name, so give \
         them names of their own by AS",
        repeated.join(", ")
    )))
}
