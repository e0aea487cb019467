//! `json`: its text. `jsonb`: a version byte, which is 1, and the text that the server makes of
//! its own binary form. The text is handed on as it is.

use std::borrow::Cow;

use super::varlen::{self, AsIs, Shape};
use super::{Codec, Extension, Kind, text};
use crate::column::Fields;
use crate::error::Reason;
use crate::value::Value;

/// The only version of `jsonb` on the wire.
const VERSION: u8 = 1;

pub(super) const JSON: Codec = Codec {
    arrow: "utf8 (arrow.json)",
    kind: Kind::Text,
    casts: varlen::TEXT_CASTS,
    value: text::TEXT.value,
    encode: text::TEXT.encode,
    builder: |request| varlen::text_builder::<AsIs>(request, Some(Extension::Json)),
};

pub(super) const JSONB: Codec = Codec {
    arrow: "utf8 (arrow.json)",
    kind: Kind::Text,
    casts: varlen::TEXT_CASTS,
    value: |raw| text::decode(unversioned(raw)?).map(|text| Value::Text(Cow::Borrowed(text))),
    encode: |value, out| {
        let text = text::encodable(value)?;
        out.push(VERSION);
        out.extend_from_slice(text.as_bytes());
        Ok(())
    },
    builder: |request| varlen::text_builder::<Versioned>(request, Some(Extension::Json)),
};

#[inline]
fn unversioned(raw: &[u8]) -> Result<&[u8], Reason> {
    match raw.split_first() {
        Some((&VERSION, text)) => Ok(text),
        Some((&version, _)) => Err(Reason::JsonbVersion(version)),
        None => Err(Reason::TooShort { least: 1, actual: 0 }),
    }
}

struct Versioned;

impl Shape for Versioned {
    const UNCHECKED_TEXT: bool = true;

    #[inline]
    fn write(raw: &[u8], data: &mut Vec<u8>) -> Result<(), Reason> {
        data.extend_from_slice(unversioned(raw)?);
        Ok(())
    }

    fn most_bytes(fields: Fields<'_>) -> usize {
        fields.byte_len()
    }
}
