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

/// The characters of a parameter, which have no NUL.
pub(super) fn encodable<'a>(value: &'a Value<'_>) -> Result<&'a str, EncodeError> {
    let Value::Text(text) = value else {
        return Err(EncodeError::WrongKind { expected: "a string", given: value.describe() });
    };
    match text.bytes().position(|byte| byte == 0) {
        Some(position) => Err(EncodeError::NulInText { position }),
        None => Ok(text),
    }
}
