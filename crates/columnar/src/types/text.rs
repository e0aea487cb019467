//! `text`, `varchar`, `bpchar`, `name`, `xml`, `unknown`: the characters in the client's
//! encoding, which is UTF-8, without a terminator. A `bpchar` keeps its padding.

use std::borrow::Cow;

use super::varlen::{self, AsIs};
use super::{Codec, Kind};
use crate::error::{EncodeError, Reason};
use crate::value::Value;

pub(super) const TEXT: Codec = Codec {
    arrow: "utf8",
    kind: Kind::Text,
    width: None,
    casts: varlen::TEXT_CASTS,
    value: |raw| decode(raw).map(|text| Value::Text(Cow::Borrowed(text))),
    encode: |value, out| {
        out.extend_from_slice(encodable(value)?.as_bytes());
        Ok(())
    },
    builder: |request| varlen::text_builder::<AsIs>(request, None),
};

/// The characters of a value.
pub(super) fn decode(raw: &[u8]) -> Result<&str, Reason> {
    simdutf8::compat::from_utf8(raw)
        .map_err(|error| Reason::NotUtf8 { valid_up_to: error.valid_up_to() })
}

/// The characters of a parameter, which must not contain NUL.
pub(super) fn encodable<'a>(value: &'a Value<'_>) -> Result<&'a str, EncodeError> {
    let Value::Text(text) = value else {
        return Err(EncodeError::WrongKind { expected: "a string", given: value.describe() });
    };
    match text.bytes().position(|byte| byte == 0) {
        Some(position) => Err(EncodeError::NulInText { position }),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, StringArray};

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, text};

    #[test]
    fn golden() {
        for oid in [19, 25, 142, 705, 1033, 1042, 1043, 3642] {
            assert_both_ways(oid, text("naïve ✓ 𝄞  "), Value::Text("naïve ✓ 𝄞  ".into()));
            assert_both_ways(oid, text(""), Value::Text("".into()));
        }
        let array: StringArray = Case::new(1043).array(&[text("é"), None, text("")]);
        assert_eq!(array, StringArray::from(vec![Some("é"), None, Some("")]));
    }

    #[test]
    fn as_binary_nothing_is_checked() {
        let cells = [Some(vec![0xff, 0x00]), None];
        let array: BinaryArray = Case::new(25).cast("binary").array(&cells);
        assert_eq!(array, BinaryArray::from(vec![Some(&[0xff, 0x00][..]), None]));
    }

    #[test]
    fn malformed() {
        let error = (TEXT.value)(&[b'a', 0xff]).unwrap_err();
        assert_eq!(error, Reason::NotUtf8 { valid_up_to: 1 });
        let error = encode(25, &Value::Text("a\0b".into())).unwrap_err();
        assert_eq!(error, EncodeError::NulInText { position: 1 });
        assert!(encode(25, &Value::Int(1)).is_err());
    }
}
