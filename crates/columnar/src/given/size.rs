//! Refuses values that are too large for PostgreSQL before they are copied: a buffer or a sequence
//! may claim more than there is memory.

use std::fmt;

use crate::error::EncodeError;

const LENGTH_BYTES: usize = 4;

/// A value is smaller than 1 GiB.
const VALUE_BYTES_END: usize = 1 << 30;

/// A value that is too large.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooLarge {
    /// It has this many bytes.
    Bytes(usize),
    /// It is an array of this many elements.
    Elements(usize),
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => EncodeError::TooLong { bytes: *bytes }.fmt(f),
            Self::Elements(count) => {
                write!(f, "the array has {count} elements, and PostgreSQL takes less than 1 GiB")
            }
        }
    }
}

impl std::error::Error for TooLarge {}

/// Refuses a value of too many bytes.
///
/// # Errors
/// It has 1 GiB or more.
#[inline]
pub fn check_value_bytes(bytes: usize) -> Result<(), TooLarge> {
    if bytes < VALUE_BYTES_END { Ok(()) } else { Err(TooLarge::Bytes(bytes)) }
}

/// Refuses an array of too many elements, which each have at least a length field.
///
/// # Errors
/// They have 1 GiB or more.
pub fn check_array_elements(count: usize) -> Result<(), TooLarge> {
    let fits = count < VALUE_BYTES_END / LENGTH_BYTES;
    if fits { Ok(()) } else { Err(TooLarge::Elements(count)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_smaller_than_a_gibibyte() {
        assert_eq!(check_value_bytes((1 << 30) - 1), Ok(()));
        assert_eq!(check_value_bytes(1 << 30), Err(TooLarge::Bytes(1 << 30)));
        let error = EncodeError::TooLong { bytes: 1 << 30 };
        assert_eq!(TooLarge::Bytes(1 << 30).to_string(), error.to_string());
    }

    #[test]
    fn elements_have_lengths() {
        assert_eq!(check_array_elements((1 << 28) - 1), Ok(()));
        assert_eq!(
            check_array_elements(1 << 28).unwrap_err().to_string(),
            "the array has 268435456 elements, and PostgreSQL takes less than 1 GiB"
        );
    }
}
