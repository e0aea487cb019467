//! Numbers within the text formats of parameters. Rust's own parsers accept a sign, which
//! PostgreSQL's output never has here.

use std::str::FromStr;

/// A number of decimal digits only.
pub(super) fn decimal<T: FromStr>(text: &str) -> Option<T> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits { text.parse().ok() } else { None }
}

/// A number of one to `most` hexadecimal digits.
pub(super) fn hexadecimal(text: &str, most: usize) -> Option<u64> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_digits && text.len() <= most { u64::from_str_radix(text, 16).ok() } else { None }
}

/// The start of a text, for a message.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_alone() {
        assert_eq!(decimal::<u16>("65535"), Some(65_535));
        assert_eq!(decimal::<u16>("007"), Some(7));
        for bad in ["", "65536", "+1", "-1", " 1", "1a"] {
            assert_eq!(decimal::<u16>(bad), None, "{bad}");
        }
        assert_eq!(hexadecimal("fF", 2), Some(255));
        for bad in ["", "fff", "+f", "g", "é"] {
            assert_eq!(hexadecimal(bad, 2), None, "{bad}");
        }
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(shown("é"), "é");
        assert_eq!(shown(&"é".repeat(61)), format!("{}...", "é".repeat(60)));
    }
}
