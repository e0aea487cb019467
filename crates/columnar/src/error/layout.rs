//! Errors in the layout of nested values: arrays, composites and ranges; geometric values, vectors,
//! maps and geometries.

use std::fmt;

use colonnade_protocol::Oid;

use super::reason::Reason;

/// An error in a value's layout, or in a value nested in it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LayoutFault {
    /// The value ends before its parts do.
    Truncated,
    /// This many bytes follow the last part.
    Trailing(usize),
    /// A number of dimensions that is negative or too large.
    DimensionCount(i32),
    /// A dimension of an impossible length.
    DimensionLength(i32),
    /// The parts have another type than the column's type has.
    PartType {
        /// The type from the column.
        expected: Oid,
        /// The type in the value.
        actual: Oid,
    },
    /// A part of an anonymous record has a type that was never looked up.
    UnknownType(Oid),
    /// A composite with the wrong number of fields.
    FieldCount {
        /// The number of fields of the column's type.
        expected: usize,
        /// The number of fields in the value.
        actual: i32,
    },
    /// A range with invalid or contradictory flags.
    RangeFlags(u8),
    /// An array with another number of dimensions than the arrays before it.
    MixedDimensions {
        /// The number of dimensions of the arrays before.
        column: usize,
        /// The number of dimensions of this one.
        value: usize,
    },
    /// A record with other fields than the records before it.
    MixedRecords,
    /// More elements in a column than 32 bits can count.
    TooManyElements,
    /// An invalid text format of an array.
    ArrayText {
        /// The number of bytes before the error.
        position: usize,
    },
    /// A value that is nested too deep.
    TooDeep,
    /// A negative number of parts.
    Count(i32),
    /// A vector whose number of dimensions differs from the declared one.
    Dimensions {
        /// The number in the column's declaration.
        declared: usize,
        /// The number in this vector.
        actual: usize,
    },
    /// A vector whose reserved field is not 0.
    Reserved(i32),
    /// A sparse vector with an index outside its dimensions, or out of order.
    SparseIndex(i32),
    /// A sparse vector with an explicit zero.
    SparseZero(i32),
    /// An `hstore` with a key that is NULL.
    NullKey,
    /// An `hstore` with a duplicate key.
    DuplicateKey,
    /// A geometry with an invalid byte order.
    ByteOrder(u8),
    /// A geometry of an unknown kind.
    GeometryKind(u32),
    /// An error in a part of the value.
    Within(Place, Box<Reason>),
}

/// The place of a part within a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// An element of an array, by its flat index from 0.
    Element(usize),
    /// A field of a composite.
    Field(String),
    /// The lower bound of a range.
    LowerBound,
    /// The upper bound of a range.
    UpperBound,
}

impl LayoutFault {
    /// Whether the value was valid and only the cached type is out of date.
    pub fn is_stale_type(&self) -> bool {
        match self {
            Self::PartType { .. } | Self::FieldCount { .. } | Self::UnknownType(_) => true,
            Self::Within(_, reason) => reason.is_stale_type(),
            _ => false,
        }
    }

    /// The type that must be looked up.
    pub fn unknown_type(&self) -> Option<Oid> {
        match self {
            Self::UnknownType(oid) => Some(*oid),
            Self::Within(_, reason) => reason.unknown_type(),
            _ => None,
        }
    }

    /// Whether the value can still be read as text although its parts cannot.
    pub(crate) fn is_readable_as_text(&self) -> bool {
        matches!(self, Self::MixedDimensions { .. } | Self::MixedRecords | Self::TooManyElements)
    }
}

impl From<LayoutFault> for Reason {
    fn from(fault: LayoutFault) -> Self {
        Self::Layout(fault)
    }
}

impl fmt::Display for LayoutFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the value ends before its parts do"),
            Self::Trailing(count) => {
                write!(f, "the value has {count} bytes after its last part")
            }
            Self::DimensionCount(count) => write!(f, "an array cannot have {count} dimensions"),
            Self::DimensionLength(length) => {
                write!(f, "a dimension cannot have the length {length}")
            }
            Self::PartType { expected, actual } => write!(
                f,
                "the value has parts of the type with OID {actual} instead of {expected}: the \
                 type was altered, and is looked up again for the next query"
            ),
            Self::UnknownType(oid) => write!(
                f,
                "the record has a field of the type with OID {oid}, which is looked up for the \
                 next query"
            ),
            Self::FieldCount { expected, actual } => write!(
                f,
                "the composite has {actual} fields instead of {expected}: its type was altered, \
                 and is looked up again for the next query"
            ),
            Self::RangeFlags(flags) => write!(f, "a range cannot have the flags {flags:#04x}"),
            Self::MixedDimensions { column, value } => write!(
                f,
                "the array has {value} dimensions where those before it have {column}, and an \
                 Arrow list has one depth"
            ),
            Self::MixedRecords => {
                f.write_str("the record has fields of other types than those before it")
            }
            Self::TooManyElements => {
                f.write_str("the column has more than 2147483647 elements; fetch it in batches")
            }
            Self::ArrayText { position } => {
                write!(f, "the text is not a valid array from byte {position} on")
            }
            Self::TooDeep => f.write_str("the value has too many values within values"),
            Self::Within(place, reason) => write!(f, "{place}: {reason}"),
            other => other.fmt_of_numbers(f),
        }
    }
}

impl LayoutFault {
    fn fmt_of_numbers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "a value cannot have {count} parts"),
            Self::Dimensions { declared, actual } => {
                write!(f, "the vector has {actual} dimensions, but its column has {declared}")
            }
            Self::Reserved(word) => {
                write!(f, "the vector has {word} in a place that is always 0")
            }
            Self::SparseIndex(index) => write!(
                f,
                "the sparse vector has an element at {index}, which is out of order or outside \
                 its dimensions"
            ),
            Self::SparseZero(index) => {
                write!(f, "the sparse vector has a zero at {index}, which must be left out")
            }
            Self::NullKey => f.write_str("the hstore has a key that is NULL"),
            Self::DuplicateKey => f.write_str("the hstore has a key twice"),
            Self::ByteOrder(order) => write!(f, "the geometry has an unknown byte order {order}"),
            Self::GeometryKind(kind) => write!(f, "the geometry is of an unknown kind {kind}"),
            _ => f.write_str("the value does not have its type's layout"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Element(index) => write!(f, "element {index}"),
            Self::Field(name) => write!(f, "field {name:?}"),
            Self::LowerBound => f.write_str("lower bound"),
            Self::UpperBound => f.write_str("upper bound"),
        }
    }
}

/// Adds the reason's place within a value.
pub fn within(place: Place, reason: Reason) -> Reason {
    LayoutFault::Within(place, Box::new(reason)).into()
}
