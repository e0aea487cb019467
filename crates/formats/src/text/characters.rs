//! Strings, and JSON that is a value itself.

use super::short;

/// A string with its quotes.
pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    // Without an early end, the compiler compares many bytes at once. Escapes are rare.
    if text.bytes().fold(false, |found, byte| found | needs_escape(byte)) {
        escaped(text.as_bytes(), out);
    } else {
        short::push(text.as_bytes(), out);
    }
    out.push(b'"');
}

fn needs_escape(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

fn escaped(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte if *byte < b' ' => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[hex(byte >> 4), hex(byte & 15)]);
            }
            byte => out.push(*byte),
        }
    }
}

/// A digit of a number below 16.
pub(super) fn hex(digit: u8) -> u8 {
    if digit < 10 { b'0' + digit } else { b'a' + (digit - 10) }
}

/// JSON on one line. A line break in JSON is only space between its parts: within strings it is
/// escaped.
pub(crate) fn embedded(json: &str, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(json.as_bytes());
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
        for byte in out.iter_mut().skip(start).filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    }
}
