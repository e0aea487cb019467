//! Floats as the server prints them: the fewest digits that give the same float again.

use std::fmt::Write;

/// From here on halves between two floats can be short decimals.
const FIRST_HALF: f32 = 4_194_304.0;

/// Appends a `float4` as the server prints it.
pub(super) fn print_float4(float: f32, out: &mut String) {
    if float.is_nan() {
        out.push_str("NaN");
        return;
    }
    if float.is_infinite() {
        out.push_str(if float > 0.0 { "Infinity" } else { "-Infinity" });
        return;
    }
    let scientific = fewest_digits(float);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    // Nothing can go wrong in a string.
    let _ = match exponent.parse().unwrap_or(0) {
        -4..6 => write!(out, "{float}"),
        exponent @ ..-4_i32 => write!(out, "{digits}e-{:02}", -exponent),
        exponent => write!(out, "{digits}e+{exponent:02}"),
    };
}

/// The server takes no number that lies half way between two floats, where readers may disagree
/// which of them is meant. Our own formatting does.
fn fewest_digits(float: f32) -> String {
    let shortest = format!("{float:e}");
    if float.abs() < FIRST_HALF || !is_half_way(&shortest) {
        return shortest;
    }
    let longer = (0..9).map(|places| format!("{float:.places$e}"));
    let is_right = |text: &String| text.parse() == Ok(float) && !is_half_way(text);
    longer.into_iter().find(is_right).unwrap_or(shortest)
}

/// Whether a decimal is a float with one bit more than `float4` has.
fn is_half_way(decimal: &str) -> bool {
    decimal.parse::<f64>().is_ok_and(|float| float.to_bits() & 0x1fff_ffff == 0x1000_0000)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(float: f32) -> String {
        let mut text = String::new();
        print_float4(float, &mut text);
        text
    }

    /// What the server prints: `SELECT unnest('{...}'::real[])::text`.
    #[test]
    fn golden() {
        for text in [
            "0",
            "-0",
            "1e-07",
            "1e+20",
            "123456.7",
            "1e+15",
            "0.0001",
            "1e-05",
            "3.4028235e+38",
            "1e-45",
            "-0.1",
            "1.6777216e+07",
            "1.234567e+06",
            "9.999999e+07",
            "999999",
            "1e+06",
            "1.2345675e+06",
            "NaN",
            "Infinity",
            "-Infinity",
            // Here the decimal with one digit less lies half way between two floats.
            "3.3554448e+07",
        ] {
            assert_eq!(printed(text.parse().unwrap()), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_the_same_float(bits: u32) {
            let float = f32::from_bits(bits);
            let read: f32 = printed(float).parse().unwrap();
            prop_assert!(read.to_bits() == bits || (read.is_nan() && float.is_nan()));
        }
    }
}
