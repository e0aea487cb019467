//! Errors in a column or one of its values on the way to the server.

use std::fmt;

use crate::error::EncodeError;

/// A cast that is refused for any value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CastError {
    /// Name of the column; empty if there is none.
    pub column: String,
    /// The Arrow type.
    pub arrow_type: String,
    /// The PostgreSQL type.
    pub type_name: String,
    /// The reason, and what to do about it.
    pub advice: String,
}

impl CastError {
    /// The same error with the name of its column.
    pub(super) fn in_column(mut self, name: &str) -> Self {
        self.column = name.to_owned();
        self
    }
}

impl fmt::Display for CastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, arrow_type, type_name, advice } = self;
        if !column.is_empty() {
            write!(f, "column {column:?}: ")?;
        }
        write!(f, "Arrow's {arrow_type} is not written to {type_name}: {advice}")
    }
}

impl std::error::Error for CastError {}

/// A value that cannot be written to its column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CellError {
    /// Name of the column.
    pub column: String,
    /// Row of the value in all batches together, from 0.
    pub row: u64,
    /// The Arrow type of the column's values.
    pub arrow_type: String,
    /// The PostgreSQL type of the column.
    pub type_name: String,
    /// The error in the value.
    pub reason: EncodeError,
}

impl fmt::Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, row, arrow_type, type_name, reason } = self;
        write!(f, "column {column:?}, row {row}, from {arrow_type} to {type_name}: {reason}")
    }
}

impl std::error::Error for CellError {}
