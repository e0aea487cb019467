//! The errors of grouping.

use std::fmt;

use arrow_schema::ArrowError;

use super::Aggregate;

/// Why rows cannot be grouped or aggregated.
#[derive(Debug)]
pub enum GroupError {
    /// There is no key column.
    NoKeys,
    /// The rows cannot be numbered in 31 bits.
    TooManyRows {
        /// Their number.
        rows: usize,
    },
    /// An aggregate that the type does not have.
    Refused {
        /// The aggregate.
        aggregate: Aggregate,
    },
    /// A sum beyond its type.
    Overflow {
        /// The Arrow type of the sum.
        kind: &'static str,
    },
    /// A kernel of Arrow's has failed.
    Arrow(ArrowError),
}

impl From<ArrowError> for GroupError {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

impl fmt::Display for GroupError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKeys => write!(out, "there is no key"),
            Self::TooManyRows { rows } => {
                write!(out, "{rows} rows are too many to group: the most are {}", i32::MAX)
            }
            Self::Refused { aggregate } => write!(out, "the type has no {}", aggregate.name()),
            Self::Overflow { kind } => write!(out, "the sum of a group exceeds {kind}"),
            Self::Arrow(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for GroupError {}
