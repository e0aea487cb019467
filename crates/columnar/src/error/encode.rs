//! Errors in a parameter's value.

use core::net::IpAddr;
use std::fmt;

use crate::error::Place;

/// A value that cannot be sent as its parameter. The caller adds the parameter's number.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EncodeError {
    /// The type takes another kind of value.
    WrongKind {
        /// The kind that the type takes.
        expected: &'static str,
        /// The kind that was given.
        given: &'static str,
    },
    /// An integer out of the type's range.
    IntegerOutOfRange {
        /// The type's name in PostgreSQL.
        type_name: &'static str,
        /// The type's smallest number.
        least: i128,
        /// The type's largest number.
        most: i128,
        /// The number that was given.
        given: String,
    },
    /// A float that is finite, but infinite as `float4`, or not 0, but 0 as `float4`.
    Float4OutOfRange {
        /// The number that was given.
        given: String,
    },
    /// An integer that the float type cannot hold exactly.
    NotExactInFloat {
        /// The integer that was given.
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
    /// A text that is not a decimal number.
    NotANumber {
        /// The text, shortened if it is long.
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
    /// A value that the type would have to round.
    Inexact {
        /// The value that was given.
        given: String,
        /// The type, as it is declared.
        type_name: String,
    },
    /// A value of 1 GiB or more.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// An array with more dimensions or elements than PostgreSQL allows.
    TooManyElements,
    /// Lists within a list that differ in length, or include a NULL.
    Ragged,
    /// A text in another notation than the type's.
    Notation {
        /// PostgreSQL's name of the type.
        type_name: &'static str,
        /// Examples of the notation, in quotes.
        form: &'static str,
        /// The text, shortened if it is long.
        given: String,
    },
    /// A bit string whose number of bytes does not match its number of bits, with nonzero padding,
    /// or with more bits than PostgreSQL allows.
    Bits {
        /// The number of bits.
        bits: usize,
        /// The number of bytes.
        bytes: usize,
    },
    /// An address prefix longer than the address.
    AddressPrefix {
        /// The prefix, in bits.
        prefix: u8,
        /// The address, in bits.
        most: u8,
    },
    /// A `cidr` with bits beyond its prefix.
    HostBits {
        /// The address.
        address: IpAddr,
        /// Its prefix, in bits.
        prefix: u8,
    },
    /// A value with more parts than its type allows.
    TooManyParts {
        /// PostgreSQL's name of the type.
        type_name: &'static str,
        /// The maximum number of parts.
        most: usize,
        /// The number of parts of the value.
        given: usize,
    },
    /// A number that is finite, but infinite as an element of a `halfvec`.
    HalfvecOverflow {
        /// The number that was given.
        given: String,
    },
    /// A value of an unknown type that is neither text nor bytes.
    UnknownType {
        /// The kind that was given.
        given: &'static str,
    },
    /// A value other than text for a type that is sent as text only.
    TextOnly {
        /// The kind that was given.
        given: &'static str,
    },
    /// A composite with the wrong number of fields.
    FieldCount {
        /// The number of fields of its type.
        expected: usize,
        /// The number of fields given.
        given: usize,
    },
    /// A part of the value cannot be sent.
    Within(Place, Box<Self>),
}

impl EncodeError {
    /// Adds the error's place within a value.
    pub(crate) fn within(self, place: Place) -> Self {
        Self::Within(place, Box::new(self))
    }
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
            Self::Float4OutOfRange { given } => {
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
            Self::Inexact { given, type_name } => {
                write!(f, "{given} has no exact {type_name}, and nothing is rounded")
            }
            Self::TooLong { bytes } => {
                write!(f, "the value has {bytes} bytes, and PostgreSQL takes less than 1 GiB")
            }
            Self::TooManyElements => {
                f.write_str("an array of PostgreSQL's has at most 6 dimensions and 2^27 elements")
            }
            Self::Ragged => f.write_str(
                "the lists within the list differ in length, or one of them is NULL; an array of \
                 PostgreSQL's has one length for each of its dimensions",
            ),
            Self::Notation { type_name, form, given } => {
                write!(f, "{given:?} is not a valid {type_name}, which is written {form}")
            }
            Self::Bits { bits, bytes } => write!(
                f,
                "{bits} bits in {bytes} bytes are not a bit string: it takes just the bytes that \
                 its bits need, and the unused bits of the last one are 0"
            ),
            Self::AddressPrefix { prefix, most } => {
                write!(f, "a prefix of {prefix} bits is longer than the address, which has {most}")
            }
            Self::HostBits { address, prefix } => write!(
                f,
                "{address} has bits beyond its prefix of {prefix}, which cidr does not take; use \
                 inet, or the address of the network"
            ),
            Self::TooManyParts { type_name, most, given } => {
                write!(f, "a {type_name} has at most {most} parts, not {given}")
            }
            Self::HalfvecOverflow { given } => write!(
                f,
                "{given} is out of range for halfvec, which goes to 65504; cast the parameter to \
                 vector"
            ),
            Self::UnknownType { given } => write!(
                f,
                "an unknown type takes its text as a string or its binary form as bytes, \
                 not {given}"
            ),
            Self::TextOnly { given } => {
                write!(f, "the type has no binary form: pass its text as a string, not {given}")
            }
            Self::FieldCount { expected, given } => {
                write!(f, "the composite has {expected} fields, and {given} were given")
            }
            Self::Within(place, error) => write!(f, "{place}: {error}"),
        }
    }
}

impl std::error::Error for EncodeError {}
