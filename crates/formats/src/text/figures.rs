//! Numbers. Each that a reader's double may round is a string.

use arrow_buffer::i256;

use super::{characters, short};

/// JavaScript's `Number.MAX_SAFE_INTEGER`: doubles hold all integers up to it.
const EXACT_MAX: u64 = (1 << 53) - 1;

/// An integer that every double holds.
pub(crate) fn integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    short::push(itoa::Buffer::new().format(value).as_bytes(), out);
}

/// A number, or a string of digits if a double may not hold it.
pub(crate) fn signed(value: i64, out: &mut Vec<u8>) {
    if value.unsigned_abs() <= EXACT_MAX {
        integer(value, out);
    } else {
        quoted(out, |out| integer(value, out));
    }
}

/// The same for a number without sign.
pub(crate) fn unsigned(value: u64, out: &mut Vec<u8>) {
    if value <= EXACT_MAX {
        integer(value, out);
    } else {
        quoted(out, |out| integer(value, out));
    }
}

/// A number that is text already; a word, such as NaN, is a string.
pub(crate) fn numeral(text: &str, out: &mut Vec<u8>) {
    if text.ends_with(|last: char| last.is_ascii_digit()) {
        short::push(text.as_bytes(), out);
    } else {
        characters::string(text, out);
    }
}

/// The shortest digits that read as the same number; a string if it is not finite.
pub(crate) fn float<F: zmij::Float + Into<f64> + Copy>(value: F, out: &mut Vec<u8>) {
    let double: f64 = value.into();
    if double.is_finite() {
        short::push(zmij::Buffer::new().format_finite(value).as_bytes(), out);
    } else if double.is_nan() {
        out.extend_from_slice(b"\"NaN\"");
    } else if double > 0.0 {
        out.extend_from_slice(b"\"Infinity\"");
    } else {
        out.extend_from_slice(b"\"-Infinity\"");
    }
}

/// A decimal of up to 128 bits, with all digits of its scale, as a number.
pub(crate) fn decimal(unscaled: i128, scale: i8, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    // The usual value fits 64 bits, which are formatted several times faster.
    let digits = match u64::try_from(unscaled.unsigned_abs()) {
        Ok(small) => buffer.format(small),
        Err(_) => buffer.format(unscaled.unsigned_abs()),
    };
    with_point(unscaled < 0, digits, scale, out);
}

/// A decimal of 256 bits, as a number.
pub(crate) fn wide_decimal(unscaled: i256, scale: i8, out: &mut Vec<u8>) {
    let text = unscaled.to_string();
    let digits = text.trim_start_matches('-');
    with_point(unscaled.is_negative(), digits, scale, out);
}

fn with_point(is_negative: bool, digits: &str, scale: i8, out: &mut Vec<u8>) {
    if is_negative {
        out.push(b'-');
    }
    let places = usize::from(scale.unsigned_abs());
    if scale <= 0 {
        out.extend_from_slice(digits.as_bytes());
        if digits != "0" {
            out.extend(std::iter::repeat_n(b'0', places));
        }
    } else if let Some((whole, fraction)) =
        digits.len().checked_sub(places).and_then(|whole| digits.split_at_checked(whole))
        && !whole.is_empty()
    {
        short::push(whole.as_bytes(), out);
        out.push(b'.');
        short::push(fraction.as_bytes(), out);
    } else {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', places.saturating_sub(digits.len())));
        out.extend_from_slice(digits.as_bytes());
    }
}

/// Writes a number as a string of its digits.
pub(crate) fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}
