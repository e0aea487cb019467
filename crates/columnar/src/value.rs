//! The neutral value: the type of rows and parameters, without Python and without Arrow.

use core::net::IpAddr;
use std::borrow::Cow;
use std::sync::Arc;

use crate::types::Type;

/// The sign of an infinity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sign {
    /// Later, or greater, than anything.
    Positive,
    /// Earlier, or less, than anything.
    Negative,
}

/// One value. Decoding borrows from the row; a type's [`Kind`](crate::Kind) gives its variant.
/// Times count from 1970-01-01, in days or microseconds.
#[derive(Clone, PartialEq, Debug)]
// The tag has its own byte: hidden in the spare bits of a field, it would take longer to read for
// each value of each row.
#[repr(u8)]
pub enum Value<'a> {
    /// SQL's NULL, in any type.
    Null,
    /// `bool`.
    Bool(bool),
    /// `int2`, `int4`, `int8`.
    Int(i64),
    /// `oid`, `xid`, `cid`, `xid8`, `pg_lsn`.
    UInt(u64),
    /// `float8`.
    Float(f64),
    /// `float4`.
    Float32(f32),
    /// The text types, `json` and `jsonb`.
    Text(Cow<'a, str>),
    /// `bytea`, `"char"`, and every type without a line in the table.
    Bytes(Cow<'a, [u8]>),
    /// `uuid`, most significant byte first.
    Uuid([u8; 16]),
    /// `date`: days since 1970-01-01.
    Date(i32),
    /// `date`: one of its infinities.
    DateInfinity(Sign),
    /// `time`: microseconds since midnight; 86,400,000,000 is PostgreSQL's 24:00:00.
    Time(i64),
    /// `timestamp`: microseconds since 1970-01-01 00:00:00.
    Timestamp(i64),
    /// `timestamptz`: microseconds since 1970-01-01 00:00:00 UTC.
    TimestampTz(i64),
    /// `timestamp` or `timestamptz`: one of their infinities.
    TimestampInfinity(Sign),
    /// `numeric`: exact text as the server prints it, with `NaN`, `Infinity` and `-Infinity`.
    Numeric(Cow<'a, str>),
    /// `interval`: three parts that cannot be converted to one another.
    Interval {
        /// Months, of 28 to 31 days.
        months: i32,
        /// Days, of 23 to 25 hours.
        days: i32,
        /// The time.
        micros: i64,
    },
    /// `interval`: one of its infinities, since PostgreSQL 17.
    IntervalInfinity(Sign),
    /// `timetz`.
    TimeTz {
        /// Microseconds since midnight, up to and including 24:00:00.
        micros: i64,
        /// Seconds east of UTC.
        offset_s: i32,
    },
    /// `bit`, `varbit`.
    Bits(Bits<'a>),
    /// `inet`, `cidr`.
    Network(Network),
    /// `point`: x, y.
    Point([f64; 2]),
    /// `line`: the coefficients a, b, c of ax + by + c = 0.
    Line([f64; 3]),
    /// `lseg`: x and y of either end.
    LineSegment([f64; 4]),
    /// `box`: x and y of the upper right, then of the lower left corner.
    Box([f64; 4]),
    /// `circle`: x and y of the centre, the radius.
    Circle([f64; 3]),
    /// `path`.
    Path {
        /// Whether the last point is connected to the first.
        is_closed: bool,
        /// x and y of each point.
        points: Vec<[f64; 2]>,
    },
    /// `polygon`: x and y of each point.
    Polygon(Vec<[f64; 2]>),
    /// `tid`: the position of a row in its table.
    Tid {
        /// Number of the page.
        block: u32,
        /// Number of the row's pointer in the page.
        offset: u16,
    },
    /// `pg_snapshot`, `txid_snapshot`.
    Snapshot {
        /// The first transaction that was still running.
        xmin: u64,
        /// The first that had not begun.
        xmax: u64,
        /// Those in between that were running.
        running: Vec<u64>,
    },
    /// pgvector's `vector` and `halfvec`.
    Floats(Vec<f32>),
    /// `hstore`.
    Map(Vec<(Cow<'a, str>, Option<Cow<'a, str>>)>),
    /// An array of any type.
    List(List<'a>),
    /// A composite or an anonymous record: its fields in order, which the type names.
    Composite(Vec<Self>),
    /// A range of any type.
    Range(Box<Range<'a>>),
    /// A multirange of any type.
    Multirange(Vec<Range<'a>>),
    /// A value within an anonymous record, which carries its type because the field names and
    /// codecs are known from nothing else.
    OfType(Box<OfType<'a>>),
    /// A type with a user's codec: the bytes that the codec reads or has written.
    Custom {
        /// The codec's number, which its owner has given it.
        codec: usize,
        /// The value in the codec's format.
        raw: Cow<'a, [u8]>,
    },
}

/// A bit string.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bits<'a> {
    /// The number of bits.
    pub len: usize,
    /// The bits, most significant bit first; those past `len` are 0.
    pub bytes: Cow<'a, [u8]>,
}

/// The address of a host or of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    /// The address; for a network, its first one.
    pub address: IpAddr,
    /// The number of bits that identify the network; 32 or 128 for a single host.
    pub prefix: u8,
    /// `cidr` and not `inet`.
    pub is_cidr: bool,
}

/// An array.
#[derive(Clone, PartialEq, Debug)]
pub struct List<'a> {
    /// The length of each dimension, outermost first; none for an array without elements. Lower
    /// bounds are dropped.
    pub dimensions: Vec<usize>,
    /// As many as the product of the dimensions, in row-major order.
    pub elements: Vec<Value<'a>>,
}

/// A value with its type.
#[derive(Clone, Debug)]
pub struct OfType<'a> {
    /// The type of the value.
    pub pg_type: Arc<Type>,
    /// The value.
    pub value: Value<'a>,
}

impl PartialEq for OfType<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.pg_type.oid == other.pg_type.oid && self.value == other.value
    }
}

/// A range.
#[derive(Clone, PartialEq, Debug)]
pub enum Range<'a> {
    /// It is empty.
    Empty,
    /// It contains the values between its bounds.
    Bounds {
        /// [`Value::Null`] if there is no lower bound.
        lower: Value<'a>,
        /// [`Value::Null`] if there is no upper bound.
        upper: Value<'a>,
        /// Whether the lower bound is inclusive.
        lower_inclusive: bool,
        /// Whether the upper bound is inclusive.
        upper_inclusive: bool,
    },
}

