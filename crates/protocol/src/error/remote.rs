//! The server's errors: bytes that no PostgreSQL server sends.

use std::fmt;

use crate::tag;

/// The bytes received are not PostgreSQL protocol 3.0.
///
/// After such an error the bytes that follow cannot be interpreted, so the connection must be
/// closed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RemoteError {
    /// The catalogs describe a type in an impossible way.
    Catalog,
    /// A frame starts with a byte that no server message has as its tag.
    UnknownTag {
        /// The byte.
        tag: u8,
    },
    /// A frame announces a length that does not even cover the length field.
    LengthTooSmall {
        /// The frame's tag.
        tag: u8,
        /// The announced length, as unsigned.
        length: u32,
    },
    /// A frame announces more than its message can legitimately need.
    LengthTooLarge {
        /// The frame's tag.
        tag: u8,
        /// The announced length, as unsigned.
        length: u32,
        /// The largest length accepted for this tag.
        limit: usize,
    },
    /// The body of a message does not match its tag.
    Malformed {
        /// The protocol's name of the message.
        message: &'static str,
        /// The error in the body.
        fault: Fault,
    },
    /// A row of a result does not match its row description.
    Row {
        /// Index of the row in the run of rows that was scanned, from 0.
        row: usize,
        /// The error in the row.
        fault: RowFault,
    },
    /// The server reports implausibly many run-time parameters.
    TooManyParameters {
        /// The accepted size of names and values in bytes.
        limit: usize,
    },
    /// A `DataRow` was passed to the message parser; only `DataRows::scan` reads rows.
    RowAsMessage,
}

/// The error in the body of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The body ends inside this part.
    Truncated {
        /// The part that was being read.
        part: &'static str,
    },
    /// Bytes follow the last part.
    Trailing {
        /// The number of bytes.
        count: usize,
    },
    /// A text is not valid UTF-8, the only client encoding in use.
    NotUtf8 {
        /// The part that was being read.
        part: &'static str,
    },
    /// A count or length is negative where that is not allowed.
    Negative {
        /// The part that was being read.
        part: &'static str,
        /// The value found.
        value: i32,
    },
    /// A format code other than 0 (text) and 1 (binary).
    FormatCode {
        /// The code found.
        code: i16,
    },
    /// A transaction status other than `I`, `T` and `E`.
    TransactionStatus {
        /// The byte found.
        status: u8,
    },
    /// A protocol version that is not of the 3.x family.
    ProtocolVersion {
        /// The version found, major number in the upper half.
        version: i32,
    },
    /// More fields in an error or a notice than there are field codes.
    TooManyFields {
        /// The largest number accepted.
        limit: usize,
    },
    /// A part is longer than the protocol allows.
    TooLong {
        /// The part that was being read.
        part: &'static str,
        /// Its length in bytes.
        length: usize,
        /// The largest length accepted.
        limit: usize,
    },
    /// A list of SASL mechanisms without any mechanism.
    NoMechanisms,
}

/// The error in one row of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RowFault {
    /// The row is too short for a column count.
    NoColumnCount,
    /// The row has another number of columns than its description.
    ColumnCount {
        /// Columns in the row description.
        expected: usize,
        /// The number of columns in the row.
        found: usize,
    },
    /// The row ends before the length of this column.
    NoLength {
        /// Index of the column, from 0.
        column: usize,
    },
    /// A length that is neither -1 (NULL) nor within the rest of the row.
    Length {
        /// Index of the column, from 0.
        column: usize,
        /// The length found.
        length: i32,
        /// The number of bytes in the row after the length.
        left: usize,
    },
    /// Bytes follow the last column.
    Trailing {
        /// The number of bytes.
        count: usize,
    },
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Catalog => {
                f.write_str("the server's catalogs describe a type in an impossible way")
            }
            Self::UnknownTag { tag } => write!(
                f,
                "the server sent a message with the unknown tag {:?}: this is not a PostgreSQL \
                 server, or bytes were lost on the way",
                char::from(*tag)
            ),
            Self::LengthTooSmall { tag, length } => write!(
                f,
                "the server sent a {} message that announces a length of {length}; the length \
                 field alone takes 4",
                TagName(*tag)
            ),
            Self::LengthTooLarge { tag, length, limit } => write!(
                f,
                "the server sent a {} message that announces {length} bytes; at most {limit} are \
                 accepted",
                TagName(*tag)
            ),
            Self::Malformed { message, fault } => {
                write!(f, "the server sent a malformed {message} message: {fault}")
            }
            Self::Row { row, fault } => {
                write!(f, "the server sent a malformed row (index {row} of its run): {fault}")
            }
            Self::TooManyParameters { limit } => {
                write!(f, "the server reports run-time parameters of more than {limit} bytes")
            }
            Self::RowAsMessage => f.write_str("a DataRow arrived where a message was expected"),
        }
    }
}

impl std::error::Error for RemoteError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { part } => write!(f, "it ends inside the {part}"),
            Self::Trailing { count } => write!(f, "{count} bytes follow its end"),
            Self::NotUtf8 { part } => write!(f, "the {part} is not valid UTF-8"),
            Self::Negative { part, value } => write!(f, "the {part} is {value}"),
            Self::FormatCode { code } => {
                write!(f, "format code {code} is neither 0 (text) nor 1 (binary)")
            }
            Self::TransactionStatus { status } => {
                write!(f, "transaction status {:?} is none of I, T, E", char::from(*status))
            }
            Self::ProtocolVersion { version } => write!(
                f,
                "protocol version {}.{} is not of the 3.x family",
                version >> 16,
                version & 0xffff
            ),
            Self::TooManyFields { limit } => write!(f, "it has more than {limit} fields"),
            Self::TooLong { part, length, limit } => {
                write!(f, "the {part} has {length} bytes, at most {limit} are accepted")
            }
            Self::NoMechanisms => f.write_str("it lists no SASL mechanism"),
        }
    }
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoColumnCount => f.write_str("it ends before its column count"),
            Self::ColumnCount { expected, found } => {
                write!(f, "it has {found} columns, the row description has {expected}")
            }
            Self::NoLength { column } => {
                write!(f, "it ends before the length of column {column}")
            }
            Self::Length { column, length, left } => write!(
                f,
                "the value of column {column} has a length of {length}, {left} bytes are left"
            ),
            Self::Trailing { count } => write!(f, "{count} bytes follow its last column"),
        }
    }
}

/// Names a tag by its message when it has one.
struct TagName(u8);

impl fmt::Display for TagName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match tag::name(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "{:?}", char::from(self.0)),
        }
    }
}
