//! A caller's options for the columns of a result.

mod overrides;

use std::fmt;
use std::str::FromStr;

pub use overrides::{Override, ParseOptionError};

/// The treatment of a value that a column's Arrow type lacks: infinity in dates, timestamps and
/// numerics, NaN in numerics.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Infinity {
    /// Raise an error that names this option.
    #[default]
    Raise,
    /// Return NULL.
    Null,
    /// Return the largest or smallest number of the Arrow type, but not NumPy's NaT. A decimal has
    /// no such number, so there it remains an error.
    Saturate,
}

impl FromStr for Infinity {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "raise" => Ok(Self::Raise),
            "null" => Ok(Self::Null),
            "saturate" => Ok(Self::Saturate),
            _ => Err(ParseOptionError::Infinity { given: text.to_owned() }),
        }
    }
}

/// A `schema` that does not fit its result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SchemaError {
    /// It names a column that the result does not have.
    UnknownColumn {
        /// The name in the schema.
        name: String,
        /// The result's columns.
        existing: Vec<String>,
    },
    /// It asks for an Arrow type that the PostgreSQL type cannot be decoded to.
    Impossible {
        /// The column.
        column: String,
        /// Its PostgreSQL type.
        type_name: String,
        /// The requested Arrow type.
        offered: Override,
        /// The Arrow types that it can be decoded to.
        possible: &'static [&'static str],
        /// Whether a user's codec reads the type, so that only its input is possible.
        has_codec: bool,
    },
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownColumn { name, existing } if existing.is_empty() => {
                write!(f, "schema names column {name:?}, but the result has no columns")
            }
            Self::UnknownColumn { name, existing } => {
                write!(f, "schema names column {name:?}, but the result has ")?;
                for (index, column) in existing.iter().enumerate() {
                    write!(f, "{}{column:?}", if index == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Self::Impossible { column, type_name, offered, possible, has_codec } => {
                write!(
                    f,
                    "schema asks for column {column:?} of type {type_name} as {offered}; possible: "
                )?;
                // Every type can be requested as text.
                let mut texts = vec!["utf8", "large_utf8", "utf8_view"];
                texts.retain(|text| !possible.contains(text));
                f.write_str(&[*possible, texts.as_slice()].concat().join(", "))?;
                if *offered == Override::Float32 && possible.contains(&"float64") {
                    f.write_str(
                        "; \"float32\", Arrow's \"float\", has 32 bits: write \"float64\"",
                    )?;
                }
                if *has_codec {
                    f.write_str(
                        "; this connection has a codec for the type, set by set_type_codec, and \
                         columns hold what the codec reads: reset_type_codec removes it, or use \
                         another connection for columns",
                    )?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for SchemaError {}
