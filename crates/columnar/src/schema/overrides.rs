//! The Arrow types that a `schema` can ask for, and their spelling.

use std::fmt;
use std::str::FromStr;

use arrow_schema::TimeUnit;

/// An Arrow type asked for by name. Which of them a PostgreSQL type can be decoded to is said in
/// that type's own file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Override {
    /// `bool`
    Bool,
    /// `int16`
    Int16,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `uint32`
    UInt32,
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
    /// `binary`
    Binary,
    /// `duration[us]`
    Duration(TimeUnit),
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
}

impl Override {
    /// The types without parameters.
    const SIMPLE: [(&'static str, Self); 12] = [
        ("bool", Self::Bool),
        ("int16", Self::Int16),
        ("int32", Self::Int32),
        ("int64", Self::Int64),
        ("uint32", Self::UInt32),
        ("float32", Self::Float32),
        ("float64", Self::Float64),
        ("utf8", Self::Utf8),
        ("large_utf8", Self::LargeUtf8),
        ("utf8_view", Self::Utf8View),
        ("binary", Self::Binary),
        ("duration[us]", Self::Duration(TimeUnit::Microsecond)),
    ];
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decimal128 { precision, scale } => write!(f, "decimal128({precision}, {scale})"),
            Self::Decimal256 { precision, scale } => write!(f, "decimal256({precision}, {scale})"),
            simple => {
                let name = Self::SIMPLE.iter().find(|(_, known)| known == simple);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}

impl FromStr for Override {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((_, known)) = Self::SIMPLE.iter().find(|(name, _)| *name == text) {
            return Ok(*known);
        }
        let unknown = || ParseOptionError::ArrowType { given: text.to_owned() };
        let (name, rest) = text.split_once('(').ok_or_else(unknown)?;
        let arguments = rest.trim_end().strip_suffix(')').ok_or_else(unknown)?;
        let (precision, scale) = arguments.split_once(',').ok_or_else(unknown)?;
        let precision: u8 = precision.trim().parse().map_err(|_| unknown())?;
        let scale: u8 = scale.trim().parse().map_err(|_| unknown())?;
        if precision == 0 || scale > precision {
            return Err(unknown());
        }
        match name.trim_end() {
            "decimal128" if precision <= 38 => Ok(Self::Decimal128 { precision, scale }),
            "decimal256" if precision <= 76 => Ok(Self::Decimal256 { precision, scale }),
            _ => Err(unknown()),
        }
    }
}

/// An option that is spelled in a way nobody knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParseOptionError {
    /// An Arrow type in a schema.
    ArrowType {
        /// What was given.
        given: String,
    },
    /// The policy for infinities.
    Infinity {
        /// What was given.
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
                    "decimal128(precision, scale) with 0 <= scale <= precision <= 38, \
                     decimal256(precision, scale) with 0 <= scale <= precision <= 76",
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
        for name in ["decimal128(38, 10)", "decimal128(1, 0)", "decimal256(76, 76)"] {
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
        ] {
            let error = name.parse::<Override>().unwrap_err();
            assert!(error.to_string().contains("large_utf8"), "{name}");
        }
    }
}
