//! What can be wrong with a value, and how it is told.
//!
//! A message says what was found, where, and, when an option would have helped, which one.

use std::fmt;

use colonnade_protocol::Error as ProtocolError;

use crate::value::Sign;

/// A value that cannot be decoded to its column's Arrow type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// Name of the column.
    pub column: String,
    /// Its PostgreSQL type, `oid 12345` when the type is not known.
    pub type_name: String,
    /// Row of the value in the whole result, from 0.
    pub row: u64,
    /// What is wrong with the value.
    pub reason: Reason,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, type_name, row, .. } = self;
        write!(f, "column {column:?} of type {type_name}, row {row}: {}", self.explanation())
    }
}

impl DecodeError {
    /// What is wrong and, when an option would have helped, which one.
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

/// What is wrong with a value. The names of column and type are added by [`DecodeError`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The type has a fixed width, and the value another.
    WrongLength {
        /// The type's width in bytes.
        expected: usize,
        /// The value's.
        actual: usize,
    },
    /// The value ends before its fixed part does.
    TooShort {
        /// Bytes of the fixed part.
        least: usize,
        /// The value's.
        actual: usize,
    },
    /// A boolean that is neither 0 nor 1.
    NotBool(u8),
    /// Text that is not UTF-8 from this byte of the value on.
    NotUtf8 {
        /// Bytes before it that are.
        valid_up_to: usize,
    },
    /// A `jsonb` in another version than 1.
    JsonbVersion(u8),
    /// A date, in days since 2000-01-01, that PostgreSQL cannot have.
    DateOutOfRange(i32),
    /// A timestamp, in microseconds since 2000-01-01, that PostgreSQL cannot have, or that does not
    /// fit into 64 bits when counted from 1970.
    TimestampOutOfRange(i64),
    /// A time of day, in microseconds, outside 00:00:00 to 24:00:00.
    TimeOutOfRange(i64),
    /// The time 24:00:00, which Arrow's time of day does not have.
    EndOfDay,
    /// An infinite date or timestamp, under [`Infinity::Raise`](crate::Infinity::Raise).
    Infinite(Sign),
    /// An integer that a float64 cannot hold exactly.
    NotExactInFloat(i64),
    /// A `numeric` whose length does not agree with its number of digits.
    NumericLength {
        /// Groups of four decimal digits that it announces.
        groups: u16,
        /// Its length in bytes.
        actual: usize,
    },
    /// A `numeric` with a group of four decimal digits that is more than 9999.
    NumericGroup(u16),
    /// A `numeric` with a sign word that does not exist.
    NumericSign(u16),
    /// A `numeric` with more digits after the point than can exist.
    NumericScaleWord(u16),
    /// A `numeric` with nonzero digits beyond its own scale.
    NumericHiddenDigits,
    /// A `numeric` NaN, where the Arrow type has none.
    NumericNan,
    /// A `numeric` infinity, where the Arrow type has none.
    NumericInfinite(Sign),
    /// A `numeric` with more digits after the point than its column has.
    NumericScale {
        /// Digits after the point in the column.
        column_scale: i32,
        /// What fixed that number.
        fixed_by: FixedBy,
    },
    /// A `numeric` with more digits than its column has.
    NumericPrecision {
        /// Digits of the column in all.
        precision: u8,
        /// Digits after the point.
        column_scale: i32,
        /// What fixed those numbers.
        fixed_by: FixedBy,
    },
    /// A `numeric` that not even a decimal256 with 76 digits can hold beside the others.
    NumericTooWide {
        /// Digits after the point that the column needs.
        column_scale: i32,
    },
    /// A `numeric` that is finite, but infinite as a float64.
    NumericFloatOverflow,
    /// A batch with 2 GiB of text or bytes, after a first batch whose type has 32-bit offsets.
    OffsetOverflow,
}

/// What fixed precision and scale of a decimal column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FixedBy {
    /// The column's declaration, such as `numeric(10, 2)`.
    Declaration,
    /// An entry in `schema`.
    Schema,
    /// The first batch of a stream.
    FirstBatch,
}