impl<'a> Value<'a> {
    /// The value, with borrowed data copied.
    pub fn into_owned(self) -> Value<'static> {
        let owned = |values: Vec<Value<'a>>| values.into_iter().map(Value::into_owned).collect();
        match self {
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
            Self::Numeric(text) => Value::Numeric(Cow::Owned(text.into_owned())),
            Self::Bits(Bits { len, bytes }) => {
                Value::Bits(Bits { len, bytes: Cow::Owned(bytes.into_owned()) })
            }
            Self::Custom { codec, raw } => {
                Value::Custom { codec, raw: Cow::Owned(raw.into_owned()) }
            }
            Self::Map(pairs) => Value::Map(
                pairs
                    .into_iter()
                    .map(|(key, value)| {
                        let value = value.map(|value| Cow::Owned(value.into_owned()));
                        (Cow::Owned(key.into_owned()), value)
                    })
                    .collect(),
            ),
            Self::List(List { dimensions, elements }) => {
                Value::List(List { dimensions, elements: owned(elements) })
            }
            Self::Composite(values) => Value::Composite(owned(values)),
            Self::Range(range) => Value::Range(Box::new(range.into_owned())),
            Self::Multirange(ranges) => {
                Value::Multirange(ranges.into_iter().map(Range::into_owned).collect())
            }
            Self::OfType(part) => {
                let OfType { pg_type, value } = *part;
                Value::OfType(Box::new(OfType { pg_type, value: value.into_owned() }))
            }
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Int(value),
            Self::UInt(value) => Value::UInt(value),
            Self::Float(value) => Value::Float(value),
            Self::Float32(value) => Value::Float32(value),
            Self::Uuid(bytes) => Value::Uuid(bytes),
            Self::Date(days) => Value::Date(days),
            Self::DateInfinity(sign) => Value::DateInfinity(sign),
            Self::Time(micros) => Value::Time(micros),
            Self::Timestamp(micros) => Value::Timestamp(micros),
            Self::TimestampTz(micros) => Value::TimestampTz(micros),
            Self::TimestampInfinity(sign) => Value::TimestampInfinity(sign),
            Self::Interval { months, days, micros } => Value::Interval { months, days, micros },
            Self::IntervalInfinity(sign) => Value::IntervalInfinity(sign),
            Self::TimeTz { micros, offset_s } => Value::TimeTz { micros, offset_s },
            Self::Network(network) => Value::Network(network),
            Self::Point(point) => Value::Point(point),
            Self::Line(line) => Value::Line(line),
            Self::LineSegment(ends) => Value::LineSegment(ends),
            Self::Box(corners) => Value::Box(corners),
            Self::Circle(circle) => Value::Circle(circle),
            Self::Path { is_closed, points } => Value::Path { is_closed, points },
            Self::Polygon(points) => Value::Polygon(points),
            Self::Tid { block, offset } => Value::Tid { block, offset },
            Self::Snapshot { xmin, xmax, running } => Value::Snapshot { xmin, xmax, running },
            Self::Floats(floats) => Value::Floats(floats),
        }
    }
}

