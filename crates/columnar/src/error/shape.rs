//! What can be wrong with values that are made of numbers or of texts: points, vectors, maps and
//! geometries.

use std::fmt;

use super::reason::Reason;

/// A fault in how a value is put together.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ShapeFault {
    /// It ends before its parts do.
    Truncated,
    /// So many bytes follow its last part.
    Trailing(usize),
    /// It announces fewer parts than none.
    Count(i32),
    /// More parts in a batch than 32 bits can count.
    TooManyParts,
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
    /// An `hstore` with a key that is NULL.
    NullKey,
    /// An `hstore` that has a key twice.
    DuplicateKey,
    /// A geometry in a byte order that does not exist.
    ByteOrder(u8),
    /// A geometry of a kind that is not known.
    GeometryKind(u32),
    /// A geometry with more geometries within geometries than PostGIS makes.
    TooDeep,
}

impl From<ShapeFault> for Reason {
    fn from(fault: ShapeFault) -> Self {
        Self::Shape(fault)
    }
}

impl fmt::Display for ShapeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the value ends before its parts do"),
            Self::Trailing(count) => write!(f, "the value has {count} bytes behind its last part"),
            Self::Count(count) => write!(f, "a value cannot have {count} parts"),
            Self::TooManyParts => {
                f.write_str("the batch has more parts than 32 bits can count; fetch smaller ones")
            }
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
            Self::NullKey => f.write_str("the hstore has a key that is NULL"),
            Self::DuplicateKey => f.write_str("the hstore has a key twice"),
            Self::ByteOrder(order) => write!(f, "the geometry has an unknown byte order {order}"),
            Self::GeometryKind(kind) => write!(f, "the geometry is of an unknown kind {kind}"),
            Self::TooDeep => {
                f.write_str("the geometry has more geometries within geometries than can be")
            }
        }
    }
}
