//! Values that do not fit the type that a schema requests.

use std::fmt;

use super::decimal_digits::DecimalDigits;
use super::reason::{Remedy, schema};

/// A value that the PostgreSQL type allows and the requested type does not.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Misfit {
    /// A timestamp or time with a fraction that the unit cannot express.
    TooFine {
        /// The requested Arrow type.
        asked: &'static str,
        /// A type that holds the value.
        instead: &'static str,
    },
    /// A timestamp too far from 1970 for 64 bits of the unit.
    OutOfReach {
        /// The requested Arrow type.
        asked: &'static str,
        /// A type that holds the value.
        instead: &'static str,
    },
    /// A negative integer for an unsigned type.
    Negative {
        /// The value.
        value: i64,
        /// The requested Arrow type.
        asked: &'static str,
        /// A type that holds the value.
        instead: &'static str,
    },
    /// A numeric with digits after the point for an integer type; these are its digits.
    NotWhole(DecimalDigits),
    /// A whole numeric outside 64 bits.
    NotInt64,
    /// A text with more characters than its cell.
    TooManyCharacters {
        /// Characters of the value.
        length: usize,
        /// Characters of the cell.
        capacity: usize,
    },
    /// A value with more bytes than its cell.
    TooManyBytes {
        /// Bytes of the value.
        length: usize,
        /// Bytes of the cell.
        capacity: usize,
    },
    /// A text with a character beyond ASCII, in a cell of bytes.
    NotAscii {
        /// The first such character.
        character: char,
        /// Characters of the whole text.
        length: usize,
    },
    /// Text with a NUL, which PostgreSQL does not allow and which would end its cell.
    NulInText,
    /// Bytes that end with zeros, which NumPy would drop.
    ZeroAtEnd,
    /// A batch with 2 GiB of distinct texts in one dictionary.
    DictionaryOverflow,
}

impl Misfit {
    pub(super) fn remedy(&self) -> Remedy {
        match self {
            Self::TooFine { instead, .. }
            | Self::OutOfReach { instead, .. }
            | Self::Negative { instead, .. } => schema(&[instead]),
            Self::NotWhole(needed) => Remedy::Schema(needed.choices()),
            Self::NotInt64 => schema(&["decimal128(38, 0)", "float64"]),
            Self::TooManyCharacters { length, .. } => schema(&[&format!("U{length}")]),
            Self::TooManyBytes { length, .. } => schema(&[&format!("S{length}")]),
            Self::NotAscii { length, .. } => schema(&[&format!("U{length}")]),
            Self::ZeroAtEnd => schema(&["binary"]),
            Self::NulInText | Self::DictionaryOverflow => schema(&["utf8"]),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFine { asked, .. } => {
                write!(f, "the value has a fraction that {asked} cannot hold")
            }
            Self::OutOfReach { asked, .. } => {
                write!(f, "the value is further from 1970 than {asked} reaches")
            }
            Self::Negative { value, asked, .. } => {
                write!(f, "{value} is negative, and {asked} has no sign")
            }
            Self::NotWhole(_) => {
                f.write_str("the value has digits after the point, int64 has none")
            }
            Self::NotInt64 => f.write_str("the value is out of range for an int64"),
            Self::TooManyCharacters { length, capacity } => {
                write!(f, "the text has {length} characters, a cell of U{capacity} has {capacity}")
            }
            Self::TooManyBytes { length, capacity } => {
                write!(f, "the value has {length} bytes, a cell of S{capacity} has {capacity}")
            }
            Self::NotAscii { character, .. } => write!(
                f,
                "the text has the character {character:?}, and cells of bytes take only ASCII"
            ),
            Self::NulInText => f.write_str("the text has a NUL, which would end its cell"),
            Self::ZeroAtEnd => f.write_str(
                "the value ends in zero bytes, which NumPy's S drops: they would be lost",
            ),
            Self::DictionaryOverflow => f.write_str(
                "a batch has 2 GiB of different texts in the column, more than a dictionary holds",
            ),
        }
    }
}
