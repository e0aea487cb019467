//! `"char"`: one byte of any value, which the catalogs use for their codes. Rows give the byte;
//! a column gives its text, as the server prints it since version 16: nothing for 0, the
//! character for 1 to 127, and a backslash with three octal digits for the others.

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
    casts: varlen::TEXT_CASTS,
    value: |raw| exact::<1>(raw).map(|_| Value::Bytes(Cow::Borrowed(raw))),
    encode: |value, out| {
        let bytes = match value {
            Value::Bytes(bytes) => bytes.as_ref(),
            Value::Text(text) => text.as_bytes(),
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

struct Printed;

impl Shape for Printed {
    const UNCHECKED_TEXT: bool = false;

    #[inline]
    fn write(raw: &[u8], data: &mut Vec<u8>) -> Result<(), Reason> {
        let [byte] = exact(raw)?;
        match byte {
            0 => {}
            1..=127 => data.push(byte),
            _ => data.extend_from_slice(&[
                b'\\',
                b'0' + (byte >> 6),
                b'0' + (byte >> 3 & 7),
                b'0' + (byte & 7),
            ]),
        }
        Ok(())
    }

    fn most_bytes(fields: Fields<'_>) -> usize {
        fields.len() * LONGEST
    }
}
