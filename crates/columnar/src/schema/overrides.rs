//! The Arrow types that a `schema` can request, and their names.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::TimeUnit;

/// An Arrow type requested by name. Each PostgreSQL type's own file defines which of them it can be
/// decoded to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Override {
    /// `bool`
    Bool,
    /// `int16`
    Int16,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `uint16`
    UInt16,
    /// `uint32`
    UInt32,
    /// `uint64`
    UInt64,
    /// `float32`
    Float32,
    /// `float64`
    Float64,
    /// `utf8`
    Utf8,
    /// `large_utf8`
    LargeUtf8,
    /// `utf8_view`
    Utf8View,
    /// `dictionary<int32, utf8>`
    Dictionary,
    /// `binary`
    Binary,
    /// `fixed_size_binary[16]`
    Uuid,
    /// `date32`
    Date32,
    /// `time32[s]`, `time32[ms]`, `time64[us]`, `time64[ns]`
    Time(TimeUnit),
    /// `duration[s]`, `duration[ms]`, `duration[us]`, `duration[ns]`
    Duration(TimeUnit),
    /// `timestamp[us]`, `timestamp[us, Europe/Berlin]`, and likewise with `s`, `ms` and `ns`.
    Timestamp {
        /// The unit.
        unit: TimeUnit,
        /// The name of a time zone; without one the column keeps its own, if any.
        zone: Option<Arc<str>>,
    },
    /// `decimal128(precision, scale)`
    Decimal128 {
        /// 1 to 38.
        precision: u8,
        /// 0 to `precision`.
        scale: u8,
    },
    /// `decimal256(precision, scale)`
    Decimal256 {
        /// 1 to 76.
        precision: u8,
        /// 0 to `precision`.
        scale: u8,
    },
    /// `U12`: text in cells of this many characters, of four bytes each, as NumPy's dtype.
    Characters(u32),
    /// `S12`: cells of this many bytes, as NumPy's dtype.
    Bytes(u32),
}

/// Larger cells are refused: a single one would be more than a megabyte.
const CELL_BYTES_MOST: u32 = 1 << 20;

impl Override {
    /// The types without parameters.
    const SIMPLE: [(&'static str, Self); 16] = [
        ("bool", Self::Bool),
        ("int16", Self::Int16),
        ("int32", Self::Int32),
        ("int64", Self::Int64),
        ("uint16", Self::UInt16),
        ("uint32", Self::UInt32),
        ("uint64", Self::UInt64),
        ("float32", Self::Float32),
        ("float64", Self::Float64),
        ("utf8", Self::Utf8),
        ("large_utf8", Self::LargeUtf8),
        ("utf8_view", Self::Utf8View),
        ("dictionary<int32, utf8>", Self::Dictionary),
        ("binary", Self::Binary),
        ("fixed_size_binary[16]", Self::Uuid),
        ("date32", Self::Date32),
    ];

    /// Parses `[...]`, `(...)` or a width after a name.
    fn with_parameters(text: &str) -> Option<Self> {
        if let Some(digits) = text.strip_prefix('U') {
            return cell_width(digits).filter(|n| *n <= CELL_BYTES_MOST / 4).map(Self::Characters);
        }
        if let Some(digits) = text.strip_prefix('S') {
            return cell_width(digits).filter(|n| *n <= CELL_BYTES_MOST).map(Self::Bytes);
        }
        if let Some((name, rest)) = text.split_once('[') {
            return moment(name, rest.strip_suffix(']')?);
        }
        let (name, rest) = text.split_once('(')?;
        let (precision, scale) = rest.trim_end().strip_suffix(')')?.split_once(',')?;
        let precision: u8 = precision.trim().parse().ok()?;
        let scale: u8 = scale.trim().parse().ok()?;
        if precision == 0 || scale > precision {
            return None;
        }
        match name.trim_end() {
            "decimal128" if precision <= 38 => Some(Self::Decimal128 { precision, scale }),
            "decimal256" if precision <= 76 => Some(Self::Decimal256 { precision, scale }),
            _ => None,
        }
    }
}

/// A cell must have at least one byte or character.
fn cell_width(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|width| plain && *width > 0)
}

fn moment(name: &str, parameters: &str) -> Option<Override> {
    let (unit, zone) = match parameters.split_once(',') {
        Some((unit, zone)) => (unit.trim(), Some(zone.trim())),
        None => (parameters.trim(), None),
    };
    let unit = match unit {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    };
    match (name, unit, zone) {
        ("time32", TimeUnit::Second | TimeUnit::Millisecond, None)
        | ("time64", TimeUnit::Microsecond | TimeUnit::Nanosecond, None) => {
            Some(Override::Time(unit))
        }
        ("duration", _, None) => Some(Override::Duration(unit)),
        ("timestamp", _, None) => Some(Override::Timestamp { unit, zone: None }),
        ("timestamp", _, Some(zone)) if is_zone(zone) => {
            Some(Override::Timestamp { unit, zone: Some(zone.into()) })
        }
        _ => None,
    }
}

