//! `tsvector`: 32-bit number of lexemes, then for each its characters and a NUL, a 16-bit number of
//! positions and the positions: 14 bits each, below 2 bits of weight. In Arrow and in Rust it is
//! just the text that the server prints; a parameter is sent as text, for the server to parse and
//! sort.

use std::io::Write;

use super::printed::{self, Print};
use super::{Codec, Kind, text, varlen};
use crate::error::Reason;

pub(super) const TSVECTOR: Codec = Codec {
    arrow: "utf8",
    kind: Kind::Text,
    width: None,
    casts: varlen::TEXT_CASTS,
    value: printed::value::<Printed>,
    encode: text::TEXT.encode,
    builder: printed::builder::<Printed>,
};

/// Takes a big-endian number from the front.
pub(super) fn take<const N: usize>(raw: &mut &[u8]) -> Option<[u8; N]> {
    let (number, rest) = raw.split_first_chunk()?;
    *raw = rest;
    Some(*number)
}

/// Takes the characters before a NUL from the front, and the NUL.
pub(super) fn take_lexeme<'a>(raw: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = raw.iter().position(|byte| *byte == 0)?;
    let (lexeme, rest) = raw.split_at_checked(end)?;
    *raw = rest.get(1..)?;
    Some(lexeme)
}

/// Appends a lexeme in quotes, with its own quotes and backslashes doubled.
pub(super) fn quote(lexeme: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in lexeme {
        if matches!(byte, b'\'' | b'\\') {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(b'\'');
}

struct Printed;

impl Print for Printed {
    const UNCHECKED_TEXT: bool = true;
    /// A 2-byte position prints as `16383A` and a comma.
    const MOST_PER_BYTE: usize = 4;

    fn print(mut raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        const TRUNCATED: Reason = Reason::Malformed("the tsvector ends before its lexemes do");
        let count = u32::from_be_bytes(take(&mut raw).ok_or(TRUNCATED)?);
        for index in 0..count {
            if index > 0 {
                out.push(b' ');
            }
            quote(take_lexeme(&mut raw).ok_or(TRUNCATED)?, out);
            let positions = u16::from_be_bytes(take(&mut raw).ok_or(TRUNCATED)?);
            for position in 0..positions {
                out.push(if position == 0 { b':' } else { b',' });
                print_position(u16::from_be_bytes(take(&mut raw).ok_or(TRUNCATED)?), out);
            }
        }
        if raw.is_empty() {
            Ok(())
        } else {
            Err(Reason::Malformed("the tsvector goes on after its lexemes"))
        }
    }
}

fn print_position(word: u16, out: &mut Vec<u8>) {
    // D is the default weight.
    let weight = match word >> 14 {
        3 => "A",
        2 => "B",
        1 => "C",
        _ => "",
    };
    // Writing to a vector does not fail.
    let _ = write!(out, "{}{weight}", word & 0x3fff);
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;

    use super::*;
    use crate::testing::{Case, encode, hex};
    use crate::value::Value;

    // SELECT encode(tsvectorsend('a:1A fat:2B,4C cat:5D'), 'hex')
    const SAMPLE: &str = "00000003 6100 0001c001 63617400 00010005 66617400 000280024004";

    #[test]
    fn golden() {
        // SELECT encode(tsvectorsend(v), 'hex'), v
        for (wire, printed) in [
            ("00000000", ""),
            (SAMPLE, "'a':1A 'cat':5 'fat':2B,4C"),
            ("00000003 61000000 62000000 63000000", "'a' 'b' 'c'"),
            (
                "00000004 20000000 6261636b5c736c617368000000 69742773000000 783a79000000",
                "' ' 'back\\\\slash' 'it''s' 'x:y'",
            ),
            ("00000002 6100 00013fff 6200 0004000100020003012c", "'a':16383 'b':1,2,3,300"),
        ] {
            let array: StringArray = Case::new(3614).array(&[hex(wire), None]);
            assert_eq!(array, StringArray::from(vec![Some(printed), None]));
            let value = Value::Text(printed.into());
            assert_eq!((TSVECTOR.value)(&hex(wire).unwrap()), Ok(value.clone()));
            assert_eq!(encode(3614, &value).unwrap(), printed.as_bytes());
        }
    }

    #[test]
    fn malformed() {
        for bad in [
            "",
            "000000",
            "00000001",
            "00000001 61",
            "00000001 6100 00",
            "00000001 6100 0001",
            "00000001 6100 0002 0001 00",
            "ffffffff 6100 0000",
            "00000000 00",
            "00000001 6100 0000 6100",
            "00000001 ff00 0000",
        ] {
            assert_eq!(Case::new(3614).error(&[hex(SAMPLE), hex(bad)]).0, 1, "{bad}");
        }
        // The first faulty row is reported, whatever its error.
        assert_eq!(Case::new(3614).error(&[hex("00000001 ff00 0000"), hex("")]).0, 0);
        assert!(encode(3614, &Value::Text("a\0".into())).is_err());
    }
}
