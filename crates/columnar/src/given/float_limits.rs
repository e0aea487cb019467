//! Floats of 64 bits where PostgreSQL has 32.

use crate::error::EncodeError;

/// The nearest float of 32 bits.
///
/// # Errors
/// The float is finite and beyond the largest of 32 bits.
#[inline]
pub fn nearest_float4(wide: f64) -> Result<f32, EncodeError> {
    let narrow = wide as f32;
    if narrow.is_infinite() && wide.is_finite() {
        return Err(EncodeError::Float4OutOfRange { given: format!("{wide:e}") });
    }
    Ok(narrow)
}

/// The nearest `float4`, as the server casts a `float8`.
///
/// # Errors
/// The float is beyond the largest `float4`, or is not 0 and would become 0.
#[inline]
pub fn float4(wide: f64) -> Result<f32, EncodeError> {
    match nearest_float4(wide)? {
        0.0 if wide != 0.0 => Err(EncodeError::Float4OutOfRange { given: format!("{wide:e}") }),
        narrow => Ok(narrow),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finite_float_stays_finite() {
        assert_eq!(nearest_float4(f64::from(f32::MAX)), Ok(f32::MAX));
        assert_eq!(nearest_float4(f64::NEG_INFINITY), Ok(f32::NEG_INFINITY));
        assert!(nearest_float4(f64::NAN).is_ok_and(f32::is_nan));
        assert!(nearest_float4(3.402_823_567_797_337e38).is_err());
        assert_eq!(nearest_float4(-1e-46), Ok(-0.0));
    }

    #[test]
    fn a_float4_is_0_for_0_only() {
        // Half of the smallest one is rounded to 0, and more than half to the smallest.
        let least = f64::from(f32::from_bits(1));
        assert_eq!(float4(least), Ok(f32::from_bits(1)));
        assert_eq!(float4(-least * 0.500_000_1), Ok(-f32::from_bits(1)));
        assert_eq!(float4(0.0), Ok(0.0));
        assert!(float4(-0.0).is_ok_and(f32::is_sign_negative));
        assert!(float4(f64::NAN).is_ok_and(f32::is_nan));
        for lost in [least / 2.0, -least / 2.0, 1e-46, 5e-324, 1e39] {
            assert!(float4(lost).unwrap_err().to_string().contains("out of range for float4"));
        }
    }
}
