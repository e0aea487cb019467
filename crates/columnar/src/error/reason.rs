//! Errors in a single value from the server.

use std::fmt;

use colonnade_protocol::Oid;

use super::decimal_digits::DecimalDigits;
use super::layout::LayoutFault;
use super::misfit::Misfit;
use crate::value::Sign;

/// The error in a value. [`DecodeError`] adds the names of column and type.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// A value with another length than its type's fixed width.
    WrongLength {
        /// The type's width in bytes.
        expected: usize,
        /// The value's length in bytes.
        actual: usize,
    },
    /// The value ends before its fixed part does.
    TooShort {
        /// Bytes of the fixed part.
        least: usize,
        /// The value's length in bytes.
        actual: usize,
    },
    /// A boolean that is neither 0 nor 1.
    NotBool(u8),
    /// Text that is not UTF-8 from this byte of the value on.
    NotUtf8 {
        /// The number of valid bytes before it.
        valid_up_to: usize,
    },
    /// A binary format with another version than 1, in types whose values begin with a version.
    Version(u8),
    /// Bytes that are not a value of their type, with the reason.
    Malformed(&'static str),
    /// A date outside PostgreSQL's range, in days since 2000-01-01.
    DateOutOfRange(i32),
    /// A timestamp, in microseconds since 2000-01-01, that is outside PostgreSQL's range or exceeds
    /// 64 bits when counted from 1970.
    TimestampOutOfRange(i64),
    /// A time of day, in microseconds, outside 00:00:00 to 24:00:00.
    TimeOutOfRange(i64),
    /// The time 24:00:00, which Arrow's time type lacks.
    EndOfDay,
    /// The same, in a time with time zone.
    EndOfDayWithZone,
    /// A time zone, in seconds west of UTC, of 16 hours or more.
    ZoneOutOfRange(i32),
    /// The time of an interval, in microseconds, that exceeds 64 bits of nanoseconds.
    IntervalNanoseconds(i64),
    /// An interval of days and time that exceeds 64 bits of microseconds.
    DurationOverflow,
    /// An interval with months, while the Arrow type is a duration.
    DurationMonths(i32),
    /// An infinite date, timestamp or interval, under [`Infinity::Raise`](crate::Infinity::Raise).
    Infinite(Sign),
    /// An integer that a float64 cannot hold exactly.
    NotExactInFloat(i64),
    /// The same, for an unsigned type.
    UnsignedNotExactInFloat(u64),
    /// A bit string whose number of bytes does not match its number of bits.
    BitLength {
        /// The number of bits it announces.
        bits: i32,
        /// The number of bytes that follow.
        bytes: usize,
    },
    /// An address that is neither IPv4 nor IPv6.
    AddressFamily(u8),
    /// An address prefix longer than the address.
    AddressPrefix {
        /// The prefix, in bits.
        prefix: u8,
        /// The address, in bits.
        most: u8,
    },
    /// A snapshot whose length does not match its number of transactions.
    SnapshotLength {
        /// The number of transactions it announces.
        running: u32,
        /// Its length in bytes.
        actual: usize,
    },
    /// A `numeric` whose length does not match its number of digits.
    NumericLength {
        /// The number of groups of four decimal digits it announces.
        groups: u16,
        /// Its length in bytes.
        actual: usize,
    },
    /// A `numeric` with a group of four decimal digits above 9999.
    NumericGroup(u16),
    /// A `numeric` with an invalid sign word.
    NumericSign(u16),
    /// A `numeric` whose scale exceeds the maximum.
    NumericScaleWord(u16),
    /// A `numeric` with nonzero digits beyond its own scale.
    NumericHiddenDigits,
    /// A `numeric` NaN, which the Arrow type lacks.
    NumericNan,
    /// A `numeric` infinity, which the Arrow type lacks.
    NumericInfinite(Sign),
    /// A `numeric` with more digits after the point than its column has.
    NumericScale {
        /// The digits that the value and the column's scale need together.
        needed: DecimalDigits,
        /// Digits after the point in the column.
        column_scale: i32,
        /// The origin of the column's scale.
        fixed_by: FixedBy,
    },
    /// A `numeric` with more digits than its column has.
    NumericPrecision {
        /// The digits that the value and the column's scale need together.
        needed: DecimalDigits,
        /// The column's precision.
        precision: u8,
        /// Digits after the point.
        column_scale: i32,
        /// The origin of the precision and scale.
        fixed_by: FixedBy,
    },
    /// A `numeric` that, together with the column's scale, exceeds the 76 digits of a decimal256.
    NumericTooWide {
        /// Digits after the point that the column needs.
        column_scale: i32,
    },
    /// A `numeric` that is finite, but infinite as a float64.
    NumericFloatOverflow,
    /// A batch with 2 GiB of text or bytes, after a first batch that fixed 32-bit offsets.
    OffsetOverflow,
    /// An error in the value's layout.
    Layout(LayoutFault),
    /// A value that the type requested in a schema cannot hold.
    Misfit(Misfit),
}

