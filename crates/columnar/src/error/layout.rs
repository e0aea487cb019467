//! What can be wrong with how a value is put together: arrays, composites and ranges of values,
//! figures, vectors, maps and geometries of numbers and texts.

use std::fmt;

use colonnade_protocol::Oid;

use super::reason::Reason;

/// A fault in how a value is put together, or of a value within it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LayoutFault {
    /// It ends before its parts do.
    Truncated,
    /// So many bytes follow its last part.
    Trailing(usize),
    /// An array of more dimensions than exist, or of fewer than none.
    DimensionCount(i32),
    /// A dimension of an impossible length.
    DimensionLength(i32),
    /// The parts are of another type than the column's type says.
    PartType {
        /// By the column's type.
        expected: Oid,
        /// In the value.
        actual: Oid,
    },
    /// A part of an anonymous record has a type that the catalogs were not asked for.
    UnknownType(Oid),
    /// A composite with another number of fields than its type has.
    FieldCount {
        /// By its type.
        expected: usize,
        /// In the value.
        actual: i32,
    },
    /// A range with flags that contradict each other or do not exist.
    RangeFlags(u8),
    /// An array whose number of dimensions is not that of the arrays before it.
    MixedDimensions {
        /// Of the arrays before.
        column: usize,
        /// Of this one.
        value: usize,
    },
    /// A record that has other fields than the records before it.
    MixedRecords,
    /// More elements in a column than 32 bits can count.
    TooManyElements,
    /// The text form of an array that does not end where it should, or has no form of one.
    ArrayText {
        /// Bytes before the fault.
        position: usize,
    },
    /// More values within values than are followed.
    TooDeep,
    /// It announces fewer parts than none.
    Count(i32),
    /// A vector whose number of dimensions is not the declared one.
    Dimensions {
        /// By the column's declaration.
        declared: usize,
        /// Of this vector.
        actual: usize,
    },
    /// A vector with something in the word that is always 0.
    Reserved(i32),
    /// A sparse vector with an element outside its dimensions, or out of order.
    SparseIndex(i32),
    /// A sparse vector that names an element which is zero.
    SparseZero(i32),
    /// An `hstore` with a key that is NULL.
    NullKey,
    /// An `hstore` that has a key twice.
    DuplicateKey,
    /// A geometry in a byte order that does not exist.
    ByteOrder(u8),
    /// A geometry of a kind that is not known.
    GeometryKind(u32),
    /// A part of the value is at fault.
    Within(Place, Box<Reason>),
}

/// Where in a value a part of it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Of an array, counted through all its dimensions from 0.
    Element(usize),
    /// Of a composite.
    Field(String),
    /// Of a range.
    LowerBound,
    /// Of a range.
    UpperBound,
}

impl LayoutFault {
    /// Whether the value was right and only our idea of its type is out of date.
    pub fn is_stale_type(&self) -> bool {
        match self {
            Self::PartType { .. } | Self::FieldCount { .. } | Self::UnknownType(_) => true,
            Self::Within(_, reason) => reason.is_stale_type(),
            _ => false,
        }
    }

    /// The type that the catalogs must be asked for.
    pub fn unknown_type(&self) -> Option<Oid> {
        match self {
            Self::UnknownType(oid) => Some(*oid),
            Self::Within(_, reason) => reason.unknown_type(),
            _ => None,
        }
    }

    /// Whether the value's text could be had where its parts could not.
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
                write!(f, "the value has {count} bytes behind its last part")
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
                write!(f, "the text is no array from byte {position} on")
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
                write!(f, "the vector has {actual} dimensions, and its column {declared}")
            }
            Self::Reserved(word) => {
                write!(f, "the vector has {word} in a place that is always 0")
            }
            Self::SparseIndex(index) => write!(
                f,
                "the sparse vector has an element at {index}, which is out of order or outside \
                 its dimensions"
            ),
            Self::SparseZero(index) => write!(
                f,
                "the sparse vector has a zero at {index}, and only other elements may stand in it"
            ),
            Self::NullKey => f.write_str("the hstore has a key that is NULL"),
            Self::DuplicateKey => f.write_str("the hstore has a key twice"),
            Self::ByteOrder(order) => write!(f, "the geometry has an unknown byte order {order}"),
            Self::GeometryKind(kind) => write!(f, "the geometry is of an unknown kind {kind}"),
            _ => f.write_str("the value is not put together as its type is"),
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

/// Says where in a value the reason lies.
pub fn within(place: Place, reason: Reason) -> Reason {
    LayoutFault::Within(place, Box::new(reason)).into()
}
