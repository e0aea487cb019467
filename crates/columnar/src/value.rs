//! The neutral value: what rows give and what parameters take, without Python and without Arrow.

use std::borrow::Cow;

/// Which of two infinities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sign {
    /// Later, or more, than anything.
    Positive,
    /// Earlier, or less, than anything.
    Negative,
}

/// One value. Decoding borrows from the row; which variant a type gives is its
/// [`Kind`](crate::Kind). Times count from 1970-01-01, in days or microseconds.
#[derive(Clone, PartialEq, Debug)]
pub enum Value<'a> {
    /// SQL's NULL, in any type.
    Null,
    /// `bool`.
    Bool(bool),
    /// `int2`, `int4`, `int8`.
    Int(i64),
    /// `oid`, `xid`, `cid`.
    UInt(u64),
    /// `float8`.
    Float(f64),
    /// `float4`.
    Float32(f32),
    /// The text family, `json` and `jsonb`.
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
}

impl Value<'_> {
    /// The word for this variant in messages.
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
        }
    }
}
