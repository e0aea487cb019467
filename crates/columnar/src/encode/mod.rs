//! The way back: Arrow arrays to the cells of PostgreSQL's binary wire, for COPY and for arrays as
//! parameters.
//!
//! A cell is the length of a value in four bytes, -1 for NULL, and the value's bytes. Rows of a
//! COPY are a count of columns and a cell for each, and their columns lie far apart in memory. So
//! a block of rows is written in two passes, each a column at a time: the first adds up how long
//! each row will be and checks the values, the second writes every cell where it belongs. A call
//! per column and block is all that is dynamic; the loops know their types.
//!
//! A cast is made when it cannot lose anything. Where that depends on the value (`int64` to `int4`,
//! a float with a whole value to an integer, nanoseconds that are whole microseconds, a decimal
//! without digits past the target's scale) each value is checked; nothing is ever rounded. Where it
//! could only be guessed (a moment without time zone to `timestamptz`) the cast is refused before
//! the first byte, see [`CastError`]. A float becomes the `numeric` of its shortest digits.

mod array_parameter;
mod bytes;
mod cells;
mod decimal;
mod error;
mod figures;
mod fixed;
mod float;
mod indexed;
mod integer;
mod moment;
mod nested;
mod neutral;
mod pair;
mod plan;
mod rows;
mod text_form;

use std::ops::Range;

pub use array_parameter::{ArrayParameterError, array_parameter};
pub use error::{CastError, CellError};
pub use plan::{column_encoder, copied_encoder};
pub use rows::{RowEncoder, TargetColumn};

use crate::error::EncodeError;

/// What becomes of values that only some of Arrow's producers mean as NULL.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EncodeOptions {
    /// A float's NaN is NULL.
    pub nan_as_null: bool,
    /// The smallest number of a date, time, moment or duration is NULL, as NumPy has it (NaT).
    pub nat_as_null: bool,
}

/// Writes the cells of one Arrow array as values of one PostgreSQL type.
pub trait ColumnEncoder: Send + Sync {
    /// Adds to each row's sum how many bytes its cell takes, and checks the values. An error names
    /// the first row at fault, counted within `rows`.
    fn measure(
        &mut self,
        rows: Range<usize>,
        sizes: &mut [usize],
    ) -> Result<(), (usize, EncodeError)>;

    /// Writes the cells measured last at the rows' cursors in `out`, and moves the cursors on.
    /// Fewer cursors than rows measured are the first of those rows.
    fn write(&mut self, out: &mut [u8], cursors: &mut [usize]);

    /// Appends one cell, for values within values.
    fn push_cell(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}
#[cfg(test)]
mod nested_tests;
#[cfg(test)]
mod tests;
