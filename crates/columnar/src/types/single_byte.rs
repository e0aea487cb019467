//! `"char"`: one byte of any value, which the catalogs use for codes. Rows give the byte; a column
//! gives its text, as the server prints it since version 16: empty for 0, the character for 1 to
//! 127, and a backslash with three octal digits for the others.

use std::borrow::Cow;

use super::primitive::exact;
use super::varlen::{self, Shape};
use super::{Codec, Kind};
use crate::column::Fields;
use crate::error::{EncodeError, Reason};
use crate::value::Value;

/// A backslash and three octal digits.
const LONGEST: usize = 4;

pub(super) const CHAR: Codec = Codec {
    arrow: "utf8",
    kind: Kind::Bytes,
    width: Some(1),
    casts: varlen::TEXT_CASTS,
    value: |raw| exact::<1>(raw).map(|_| Value::Bytes(Cow::Borrowed(raw))),
    encode: |value, out| {
        let bytes = match value {
            Value::Bytes(bytes) => bytes.as_ref(),
            Value::Text(text) => match printed_byte(text.as_bytes()) {
                Some(byte) => {
                    out.push(byte);
                    return Ok(());
                }
                None => text.as_bytes(),
            },
            other => {
                let given = other.describe();
                return Err(EncodeError::WrongKind { expected: "a byte", given });
            }
        };
        match bytes {
            [] => out.push(0),
            [byte] => out.push(*byte),
            longer => return Err(EncodeError::NotOneByte { given: longer.len() }),
        }
        Ok(())
    },
    builder: |request| varlen::text_builder::<Printed>(request, None),
};

fn print(raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    let [byte] = exact(raw)?;
    match byte {
        0 => {}
        1..=127 => out.push(byte),
        _ => out.extend_from_slice(&[
            b'\\',
            b'0' + (byte >> 6),
            b'0' + (byte >> 3 & 7),
            b'0' + (byte & 7),
        ]),
    }
    Ok(())
}

/// The byte of a backslash and three octal digits, as the server reads it too.
fn printed_byte(text: &[u8]) -> Option<u8> {
    match *text {
        [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] => {
            Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
        }
        _ => None,
    }
}

struct Printed;

impl Shape for Printed {
    const UNCHECKED_TEXT: bool = false;

    fn append(
        fields: Fields<'_>,
        data: &mut Vec<u8>,
        ends: impl FnMut(usize),
    ) -> Result<usize, (usize, Reason)> {
        varlen::append_written(fields, data, ends, print)
    }

    fn most_bytes(fields: Fields<'_>) -> usize {
        fields.len() * LONGEST
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    #[test]
    fn golden() {
        assert_both_ways(18, hex("61"), Value::Bytes(b"a".into()));
        assert_both_ways(18, hex("ff"), Value::Bytes([0xff][..].into()));
        let cells = [hex("61"), hex("00"), None, hex("80"), hex("ff"), hex("5c")];
        let array: StringArray = Case::new(18).array(&cells);
        let printed = vec![Some("a"), Some(""), None, Some("\\200"), Some("\\377"), Some("\\")];
        assert_eq!(array, StringArray::from(printed));
    }

    #[test]
    fn malformed() {
        assert_eq!(Case::new(18).error(&[hex("61"), hex("")]).0, 1);
        assert_eq!(Case::new(18).error(&[hex("6162")]).0, 0);
        assert_eq!(encode(18, &Value::Text("".into())).unwrap(), [0]);
        assert_eq!(encode(18, &Value::Text("a".into())).unwrap(), [b'a']);
        assert_eq!(encode(18, &Value::Text("\\377".into())).unwrap(), [0xff]);
        assert!(encode(18, &Value::Text("ab".into())).is_err());
        assert!(encode(18, &Value::Text("\\400".into())).is_err());
        assert!(encode(18, &Value::Int(1)).is_err());
    }
}
