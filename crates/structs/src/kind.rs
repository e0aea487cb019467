//! The types of fields.

use std::fmt;
use std::sync::Arc;

use crate::Layout;

/// A unit of NumPy's `datetime64` and `timedelta64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of units")]
pub enum Unit {
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    Picosecond,
    Femtosecond,
    Attosecond,
}

const UNITS: [(&str, Unit); 13] = [
    ("Y", Unit::Year),
    ("M", Unit::Month),
    ("W", Unit::Week),
    ("D", Unit::Day),
    ("h", Unit::Hour),
    ("m", Unit::Minute),
    ("s", Unit::Second),
    ("ms", Unit::Millisecond),
    ("us", Unit::Microsecond),
    ("ns", Unit::Nanosecond),
    ("ps", Unit::Picosecond),
    ("fs", Unit::Femtosecond),
    ("as", Unit::Attosecond),
];

impl Unit {
    fn of(name: &str) -> Option<Self> {
        UNITS.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit)
    }

    /// NumPy's name of the unit.
    #[must_use]
    pub fn name(self) -> &'static str {
        UNITS.iter().find(|(_, unit)| *unit == self).map_or("", |(name, _)| name)
    }
}

/// A type whose values all have the same number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of types")]
pub enum Scalar {
    Bool,
    /// A signed integer of this many bytes.
    Int(usize),
    /// An unsigned integer of this many bytes.
    UInt(usize),
    /// A float of this many bytes.
    Float(usize),
    /// A complex number of this many bytes.
    Complex(usize),
    Datetime(Unit),
    Timedelta(Unit),
    /// Text of at most this many characters, in four bytes each, as NumPy has it.
    Chars(usize),
    /// ASCII text of at most this many characters.
    Ascii(usize),
    /// At most this many bytes; zeros at the end are not part of the value, as in NumPy.
    Bytes(usize),
}

const NUMBERS: [(&str, Scalar); 14] = [
    ("bool", Scalar::Bool),
    ("int8", Scalar::Int(1)),
    ("int16", Scalar::Int(2)),
    ("int32", Scalar::Int(4)),
    ("int64", Scalar::Int(8)),
    ("uint8", Scalar::UInt(1)),
    ("uint16", Scalar::UInt(2)),
    ("uint32", Scalar::UInt(4)),
    ("uint64", Scalar::UInt(8)),
    ("float16", Scalar::Float(2)),
    ("float32", Scalar::Float(4)),
    ("float64", Scalar::Float(8)),
    ("complex64", Scalar::Complex(8)),
    ("complex128", Scalar::Complex(16)),
];

/// The longest fixed text, in characters.
const WIDTH_MOST: usize = 1 << 14;

