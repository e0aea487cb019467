//! What can be wrong with a parameter.

use core::net::IpAddr;
use std::fmt;

use crate::error::Place;

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
        least: i128,
        /// The largest.
        most: i128,
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
    /// A value that the type would have to round.
    Inexact {
        /// What was given.
        given: String,
        /// The type, as it is declared.
        type_name: String,
    },
    /// A value of 1 GiB or more.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// An array with more dimensions or elements than PostgreSQL's have.
    TooManyElements,
    /// Lists within a list that differ in length, or of which one is NULL.
    Ragged,
    /// A text that is not in the one form in which the type takes text.
    Notation {
        /// PostgreSQL's name of the type.
        type_name: &'static str,
        /// Samples of the form, in quotes.
        form: &'static str,
        /// What was given, cut where it is long.
        given: String,
    },
    /// A string of bits with another number of bytes than its bits need, with bits beyond its
    /// length, or with more bits than PostgreSQL has.
    Bits {
        /// How many bits it has.
        bits: usize,
        /// How many bytes.
        bytes: usize,
    },
    /// An address with a prefix that is longer than it is.
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
    /// A value of more parts than its type can count.
    TooManyParts {
        /// PostgreSQL's name of the type.
        type_name: &'static str,
        /// So many it can.
        most: usize,
        /// So many it has.
        given: usize,
    },
    /// A number that is finite, but infinite as an element of a `halfvec`.
    HalfvecOverflow {
        /// What was given.
        given: String,
    },
    /// A type that is not known, given something else than its text or its bytes.
    UnknownType {
        /// What was given.
        given: &'static str,
    },
    /// A type that is sent in its text form alone, given something else.
    TextOnly {
        /// What was given.
        given: &'static str,
    },
    /// A composite with another number of fields than its type has.
    FieldCount {
        /// By its type.
        expected: usize,
        /// What was given.
        given: usize,
    },
    /// A part of the value cannot be sent.
    Within(Place, Box<Self>),
}

impl EncodeError {
    /// Says where in a value the error lies.
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
                write!(f, "{given:?} is no {type_name}, which is written {form}")
            }
            Self::Bits { bits, bytes } => write!(
                f,
                "{bits} bits in {bytes} bytes are no bit string: the bytes must be as many as the \
                 bits need, with 0 in what is left over of the last one"
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
                "a type that is not known takes its text as a string or its binary form as bytes, \
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