/// `UTC`, `Europe/Berlin`, `Etc/GMT+1`, `+01:00`: the consumer decides which zones exist.
fn is_zone(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"/_+-:".contains(&byte);
    !name.is_empty() && name.bytes().all(known)
}

/// The unit's name in Arrow's Python libraries.
pub(crate) fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decimal128 { precision, scale } => write!(f, "decimal128({precision}, {scale})"),
            Self::Decimal256 { precision, scale } => write!(f, "decimal256({precision}, {scale})"),
            Self::Characters(width) => write!(f, "U{width}"),
            Self::Bytes(width) => write!(f, "S{width}"),
            Self::Time(unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => {
                write!(f, "time32[{}]", unit_name(*unit))
            }
            Self::Time(unit) => write!(f, "time64[{}]", unit_name(*unit)),
            Self::Duration(unit) => write!(f, "duration[{}]", unit_name(*unit)),
            Self::Timestamp { unit, zone: None } => write!(f, "timestamp[{}]", unit_name(*unit)),
            Self::Timestamp { unit, zone: Some(zone) } => {
                write!(f, "timestamp[{}, {zone}]", unit_name(*unit))
            }
            simple => {
                let name = Self::SIMPLE.into_iter().find(|(_, known)| known == simple);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}

impl FromStr for Override {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((_, known)) = Self::SIMPLE.into_iter().find(|(name, _)| *name == text) {
            return Ok(known);
        }
        Self::with_parameters(text)
            .ok_or_else(|| ParseOptionError::ArrowType { given: text.to_owned() })
    }
}

/// An option that cannot be parsed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParseOptionError {
    /// An Arrow type in a schema.
    ArrowType {
        /// The text that was given.
        given: String,
    },
    /// The policy for infinities.
    Infinity {
        /// The text that was given.
        given: String,
    },
}

impl fmt::Display for ParseOptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ArrowType { given } => {
                write!(f, "schema asks for {given:?}, which is none of ")?;
                for (name, _) in Override::SIMPLE {
                    write!(f, "{name}, ")?;
                }
                f.write_str(
                    "timestamp[unit], timestamp[unit, zone] and duration[unit] with s, ms, us or \
                     ns, time32[s], time32[ms], time64[us], time64[ns], \
                     decimal128(precision, scale) with 0 <= scale <= precision <= 38, \
                     decimal256(precision, scale) with 0 <= scale <= precision <= 76, \
                     U<characters> and S<bytes> with a width from 1 to a megabyte; names of \
                     pandas, NumPy, pyarrow and Polars are taken, too, as \"Int64\", \"string\", \
                     \"category\", \"boolean\" and \"datetime64[ns]\"",
                )
            }
            Self::Infinity { given } => {
                write!(
                    f,
                    "infinity is {given:?}, which is none of \"raise\", \"null\", \"saturate\""
                )
            }
        }
    }
}

impl std::error::Error for ParseOptionError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (name, known) in Override::SIMPLE {
            assert_eq!(name.parse::<Override>().unwrap(), known);
            assert_eq!(known.to_string(), name);
        }
        for name in [
            "decimal128(38, 10)",
            "decimal128(1, 0)",
            "decimal256(76, 76)",
            "time32[s]",
            "time32[ms]",
            "time64[us]",
            "time64[ns]",
            "duration[s]",
            "timestamp[ns]",
            "timestamp[ms, Europe/Berlin]",
            "timestamp[us, +01:00]",
            "U1",
            "S1048576",
        ] {
            assert_eq!(name.parse::<Override>().unwrap().to_string(), name);
        }
        assert_eq!(
            "decimal128( 5,2 )".parse::<Override>().unwrap(),
            Override::Decimal128 { precision: 5, scale: 2 }
        );
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "",
            "Int64",
            "int8",
            "decimal128",
            "decimal128(",
            "decimal128(1)",
            "decimal128(39, 0)",
            "decimal128(0, 0)",
            "decimal128(3, 4)",
            "decimal128(3, -1)",
            "decimal256(77, 0)",
            "decimal64(3, 1)",
            "decimal128(3, 1) x",
            "time32[us]",
            "time64[s]",
            "time64[us, UTC]",
            "duration[us, UTC]",
            "timestamp[D]",
            "timestamp[us, ]",
            "timestamp[us, U\nC]",
            "timestamp[us",
            "U",
            "U0",
            "U+1",
            "S1048577",
            "U262145",
            "U99999999999",
        ] {
            let error = name.parse::<Override>().unwrap_err();
            assert!(error.to_string().contains("large_utf8"), "{name}");
        }
    }
}
