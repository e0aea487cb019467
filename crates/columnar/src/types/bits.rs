//! `bit`, `varbit`: 32-bit number of bits, then the bits, most significant bit first; unused bits
//! of the last byte are 0. A column stores them as text of `0` and `1`.

use std::borrow::Cow;

use super::notation::shown;
use super::primitive::exact;
use super::printed::{self, Print};
use super::{Codec, Kind, varlen};
use crate::error::{EncodeError, Reason};
use crate::value::{Bits, Value};

pub(super) const BITS: Codec = Codec {
    arrow: "utf8",
    kind: Kind::Bits,
    width: None,
    casts: varlen::TEXT_CASTS,
    value: |raw| {
        let (len, bytes) = decode(raw)?;
        Ok(Value::Bits(Bits { len, bytes: Cow::Borrowed(bytes) }))
    },
    encode: |value, out| match value {
        Value::Bits(bits) => encode(bits, out),
        Value::Text(text) => encode_text(text, out),
        other => Err(EncodeError::WrongKind { expected: "a bit string", given: other.describe() }),
    },
    builder: printed::builder::<Digits>,
};

/// The number of bits, and the bits.
fn decode(raw: &[u8]) -> Result<(usize, &[u8]), Reason> {
    let (head, bytes) =
        raw.split_at_checked(4).ok_or(Reason::TooShort { least: 4, actual: raw.len() })?;
    let announced = i32::from_be_bytes(exact(head)?);
    let len = usize::try_from(announced)
        .ok()
        .filter(|len| len.div_ceil(8) == bytes.len())
        .ok_or(Reason::BitLength { bits: announced, bytes: bytes.len() })?;
    if !is_padded(len, bytes) {
        return Err(Reason::Malformed("the last byte has bits beyond the value's length"));
    }
    Ok((len, bytes))
}

/// Whether all padding bits are 0.
fn is_padded(len: usize, bytes: &[u8]) -> bool {
    match (len % 8, bytes.last()) {
        (used @ 1.., Some(last)) => last << used == 0,
        _ => true,
    }
}

fn encode(bits: &Bits<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if bits.len.div_ceil(8) != bits.bytes.len() || !is_padded(bits.len, &bits.bytes) {
        return Err(EncodeError::Bits { bits: bits.len, bytes: bits.bytes.len() });
    }
    push_len(bits.len, out)?;
    out.extend_from_slice(&bits.bytes);
    Ok(())
}

fn push_len(bits: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let len =
        i32::try_from(bits).map_err(|_| EncodeError::Bits { bits, bytes: bits.div_ceil(8) })?;
    out.extend_from_slice(&len.to_be_bytes());
    Ok(())
}

fn encode_text(text: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if !text.bytes().all(|digit| matches!(digit, b'0' | b'1')) {
        return Err(EncodeError::Notation {
            type_name: "bit string",
            form: "\"0101\"",
            given: shown(text),
        });
    }
    push_len(text.len(), out)?;
    out.extend(text.as_bytes().chunks(8).map(|digits| {
        let byte = digits.iter().fold(0, |byte, digit| byte << 1 | (digit - b'0'));
        byte << (8 - digits.len())
    }));
    Ok(())
}

struct Digits;

impl Print for Digits {
    const MOST_PER_BYTE: usize = 8;

    fn print(raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let (len, bytes) = decode(raw)?;
        let end = out.len() + len;
        out.extend(
            bytes
                .iter()
                .flat_map(|byte| [7, 6, 5, 4, 3, 2, 1, 0].map(|place| b'0' + (byte >> place & 1))),
        );
        out.truncate(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{LargeStringArray, StringArray};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    fn bits(len: usize, bytes: &[u8]) -> Value<'_> {
        Value::Bits(Bits { len, bytes: bytes.into() })
    }

    #[test]
    fn golden() {
        // SELECT encode(varbit_send(b), 'hex')
        for (printed, wire, value) in [
            ("", "00000000", bits(0, &[])),
            ("0", "0000000100", bits(1, &[0])),
            ("1", "0000000180", bits(1, &[0x80])),
            ("0101", "0000000450", bits(4, &[0x50])),
            ("11111111", "00000008ff", bits(8, &[0xff])),
            ("101010101", "00000009aa80", bits(9, &[0xaa, 0x80])),
            ("10000000000000001", "00000011800080", bits(17, &[0x80, 0, 0x80])),
        ] {
            for oid in [1560, 1562] {
                assert_both_ways(oid, hex(wire), value.clone());
                let array: StringArray = Case::new(oid).array(&[None, hex(wire)]);
                assert_eq!(array, StringArray::from(vec![None, Some(printed)]));
                let text = Value::Text(printed.into());
                assert_eq!(encode(oid, &text).unwrap(), hex(wire).unwrap());
            }
        }
        let array: LargeStringArray =
            Case::new(1562).cast("large_utf8").array(&[hex("0000000450")]);
        assert_eq!(array.value(0), "0101");
    }

    #[test]
    fn malformed() {
        for (bad, message) in [
            ("", "the value has 0 bytes instead of at least 4"),
            ("00000001", "1 bits cannot have 0 bytes"),
            ("0000000100ff", "1 bits cannot have 2 bytes"),
            ("ffffffff", "-1 bits cannot have 0 bytes"),
            ("7fffffff00", "2147483647 bits cannot have 1 bytes"),
            ("0000000141", "the last byte has bits beyond the value's length"),
        ] {
            let (row, text) = Case::new(1562).error(&[hex("0000000180"), hex(bad)]);
            assert_eq!(row, 1);
            assert!(text.ends_with(message), "{text}");
        }
        for (len, bytes) in [(0, &[0][..]), (1, &[]), (9, &[0]), (1, &[0x40])] {
            assert!(encode(1562, &bits(len, bytes)).is_err());
        }
        let error = encode(1562, &Value::Text("012".into())).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"012\" is not a valid bit string, which is written \"0101\""
        );
        assert!(encode(1562, &Value::Int(1)).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(text in "[01]{0,70}") {
            let bytes = encode(1562, &Value::Text(text.as_str().into())).unwrap();
            let value = (BITS.value)(&bytes).unwrap();
            prop_assert_eq!(encode(1562, &value).unwrap(), bytes.clone());
            let array: StringArray = Case::new(1562).array(&[Some(bytes)]);
            prop_assert_eq!(array.value(0), text);
        }
    }
}
