//! Errors in values, and their messages.
//!
//! A message says what was found, where, and, if an option would have helped, which one.

mod decimal_digits;
mod encode;
mod layout;
mod misfit;
mod reason;

use std::fmt;

use colonnade_protocol::Error as ProtocolError;

pub use decimal_digits::DecimalDigits;
pub use encode::EncodeError;
pub use layout::within;
pub use layout::{LayoutFault, Place};
pub use misfit::Misfit;
use reason::Remedy;
pub use reason::{FixedBy, Reason};

/// A value that cannot be decoded to its column's Arrow type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// Name of the column.
    pub column: String,
    /// Its PostgreSQL type, `oid 12345` for an unknown type.
    pub type_name: String,
    /// Row of the value in the whole result, from 0.
    pub row: u64,
    /// The error in the value.
    pub reason: Reason,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, type_name, row, .. } = self;
        write!(f, "column {column:?} of type {type_name}, row {row}: {}", self.explanation())
    }
}

impl DecodeError {
    /// The reason and, if an option would have helped, which one.
    pub fn explanation(&self) -> impl fmt::Display + '_ {
        Explanation(self)
    }
}

struct Explanation<'a>(&'a DecodeError);

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DecodeError { column, reason, .. } = self.0;
        reason.fmt(f)?;
        match reason.remedy() {
            Remedy::None => Ok(()),
            Remedy::Schema(types) => {
                for (index, arrow_type) in types.iter().enumerate() {
                    let lead = if index == 0 { "; pass" } else { " or" };
                    write!(f, "{lead} schema={{{column:?}: {arrow_type:?}}}")?;
                }
                f.write_str(" to get it")
            }
            Remedy::Infinity => f.write_str(
                "; pass infinity=\"null\" to make it NULL or infinity=\"saturate\" to get the \
                 outermost number of the Arrow type",
            ),
            Remedy::NumericSpecial => write!(
                f,
                "; pass infinity=\"null\" to make it NULL, or schema={{{column:?}: \"float64\"}} \
                 or schema={{{column:?}: \"utf8\"}} to get it"
            ),
        }
    }
}

impl std::error::Error for DecodeError {}

/// A run of rows that could not be appended.
#[derive(Clone, PartialEq, Debug)]
pub enum AppendError {
    /// The rows do not match the columns that the server announced.
    Protocol(ProtocolError),
    /// A value cannot be decoded.
    Decode(DecodeError),
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(error) => error.fmt(f),
            Self::Decode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AppendError {}

impl From<ProtocolError> for AppendError {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

impl From<DecodeError> for AppendError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}
