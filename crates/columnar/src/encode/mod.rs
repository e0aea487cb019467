//! The way back: Arrow arrays to the cells of PostgreSQL's binary format, for COPY and for array
//! parameters.
//!
//! A cell is a value's length in four bytes (-1 for NULL), followed by the value's bytes. A row of
//! a COPY is the number of columns and a cell for each, so the cells of a column are scattered. A
//! block of rows is therefore written in two passes, each column by column: the first adds up the
//! length of each row and checks the values, the second writes every cell in its place. Only one
//! call per column and block is dynamic; the loops know their types.
//!
//! A cast exists if it cannot lose anything. If that depends on the value (`int64` to `int4`, a
//! whole float to an integer, nanoseconds that are whole microseconds, a decimal without digits
//! beyond the target's scale), each value is checked; nothing is ever rounded. A cast that would
//! have to guess (a timestamp without time zone to `timestamptz`) is refused before the first byte,
//! see [`CastError`]. A float becomes the `numeric` of its shortest digits.

mod array_parameter;
mod bytes;
mod cells;
mod chunks;
mod decimal;
mod error;
mod figures;
mod fixed;
mod float;
mod indexed;
mod integer;
mod miscounted;
mod moment;
mod nested;
mod neutral;
mod pair;
mod plan;
mod rows;
mod text_form;

use std::ops::Range;

pub use array_parameter::{ArrayParameterError, array_parameter};
pub use chunks::{BatchSource, ChunkError, CopyChunks};
pub use error::{CastError, CellError};
pub use miscounted::miscounted_row;
pub use plan::{column_encoder, copied_encoder};
pub use rows::{RowEncoder, TargetColumn};

use crate::error::EncodeError;

/// The treatment of values that only some Arrow producers use for NULL.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EncodeOptions {
    /// Whether a float NaN is NULL.
    pub nan_as_null: bool,
    /// Whether the smallest number of a date, time, timestamp or duration is NULL, as in NumPy
    /// (NaT).
    pub nat_as_null: bool,
}

/// Writes the cells of one Arrow array as values of one PostgreSQL type.
pub trait ColumnEncoder: Send + Sync {
    /// Adds the size of each row's cell to the row's sum, and checks the values. An error names the
    /// first faulty row, counted within `rows`.
    fn measure(
        &mut self,
        rows: Range<usize>,
        sizes: &mut [usize],
    ) -> Result<(), (usize, EncodeError)>;

    /// Writes the cells measured last at the rows' cursors in `out`, and advances the cursors. If
    /// there are fewer cursors than measured rows, they belong to the first rows.
    fn write(&mut self, out: &mut [u8], cursors: &mut [usize]);

    /// Appends one cell, for nested values.
    fn push_cell(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}
#[cfg(test)]
mod nested_tests;
#[cfg(test)]
mod tests;
