//! Decimals as the nearest float64, and whether a float64 holds each of them.
//!
//! A float holds a decimal if the decimal is the shortest one that reads back as the float, as 0.1
//! is, or if both are exactly equal, as for 2^60. Then printing the float, or computing with it,
//! gives what the decimal would.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, DecimalType};
use arrow_array::{Array, PrimitiveArray};
use arrow_buffer::i256;
use arrow_schema::DataType;

use crate::types::numeric::EXACT_POWERS;

/// Below this, a float holds every decimal, because it has at most 15 digits, and those digits are
/// a float themselves.
pub(crate) const HELD_MOST: u64 = 1_000_000_000_000_000;

/// Powers of ten for removing trailing zeros, the largest first.
const ZEROS: [(u128, i32); 5] =
    [(10_000_000_000_000_000, 16), (100_000_000, 8), (10_000, 4), (100, 2), (10, 1)];

/// A column of decimals as floats.
#[derive(Clone, PartialEq, Debug)]
pub struct DecimalFloats {
    /// The nearest float64 of each row, NaN for NULL.
    pub values: Vec<f64>,
    /// The first row whose float does not hold the value.
    pub first_inexact: Option<usize>,
}

/// The floats of a column of 128-bit or 256-bit decimals; `None` for another column.
pub fn decimal_floats(column: &dyn Array) -> Option<DecimalFloats> {
    match column.data_type() {
        DataType::Decimal128(_, scale) => {
            let decimals = column.as_primitive::<Decimal128Type>();
            Some(floats(decimals, (*scale).into(), Some))
        }
        DataType::Decimal256(_, scale) => {
            let decimals = column.as_primitive::<Decimal256Type>();
            Some(floats(decimals, (*scale).into(), i256::to_i128))
        }
        _ => None,
    }
}

fn floats<T: DecimalType>(
    decimals: &PrimitiveArray<T>,
    scale: i32,
    narrow: impl Fn(T::Native) -> Option<i128>,
) -> DecimalFloats
where
    T::Native: ToString,
{
    let mut first_inexact = None;
    let values = decimals.iter().enumerate().map(|(row, value)| {
        let Some(value) = value else { return f64::NAN };
        if let Some(float) = narrow(value).and_then(|value| short(value, scale)) {
            return float;
        }
        let text = value.to_string();
        let digits = text.trim_start_matches('-');
        // Digits and an exponent always form a number.
        let magnitude: f64 = format!("{digits}e{}", -scale).parse().unwrap_or(f64::NAN);
        if first_inexact.is_none() && !is_held(digits, scale, magnitude) {
            first_inexact = Some(row);
        }
        if digits.len() == text.len() { magnitude } else { -magnitude }
    });
    DecimalFloats { values: values.collect(), first_inexact }
}

/// The float of a decimal of up to 15 digits beside zeros at its end: an integer and a power of ten
/// that are both floats, so that one operation rounds once. `None` says nothing about the decimal.
#[inline]
fn short(value: i128, scale: i32) -> Option<f64> {
    let (mut digits, mut power) = (value.unsigned_abs(), -scale);
    if digits > HELD_MOST.into() {
        for (factor, zeros) in ZEROS {
            if digits.is_multiple_of(factor) {
                digits /= factor;
                power += zeros;
            }
        }
    }
    let digits = u64::try_from(digits).ok().filter(|digits| *digits <= HELD_MOST)? as f64;
    let factor = EXACT_POWERS.get(power.unsigned_abs() as usize)?;
    let magnitude = if power < 0 { digits / factor } else { digits * factor };
    Some(if value < 0 { -magnitude } else { magnitude })
}

/// Whether a float holds the decimal that it is nearest to, both without their signs.
pub(crate) fn is_held(digits: &str, scale: i32, float: f64) -> bool {
    let significant = digits.trim_end_matches('0');
    let power = (digits.len() - significant.len()) as i32 - scale;
    if significant.is_empty() {
        return true;
    }
    let shortest = shortest(float);
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let written: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let last =
        exponent.parse().map_or(i32::MAX, |exponent: i32| exponent + 1 - written.len() as i32);
    if written == significant && last == power {
        return true;
    }
    // A float has as many digits after the point as bits there, and prints all of them.
    let places = usize::try_from(scale.max(0)).unwrap_or(0);
    let printed = format!("{float:.places$}").replace('.', "");
    fraction_bits(float) <= scale.max(0) && printed.trim_start_matches('0') == digits
}

/// The digits that Python prints: of the shortest decimals that read back as the float, the
/// nearest, with ties to even. Rust prints another one of two that are equally near.
fn shortest(float: f64) -> String {
    let shortest = format!("{float:e}");
    let digits = shortest.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit);
    let places = digits.count().saturating_sub(1);
    let nearest = format!("{float:.places$e}");
    if nearest.parse() == Ok(float) { nearest } else { shortest }
}