impl Range<'_> {
    /// The range, with borrowed data copied.
    pub fn into_owned(self) -> Range<'static> {
        match self {
            Self::Empty => Range::Empty,
            Self::Bounds { lower, upper, lower_inclusive, upper_inclusive } => Range::Bounds {
                lower: lower.into_owned(),
                upper: upper.into_owned(),
                lower_inclusive,
                upper_inclusive,
            },
        }
    }
}

impl Value<'_> {
    /// The name of this variant in messages.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a bool",
            Self::Int(_) | Self::UInt(_) => "an integer",
            Self::Float(_) | Self::Float32(_) => "a float",
            Self::Text(_) => "a string",
            Self::Bytes(_) => "bytes",
            Self::Uuid(_) => "a UUID",
            Self::Date(_) | Self::DateInfinity(_) => "a date",
            Self::Time(_) => "a time",
            Self::Timestamp(_) | Self::TimestampInfinity(_) => "a datetime without time zone",
            Self::TimestampTz(_) => "a datetime with time zone",
            Self::Numeric(_) => "a decimal",
            Self::Interval { .. } | Self::IntervalInfinity(_) => "an interval",
            Self::TimeTz { .. } => "a time with time zone",
            Self::Bits(_) => "a bit string",
            Self::Network(_) => "a network address",
            Self::Point(_) => "a point",
            Self::Line(_) => "a line",
            Self::LineSegment(_) => "a line segment",
            Self::Box(_) => "a box",
            Self::Circle(_) => "a circle",
            Self::Path { .. } => "a path",
            Self::Polygon(_) => "a polygon",
            Self::Tid { .. } => "a row's place",
            Self::Snapshot { .. } => "a snapshot",
            Self::Floats(_) => "a vector",
            Self::Map(_) => "a mapping",
            Self::List(_) => "a list",
            Self::Composite(_) => "a composite",
            Self::Range(_) => "a range",
            Self::Multirange(_) => "a multirange",
            Self::OfType(part) => part.value.describe(),
            Self::Custom { .. } => "an encoded value",
        }
    }
}