impl fmt::Display for FixedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Declaration => "by the column's declaration",
            Self::Schema => "by schema",
            Self::FirstBatch => "by the first batch",
        })
    }
}

/// The option that a message ends with.
enum Remedy {
    None,
    Schema(&'static [&'static str]),
    Infinity,
    NumericSpecial,
}

impl Reason {
    fn remedy(&self) -> Remedy {
        match self {
            Self::Infinite(_) => Remedy::Infinity,
            Self::NumericNan | Self::NumericInfinite(_) => Remedy::NumericSpecial,
            Self::EndOfDay => Remedy::Schema(&["int64"]),
            Self::NotExactInFloat(_) => Remedy::Schema(&["int64"]),
            Self::NumericTooWide { .. } => Remedy::Schema(&["utf8", "float64"]),
            Self::NumericScale { .. } | Self::NumericPrecision { .. } => {
                Remedy::Schema(&["decimal256(precision, scale)", "utf8"])
            }
            Self::NumericFloatOverflow => Remedy::Schema(&["utf8"]),
            Self::OffsetOverflow => Remedy::Schema(&["large_utf8"]),
            _ => Remedy::None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongLength { expected, actual } => {
                write!(f, "the value has {actual} bytes instead of {expected}")
            }
            Self::TooShort { least, actual } => {
                write!(f, "the value has {actual} bytes instead of at least {least}")
            }
            Self::NotBool(byte) => write!(f, "the value is {byte}, neither 0 nor 1"),
            Self::NotUtf8 { valid_up_to } => {
                write!(f, "the text is not UTF-8 from byte {valid_up_to} on")
            }
            Self::JsonbVersion(version) => {
                write!(f, "the jsonb has version {version} instead of 1")
            }
            Self::DateOutOfRange(days) => {
                write!(f, "{days} days since 2000-01-01 is no date of PostgreSQL's")
            }
            Self::TimestampOutOfRange(micros @ ..0) => write!(
                f,
                "{micros} microseconds since 2000-01-01 is before PostgreSQL's first timestamp"
            ),
            Self::TimestampOutOfRange(micros) => write!(
                f,
                "{micros} microseconds since 2000-01-01 do not fit into 64 bits when counted from \
                 1970-01-01"
            ),
            Self::TimeOutOfRange(micros) => {
                write!(f, "{micros} microseconds is no time of day")
            }
            Self::EndOfDay => f.write_str("Arrow's time of day has no 24:00:00"),
            Self::Infinite(Sign::Positive) => f.write_str("the value is infinity"),
            Self::Infinite(Sign::Negative) => f.write_str("the value is -infinity"),
            Self::NotExactInFloat(value) => {
                write!(f, "{value} has no exact float64")
            }
            other => other.fmt_numeric(f),
        }
    }
}

impl Reason {
    fn fmt_numeric(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NumericLength { groups, actual } => {
                write!(f, "a numeric of {groups} digit groups cannot have {actual} bytes")
            }
            Self::NumericGroup(group) => {
                write!(f, "the numeric has a digit group {group}, which is more than 9999")
            }
            Self::NumericSign(sign) => write!(f, "the numeric has an unknown sign {sign:#06x}"),
            Self::NumericScaleWord(scale) => {
                write!(f, "the numeric has {scale} digits after the point, more than can exist")
            }
            Self::NumericHiddenDigits => f.write_str("the numeric has digits beyond its own scale"),
            Self::NumericNan => f.write_str("Arrow's decimals have no NaN"),
            Self::NumericInfinite(Sign::Positive) => {
                f.write_str("Arrow's decimals have no Infinity")
            }
            Self::NumericInfinite(Sign::Negative) => {
                f.write_str("Arrow's decimals have no -Infinity")
            }
            Self::NumericScale { column_scale, fixed_by } => write!(
                f,
                "the value has more digits after the point than the {column_scale} that were \
                 fixed {fixed_by}"
            ),
            Self::NumericPrecision { precision, column_scale, fixed_by } => write!(
                f,
                "the value has more digits than the {precision}, {column_scale} of them after \
                 the point, that were fixed {fixed_by}"
            ),
            Self::NumericTooWide { column_scale } => write!(
                f,
                "with {column_scale} digits after the point the value needs more than the 76 \
                 digits of a decimal256"
            ),
            Self::NumericFloatOverflow => f.write_str("the value is out of range for a float64"),
            _ => f.write_str("a batch has 2 GiB of it or more, which needs 64-bit offsets"),
        }
    }
}