impl From<Misfit> for Reason {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(misfit)
    }
}

/// The origin of a decimal column's precision and scale.
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

/// The option that a message suggests.
pub(super) enum Remedy {
    None,
    /// Types that an entry of the schema can request.
    Schema(Vec<String>),
    Infinity,
    NumericSpecial,
}

/// A remedy of several types.
pub(super) fn schema(types: &[&str]) -> Remedy {
    Remedy::Schema(types.iter().map(|&arrow_type| arrow_type.to_owned()).collect())
}

impl Reason {
    /// Whether the value was valid and only the cached type is out of date.
    pub fn is_stale_type(&self) -> bool {
        matches!(self, Self::Layout(fault) if fault.is_stale_type())
    }

    /// The type that must be looked up before the value can be read.
    pub fn unknown_type(&self) -> Option<Oid> {
        match self {
            Self::Layout(fault) => fault.unknown_type(),
            _ => None,
        }
    }

    pub(super) fn remedy(&self) -> Remedy {
        match self {
            Self::Layout(LayoutFault::Within(_, reason)) => match reason.remedy() {
                Remedy::Schema(_) | Remedy::NumericSpecial => schema(&["utf8"]),
                other => other,
            },
            Self::Layout(fault) if fault.is_readable_as_text() => schema(&["utf8"]),
            Self::Infinite(_) => Remedy::Infinity,
            Self::NumericNan | Self::NumericInfinite(_) => Remedy::NumericSpecial,
            Self::EndOfDay => schema(&["int64"]),
            Self::EndOfDayWithZone
            | Self::IntervalNanoseconds(_)
            | Self::DurationMonths(_)
            | Self::DurationOverflow => schema(&["utf8"]),
            Self::NotExactInFloat(_) => schema(&["int64"]),
            Self::NumericTooWide { .. } => schema(&["utf8", "float64"]),
            Self::NumericScale { needed, .. } | Self::NumericPrecision { needed, .. } => {
                Remedy::Schema(needed.choices())
            }
            Self::NumericFloatOverflow => schema(&["utf8"]),
            Self::OffsetOverflow => schema(&["large_utf8"]),
            Self::Layout(LayoutFault::GeometryKind(_)) => schema(&["binary"]),
            Self::Misfit(misfit) => misfit.remedy(),
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
            Self::Version(version) => {
                write!(f, "the binary form has version {version} instead of 1")
            }
            Self::Malformed(fault) => f.write_str(fault),
            Self::DateOutOfRange(days) => {
                write!(f, "{days} days since 2000-01-01 is outside PostgreSQL's dates")
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
                write!(f, "{micros} microseconds is not a time of day")
            }
            Self::EndOfDay | Self::EndOfDayWithZone => {
                f.write_str("Arrow's time of day has no 24:00:00")
            }
            Self::ZoneOutOfRange(west) => {
                write!(f, "{west} seconds west of UTC is outside PostgreSQL's time zones")
            }
            Self::IntervalNanoseconds(micros) => {
                write!(f, "{micros} microseconds do not fit into Arrow's 64 bits of nanoseconds")
            }
            Self::DurationOverflow => {
                f.write_str("the days and microseconds of the interval do not fit into 64 bits")
            }
            Self::DurationMonths(months) => {
                write!(f, "the interval has {months} months, which have no fixed length")
            }
            Self::Infinite(Sign::Positive) => f.write_str("the value is infinity"),
            Self::Infinite(Sign::Negative) => f.write_str("the value is -infinity"),
            Self::NotExactInFloat(value) => {
                write!(f, "{value} has no exact float64")
            }
            Self::UnsignedNotExactInFloat(value) => write!(
                f,
                "{value} has no exact float64; leave it out of schema to get it as uint64"
            ),
            Self::BitLength { bits, bytes } => {
                write!(f, "a string of {bits} bits cannot have {bytes} bytes")
            }
            Self::AddressFamily(family) => {
                write!(f, "the address has an unknown family {family}")
            }
            Self::AddressPrefix { prefix, most } => {
                write!(f, "the address has {most} bits and a prefix of {prefix}")
            }
            Self::SnapshotLength { running, actual } => {
                write!(f, "a snapshot with {running} transactions cannot have {actual} bytes")
            }
            Self::Layout(fault) => fault.fmt(f),
            Self::Misfit(misfit) => misfit.fmt(f),
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
            Self::NumericScale { column_scale, fixed_by, .. } => write!(
                f,
                "the value has more digits after the point than the {column_scale} that were \
                 fixed {fixed_by}"
            ),
            Self::NumericPrecision { precision, column_scale, fixed_by, .. } => write!(
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
