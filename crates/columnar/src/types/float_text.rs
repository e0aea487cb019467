//! Floats as the server prints them: the fewest digits that read back as the same float.

use std::fmt::Write;

/// Appends a `float4` as the server prints it.
pub(super) fn print_float4(float: f32, out: &mut String) {
    print(float.into(), out, 6, || fewest_digits(float.abs()));
}

/// Appends a `float8` as the server prints it.
pub(super) fn print_float8(float: f64, out: &mut String) {
    print(float, out, 15, || fewest_digits_of_float8(float.abs()));
}

/// `plain_end` is the first power of ten that is printed with an exponent.
fn print(float: f64, out: &mut String, plain_end: i32, digits: impl FnOnce() -> String) {
    if float.is_nan() {
        out.push_str("NaN");
        return;
    }
    if float.is_sign_negative() {
        out.push('-');
    }
    if float.is_infinite() {
        out.push_str("Infinity");
        return;
    }
    let scientific = digits();
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent = exponent.parse().unwrap_or(0);
    // Writing to a String does not fail.
    let _ = match exponent {
        _ if (-4..plain_end).contains(&exponent) => {
            print_plainly(&mantissa.replace('.', ""), exponent, out);
            Ok(())
        }
        ..0_i32 => write!(out, "{mantissa}e-{:02}", -exponent),
        _ => write!(out, "{mantissa}e+{exponent:02}"),
    };
}

/// Prints without an exponent; the exponent is the power of ten of the first digit.
fn print_plainly(digits: &str, exponent: i32, out: &mut String) {
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if exponent < 0 {
        out.push_str("0.");
        out.push_str(&zeros(-exponent - 1));
        out.push_str(digits);
        return;
    }
    match digits.split_at_checked(exponent as usize + 1) {
        Some((whole, "")) => out.push_str(whole),
        Some((whole, behind)) => {
            out.push_str(whole);
            out.push('.');
            out.push_str(behind);
        }
        None => {
            out.push_str(digits);
            out.push_str(&zeros(exponent + 1 - digits.len() as i32));
        }
    }
}

/// Among the shortest decimals the server takes the nearest, with ties to even, and none halfway
/// between two floats, because readers may disagree about its meaning. Rust's own formatting has
/// other rules for both.
fn fewest_digits(float: f32) -> String {
    let shortest = format!("{float:e}");
    let digits = shortest.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit);
    let nearest = (digits.count() - 1..9).map(|places| format!("{float:.places$e}"));
    let is_right = |text: &String| text.parse() == Ok(float) && !is_half_way(float, text);
    // Just above a power of two, the nearest of the shortest decimals may belong to another float.
    let is_fine = !is_half_way(float, &shortest);
    let candidates = nearest.take(if is_fine { 1 } else { 9 });
    candidates.into_iter().find(is_right).unwrap_or(shortest)
}

/// As [`fewest_digits`], for a `float8`.
fn fewest_digits_of_float8(float: f64) -> String {
    let shortest = format!("{float:e}");
    let digits = shortest.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit);
    let nearest = (digits.count() - 1..17).map(|places| format!("{float:.places$e}"));
    let is_right = |text: &String| text.parse() == Ok(float) && !is_half_way_of_float8(text);
    let is_fine = !is_half_way_of_float8(&shortest);
    let candidates = nearest.take(if is_fine { 1 } else { 17 });
    candidates.into_iter().find(is_right).unwrap_or(shortest)
}

/// Whether a decimal is exactly halfway between two `float8`: an integer whose odd factor has one
/// bit more than their significands. No fraction that is this short is.
fn is_half_way_of_float8(decimal: &str) -> bool {
    let (mantissa, exponent) = decimal.split_once('e').unwrap_or((decimal, "0"));
    let places = mantissa.len().saturating_sub(2);
    let digits = mantissa.replace('.', "").parse::<u128>().unwrap_or(0);
    let zeros = exponent.parse::<i64>().unwrap_or(0) - places as i64;
    match u32::try_from(zeros) {
        // Below 5^31 the product fits.
        Ok(zeros @ 0..=30) if digits > 0 => {
            let product = digits.saturating_mul(5_u128.pow(zeros));
            (product >> product.trailing_zeros()).ilog2() == 53
        }
        _ => false,
    }
}

/// Whether a decimal is exactly halfway between two `float4`. Below 2^22 no decimal this short is.
fn is_half_way(float: f32, decimal: &str) -> bool {
    float >= 4_194_304.0
        && decimal.parse::<f64>().is_ok_and(|wide| wide.to_bits() & 0x1fff_ffff == 0x1000_0000)
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

    /// The server's output: `SELECT unnest('{...}'::real[])::text`.
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
            // Here two decimals are equally near.
            "1.5392132e+06",
            "18381.062",
            // Here the decimal with one digit less lies halfway between two floats.
            "3.3554448e+07",
        ] {
            assert_eq!(printed(text.parse().unwrap()), text);
        }
    }

    /// The server's output: `SELECT unnest('{...}'::float8[])::text`.
    #[test]
    fn golden_float8() {
        for text in [
            "0",
            "-0",
            "0.1",
            "0.30000000000000004",
            "1e+15",
            "999999999999999",
            "123456789012345.6",
            "0.0001",
            "1e-05",
            "1.7976931348623157e+308",
            "5e-324",
            "9.007199254740992e+15",
            // The decimal 1e+23 lies halfway between two floats.
            "9.999999999999999e+22",
            "-Infinity",
            "NaN",
        ] {
            let mut printed = String::new();
            print_float8(text.parse().unwrap(), &mut printed);
            assert_eq!(printed, text);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_of_float8_is_the_same_float(bits: u64) {
            let float = f64::from_bits(bits);
            let mut text = String::new();
            print_float8(float, &mut text);
            let read: f64 = text.parse().unwrap();
            prop_assert!(read.to_bits() == bits || (read.is_nan() && float.is_nan()));
        }

        #[test]
        fn what_is_printed_is_the_same_float(bits: u32) {
            let float = f32::from_bits(bits);
            let read: f32 = printed(float).parse().unwrap();
            prop_assert!(read.to_bits() == bits || (read.is_nan() && float.is_nan()));
        }
    }
}