/// The number of bits after the point of a positive float.
fn fraction_bits(float: f64) -> i32 {
    let bits = float.to_bits();
    let exponent = (bits >> 52 & 0x7FF) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    1075 - exponent.max(1) - mantissa.trailing_zeros() as i32
}

#[cfg(test)]
mod tests {
    use arrow_array::{Decimal128Array, Decimal256Array, Int32Array};
    use proptest::prelude::*;

    use super::*;

    fn of_128(values: Vec<Option<i128>>, scale: i8) -> DecimalFloats {
        let array = Decimal128Array::from(values).with_precision_and_scale(38, scale).unwrap();
        decimal_floats(&array).unwrap()
    }

    fn of_256(values: Vec<Option<i256>>, scale: i8) -> DecimalFloats {
        let array = Decimal256Array::from(values).with_precision_and_scale(76, scale).unwrap();
        decimal_floats(&array).unwrap()
    }

    fn is_exact(value: i128, scale: i8) -> bool {
        let narrow = of_128(vec![Some(value)], scale);
        let wide = of_256(vec![Some(i256::from_i128(value))], scale);
        assert_eq!(narrow, wide);
        narrow.first_inexact.is_none()
    }

    #[test]
    fn what_is_held() {
        assert!(is_exact(1, 1));
        assert!(is_exact(-1, 38));
        assert!(is_exact(0, 38));
        assert!(is_exact(999_999_999_999_999, 7));
        // Its float's shortest decimal has 17 digits.
        assert!(is_exact(30_000_000_000_000_004, 17));
        assert!(is_exact(9_007_199_254_740_992, 0));
        // 2^60, whose float prints as ...847000.
        assert!(is_exact(1_152_921_504_606_846_976, 0));
        // 2^-30.
        assert!(is_exact(931_322_574_615_478_515_625, 30));
        assert!(is_exact(150_000_000_000_000_000_000_000, 23));
        // The float is ...57.25: two decimals are as near, and Python prints the even one.
        assert!(is_exact(22_294_191_613_620_572, 1));
        assert!(!is_exact(22_294_191_613_620_573, 1));
    }

    #[test]
    fn what_is_not_held() {
        assert!(!is_exact(1_234_567_890_123_456_789, 2));
        assert!(!is_exact(9_007_199_254_740_993, 0));
        assert!(!is_exact(-1_152_921_504_606_846_977, 0));
        // A float's exact digits, but not its shortest decimal.
        assert!(!is_exact(10_000_000_000_000_001, 17));
        assert!(!is_exact(33_333_333_333_333_333_333, 20));
        let most = i256::from_i128(10).wrapping_pow(76).wrapping_sub(i256::ONE);
        let floats = of_256(vec![Some(i256::ONE), None, Some(most), Some(most)], 0);
        assert_eq!(floats.first_inexact, Some(2));
        assert_eq!(floats.values[2], 1e76);
    }

    #[test]
    fn nulls_and_others() {
        let floats = of_128(vec![None, Some(-25), None], 1);
        assert!(floats.values[0].is_nan() && floats.values[2].is_nan());
        assert_eq!((floats.values[1], floats.first_inexact), (-2.5, None));
        assert_eq!(decimal_floats(&Int32Array::from(vec![1])), None);
    }

    proptest! {
        /// The result of Rust's own parser for the decimal's text.
        #[test]
        fn the_nearest(value in any::<i128>(), shift in 0..127_u32, scale in 0..=38_i8) {
            let value = (value >> shift) % 10_i128.pow(38);
            let expected: f64 = format!("{value}e-{scale}").parse().unwrap();
            let narrow = of_128(vec![Some(value)], scale);
            prop_assert_eq!(narrow.values[0], expected);
            let wide = of_256(vec![Some(i256::from_i128(value))], scale);
            prop_assert_eq!(narrow, wide);
        }

        /// A float holds its own shortest text, but not the same text with two more digits.
        #[test]
        fn the_shortest(whole in 1_u64..100_000_000, part in any::<u32>()) {
            let float = whole as f64 / f64::from(part.max(1));
            let text = float.to_string();
            let scale = text.split_once('.').map_or(0, |(_, rest)| rest.len());
            prop_assume!(scale < 21 && text.len() < 36);
            let value: i128 = text.replace('.', "").parse().unwrap();
            prop_assert!(is_exact(value, scale as i8));
            if value > 1_000_000_000_000_000 {
                prop_assert!(!is_exact(value * 100 + 1, scale as i8 + 2));
            }
        }
    }
}
