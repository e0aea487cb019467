//! `json`: its text. `jsonb`: a version byte of 1, then the text that the server makes from its own
//! binary format; `jsonpath` likewise. The text is passed on unchanged.

use std::borrow::Cow;

use super::varlen::{self, AsIs, Shape};
use super::{Codec, Extension, Kind, text};
use crate::column::Fields;
use crate::error::{EncodeError, Reason};
use crate::value::Value;

/// The only wire version of `jsonb` and `jsonpath`.
const VERSION: u8 = 1;

pub(super) const JSON: Codec = Codec {
    arrow: "utf8 (arrow.json)",
    kind: Kind::Text,
    width: None,
    casts: varlen::TEXT_CASTS,
    value: text::TEXT.value,
    encode: text::TEXT.encode,
    builder: |request| varlen::text_builder::<AsIs>(request, Some(Extension::Json)),
};

pub(super) const JSONB: Codec = Codec {
    arrow: "utf8 (arrow.json)",
    kind: Kind::Text,
    width: None,
    casts: varlen::TEXT_CASTS,
    value: versioned_value,
    encode: encode_versioned,
    builder: |request| varlen::text_builder::<Versioned>(request, Some(Extension::Json)),
};

pub(super) const JSONPATH: Codec = Codec {
    arrow: "utf8",
    kind: Kind::Text,
    width: None,
    casts: varlen::TEXT_CASTS,
    value: versioned_value,
    encode: encode_versioned,
    builder: |request| varlen::text_builder::<Versioned>(request, None),
};

fn versioned_value(raw: &[u8]) -> Result<Value<'_>, Reason> {
    text::decode(unversioned(raw)?).map(|text| Value::Text(Cow::Borrowed(text)))
}

fn encode_versioned(value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let text = text::encodable(value)?;
    out.push(VERSION);
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

#[inline]
fn unversioned(raw: &[u8]) -> Result<&[u8], Reason> {
    match raw.split_first() {
        Some((&VERSION, text)) => Ok(text),
        Some((&version, _)) => Err(Reason::Version(version)),
        None => Err(Reason::TooShort { least: 1, actual: 0 }),
    }
}

struct Versioned;

impl Shape for Versioned {
    const UNCHECKED_TEXT: bool = true;

    fn append(
        fields: Fields<'_>,
        data: &mut Vec<u8>,
        ends: impl FnMut(usize),
    ) -> Result<usize, (usize, Reason)> {
        let is_wrong = |field: Option<&[u8]>| field.is_some_and(|raw| unversioned(raw).is_err());
        if fields.iter().any(is_wrong) {
            // Only up to the faulty row, so that an earlier row with invalid text is reported
            // first.
            return varlen::append_written(fields, data, ends, |raw, data| {
                data.extend_from_slice(unversioned(raw)?);
                Ok(())
            });
        }
        Ok(varlen::append_suffixes(fields, 1, data, ends))
    }

    fn most_bytes(fields: Fields<'_>) -> usize {
        fields.byte_len()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex, text};

    #[test]
    fn golden() {
        let document = Value::Text("{\"a\": 1}".into());
        assert_both_ways(3802, hex("017b2261223a20317d"), document.clone());
        assert_both_ways(114, text("{\"a\": 1}"), document);
        // SELECT encode(jsonpath_send('$.a[*]?(@>1)'), 'hex')
        let path = Value::Text("$.\"a\"[*]?(@ > 1)".into());
        assert_both_ways(4072, hex("01242e2261225b2a5d3f2840203e203129"), path);
        let array: StringArray = Case::new(3802).array(&[hex("0131"), None, hex("01")]);
        assert_eq!(array, StringArray::from(vec![Some("1"), None, Some("")]));
    }

    #[test]
    fn malformed() {
        let (row, message) = Case::new(3802).error(&[hex("0131"), hex("0231")]);
        assert_eq!(row, 1);
        assert!(message.ends_with("the binary form has version 2 instead of 1"), "{message}");
        assert_eq!(Case::new(3802).error(&[None, hex("")]).0, 1);
        // The first faulty row is reported, whatever its error.
        assert_eq!(Case::new(3802).error(&[hex("01ff"), hex("0231")]).0, 0);
        assert_eq!(Case::new(3802).error(&[hex("0231"), hex("01ff")]).0, 0);
        assert!(encode(3802, &Value::Text("\0".into())).is_err());
    }
}