/// A run of rows that could not be appended.
#[derive(Clone, PartialEq, Debug)]
pub enum AppendError {
    /// The rows do not have the shape that the server announced.
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

/// A value that cannot be sent as the parameter it is meant for. The caller knows the parameter's
/// number and says it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EncodeError {
    /// The type takes another kind of value.
    WrongKind {
        /// What the type takes.
        expected: &'static str,
        /// What was given.
        given: &'static str,
    },
    /// An integer out of the type's range.
    IntegerOutOfRange {
        /// PostgreSQL's name of the type.
        type_name: &'static str,
        /// The smallest number it has.
        least: i64,
        /// The largest.
        most: i64,
        /// What was given.
        given: String,
    },
    /// A float that is finite, but infinite as `float4`.
    Float4Overflow {
        /// What was given.
        given: String,
    },
    /// An integer that the float type cannot hold exactly.
    NotExactInFloat {
        /// What was given.
        given: String,
    },
    /// A string with a NUL, which PostgreSQL's text cannot hold.
    NulInText {
        /// Bytes before the NUL.
        position: usize,
    },
    /// A `"char"` of more or less than one byte.
    NotOneByte {
        /// Its length in bytes.
        given: usize,
    },
    /// A text that is no decimal number.
    NotANumber {
        /// What was given, cut where it is long.
        given: String,
    },
    /// A decimal with more digits than PostgreSQL's `numeric` has.
    NumericTooLarge,
    /// A date or time outside the range of the type.
    TimeOutOfRange {
        /// PostgreSQL's name of the type.
        type_name: &'static str,
        /// The type's range, in words.
        range: &'static str,
    },
    /// A type that is not in the table, given something else than its text or its bytes.
    UnknownType {
        /// The type.
        oid: u32,
        /// What was given.
        given: &'static str,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongKind { expected, given } => write!(f, "expected {expected}, not {given}"),
            Self::IntegerOutOfRange { type_name, least, most, given } => {
                write!(
                    f,
                    "{given} is out of range for {type_name}, which goes from {least} to {most}"
                )
            }
            Self::Float4Overflow { given } => {
                write!(f, "{given} is out of range for float4; cast the parameter to float8")
            }
            Self::NotExactInFloat { given } => write!(
                f,
                "{given} is an integer that a float cannot hold exactly; pass a float, or cast the \
                 parameter to int8 or numeric"
            ),
            Self::NulInText { position } => write!(
                f,
                "the string has a NUL after {position} bytes, which PostgreSQL's text cannot hold; \
                 use bytea for binary data"
            ),
            Self::NotOneByte { given } => {
                write!(f, "\"char\" takes one byte, not {given}; use text for longer strings")
            }
            Self::NotANumber { given } => write!(f, "{given:?} is not a decimal number"),
            Self::NumericTooLarge => f.write_str(
                "the number has more digits than numeric: 131072 before the point, 16383 after it",
            ),
            Self::TimeOutOfRange { type_name, range } => {
                write!(f, "the value is out of range for {type_name}, which goes {range}")
            }
            Self::UnknownType { oid, given } => write!(
                f,
                "the type with oid {oid} takes its text as a string or its binary form as bytes, \
                 not {given}"
            ),
        }
    }
}

impl std::error::Error for EncodeError {}