impl Scalar {
    /// The number of bytes of a value.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Int(size) | Self::UInt(size) | Self::Float(size) | Self::Complex(size) => size,
            Self::Datetime(_) | Self::Timedelta(_) => 8,
            Self::Chars(width) => 4 * width,
            Self::Ascii(width) | Self::Bytes(width) => width,
        }
    }

    /// The divisor of a value's position in the blob.
    #[must_use]
    pub fn align(self) -> usize {
        match self {
            Self::Chars(_) => 4,
            Self::Ascii(_) | Self::Bytes(_) => 1,
            Self::Complex(size) => size / 2,
            other => other.size(),
        }
    }

    fn of(name: &str) -> Option<Self> {
        if let Some((_, scalar)) = NUMBERS.iter().find(|(known, _)| *known == name) {
            return Some(*scalar);
        }
        let inside = |start: &str| name.strip_prefix(start)?.strip_suffix(']');
        let width = |text: &str| text.parse().ok().filter(|width| (1..=WIDTH_MOST).contains(width));
        if let Some(unit) = inside("datetime64[") {
            return Unit::of(unit).map(Self::Datetime);
        }
        if let Some(unit) = inside("timedelta64[") {
            return Unit::of(unit).map(Self::Timedelta);
        }
        if let Some(text) = inside("ascii[") {
            return width(text).map(Self::Ascii);
        }
        let (first, rest) = (name.get(..1)?, name.get(1..)?);
        match first {
            "U" => width(rest).map(Self::Chars),
            "S" => width(rest).map(Self::Bytes),
            _ => None,
        }
    }

    /// Writes the value of a slot that is NULL: NaN, NaT, or zeros.
    pub(crate) fn write_null(self, slot: &mut [u8]) {
        match self {
            Self::Float(2) => slot.copy_from_slice(&half::f16::NAN.to_le_bytes()),
            Self::Float(4) => slot.copy_from_slice(&f32::NAN.to_le_bytes()),
            Self::Float(_) => slot.copy_from_slice(&f64::NAN.to_le_bytes()),
            Self::Datetime(_) | Self::Timedelta(_) => {
                slot.copy_from_slice(&i64::MIN.to_le_bytes());
            }
            _ => slot.fill(0),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Datetime(unit) => write!(f, "datetime64[{}]", unit.name()),
            Self::Timedelta(unit) => write!(f, "timedelta64[{}]", unit.name()),
            Self::Chars(width) => write!(f, "U{width}"),
            Self::Ascii(width) => write!(f, "ascii[{width}]"),
            Self::Bytes(width) => write!(f, "S{width}"),
            number => {
                let known = NUMBERS.iter().find(|(_, scalar)| scalar == number);
                f.write_str(known.map_or("", |(name, _)| name))
            }
        }
    }
}

/// The type of a field or of a list's elements.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Values in the fixed part.
    Scalar(Scalar),
    /// Text in UTF-8.
    Str,
    /// Bytes.
    Bytes,
    /// A list; its elements may be NULL if `optional` says so.
    List {
        /// The elements' type.
        element: Box<Self>,
        /// Whether an element may be NULL.
        optional: bool,
    },
    /// Another struct, as a whole blob.
    Struct(Arc<Layout>),
}

impl Kind {
    /// The type of this name, for example `int64`, `datetime64[s]`, `U12`, `list<str?>`. A struct
    /// has no name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "str" => return Some(Self::Str),
            "bytes" => return Some(Self::Bytes),
            _ => {}
        }
        if let Some(element) = name.strip_prefix("list<").and_then(|rest| rest.strip_suffix('>')) {
            let (element, optional) = match element.strip_suffix('?') {
                Some(element) => (element, true),
                None => (element, false),
            };
            return Some(Self::List { element: Box::new(Self::of(element)?), optional });
        }
        Scalar::of(name).map(Self::Scalar)
    }

    /// The size and alignment of the slot in the fixed part: a value, or where its bytes end.
    pub(crate) fn slot(&self) -> (usize, usize) {
        match self {
            Self::Scalar(scalar) => (scalar.size(), scalar.align()),
            _ => (4, 4),
        }
    }

    /// The divisor of the position of the value's bytes in the tail.
    pub(crate) fn tail_align(&self) -> usize {
        match self {
            Self::Str | Self::Bytes => 1,
            Self::Scalar(scalar) => scalar.align(),
            Self::Struct(_) => 8,
            Self::List { element, .. } => match element.as_ref() {
                Self::Scalar(scalar) => scalar.align(),
                _ => 4,
            },
        }
    }

    /// How deep lists and structs stand in each other.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Scalar(_) | Self::Str | Self::Bytes => 0,
            Self::List { element, .. } => 1 + element.depth(),
            Self::Struct(layout) => 1 + layout.depth(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(scalar) => scalar.fmt(f),
            Self::Str => f.write_str("str"),
            Self::Bytes => f.write_str("bytes"),
            Self::List { element, optional } => {
                write!(f, "list<{element}{}>", if *optional { "?" } else { "" })
            }
            Self::Struct(_) => f.write_str("struct"),
        }
    }
}
