//! IEEE 754 floats of 16 bits: one for the sign, five for the exponent, ten for the fraction. Each
//! is exactly representable in 32 bits.

const SIGN: u16 = 0x8000;
const EXPONENT: u16 = 0x7c00;
const FRACTION: u16 = 0x03ff;

/// The difference in fraction bits to 32-bit floats.
const SHIFT: u32 = 13;

/// The difference in exponent bias to 32-bit floats.
const BIAS: u32 = 127 - 15;

/// The smallest float nearer to 65536, which is out of range, than to 65504.
const OVERFLOW: f32 = 65520.0;

/// The same number; for a NaN, the same bits.
#[inline]
pub(super) fn widen(half: u16) -> f32 {
    let sign = u32::from(half & SIGN) << 16;
    let fraction = u32::from(half & FRACTION);
    let magnitude = match half & EXPONENT {
        // Subnormal: the fraction counts units of 2^-24, the smallest positive value.
        0 => (fraction as f32 / 16_777_216.0).to_bits(),
        EXPONENT => 0x7f80_0000 | fraction << SHIFT,
        exponent => (u32::from(exponent >> 10) + BIAS) << 23 | fraction << SHIFT,
    };
    f32::from_bits(sign | magnitude)
}

/// The nearest number, with ties to even; `None` if it is out of range. NaN stays NaN.
pub(super) fn narrow(float: f32) -> Option<u16> {
    let bits = float.to_bits();
    let sign = (bits >> 16) as u16 & SIGN;
    let magnitude = bits & 0x7fff_ffff;
    let half = if float.is_nan() {
        // A NaN with only low bits must not become infinity.
        let fraction = (magnitude >> SHIFT) as u16 & FRACTION;
        EXPONENT | if fraction == 0 { 0x0200 } else { fraction }
    } else if float.is_infinite() {
        EXPONENT
    } else if float.abs() >= OVERFLOW {
        return None;
    } else if magnitude >= (BIAS + 1) << 23 {
        // A carry out of the fraction correctly increments the exponent.
        rounded(magnitude - (BIAS << 23), SHIFT)
    } else {
        let fraction = magnitude & 0x007f_ffff | 0x0080_0000;
        rounded(fraction, BIAS + 14 - (magnitude >> 23))
    };
    Some(sign | half)
}

/// `bits` without the last `shift`, rounded to nearest, ties to even.
fn rounded(bits: u32, shift: u32) -> u16 {
    // From 25 on, everything rounds to zero.
    let shift = shift.min(31);
    let (kept, rest) = (bits >> shift, bits & ((1 << shift) - 1));
    let tie = 1 << (shift - 1);
    let up = rest > tie || (rest == tie && kept & 1 == 1);
    (kept + u32::from(up)) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_half_is_kept() {
        for half in 0..=u16::MAX {
            assert_eq!(narrow(widen(half)), Some(half), "{half:#06x}");
        }
    }

    #[test]
    fn golden() {
        assert_eq!(widen(0x3c00), 1.0);
        assert_eq!(widen(0xc100), -2.5);
        assert_eq!(widen(0x7bff), 65504.0);
        assert_eq!(widen(0x0001), 5.960_464_5e-8);
        assert_eq!(widen(0x0400), 6.103_515_6e-5);
        assert_eq!(widen(0x03ff), 6.097_555e-5);
        assert_eq!(widen(0x8000).to_bits(), 0x8000_0000);
        assert_eq!(widen(0xfc00), f32::NEG_INFINITY);
        assert!(widen(0x7c01).is_nan());
        assert_eq!(narrow(f32::from_bits(0x7f80_0001)), Some(0x7e00));
    }

    #[test]
    fn the_edges() {
        assert_eq!(narrow(65519.996), Some(0x7bff));
        assert_eq!(narrow(65520.0), None);
        assert_eq!(narrow(-1e9), None);
        assert_eq!(narrow(f32::INFINITY), Some(0x7c00));
        // Half of the smallest number is a tie, and zero is even.
        assert_eq!(narrow(2.980_232_2e-8), Some(0));
        assert_eq!(narrow(2.980_232_6e-8), Some(1));
        assert_eq!(narrow(-1e-40), Some(0x8000));
        assert_eq!(narrow(f32::MIN_POSITIVE), Some(0));
        // The last subnormal and the first normal number, from between them.
        assert_eq!(narrow(6.100_535e-5), Some(0x03ff));
        assert_eq!(narrow(6.101_5e-5), Some(0x0400));
    }

    proptest! {
        /// No other half is nearer, and a tie goes to the even one.
        #[test]
        fn narrow_is_nearest(bits: u32, near in -70_000.0_f32..70_000.0, tiny in -1e-4_f32..1e-4) {
            for float in [f32::from_bits(bits), near, tiny] {
                let Some(half) = narrow(float).filter(|_| float.is_finite()) else { continue };
                let distance = |half| (f64::from(widen(half)) - f64::from(float)).abs();
                for other in [half ^ 1, half.wrapping_add(1), half.wrapping_sub(1)] {
                    let other_is_finite = other & EXPONENT != EXPONENT;
                    prop_assert!(!other_is_finite || distance(half) <= distance(other));
                    if other_is_finite && distance(half) == distance(other) {
                        prop_assert_eq!(half & 1, 0);
                    }
                }
            }
        }
    }
}
