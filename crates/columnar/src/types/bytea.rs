//! `bytea`: the bytes themselves.

use std::borrow::Cow;

use super::varlen::{AsIs, Layout, VarlenBuilder};
use super::{Built, Codec, Kind, fixed_text};
use crate::error::EncodeError;
use crate::schema::Override;
use crate::value::Value;

pub(super) const BYTEA: Codec = Codec {
    arrow: "binary",
    kind: Kind::Bytes,
    width: None,
    casts: &["binary", "S<bytes>"],
    value: |raw| Ok(Value::Bytes(Cow::Borrowed(raw))),
    encode: |value, out| match value {
        Value::Bytes(bytes) => {
            out.extend_from_slice(bytes);
            Ok(())
        }
        other => Err(EncodeError::WrongKind { expected: "bytes", given: other.describe() }),
    },
    builder: |request| match request.cast {
        None | Some(Override::Binary) => Built::plain(VarlenBuilder::<AsIs>::new(Layout::Binary)),
        Some(Override::Bytes(capacity)) => fixed_text::bytes::<AsIs>(capacity),
        Some(_) => None,
    },
};

#[cfg(test)]
mod tests {
    use arrow_array::BinaryArray;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    #[test]
    fn golden() {
        assert_both_ways(17, hex("00ff80"), Value::Bytes([0x00, 0xff, 0x80][..].into()));
        assert_both_ways(17, hex(""), Value::Bytes([][..].into()));
        let array: BinaryArray = Case::new(17).array(&[None, hex("00ff"), hex("")]);
        assert_eq!(array, BinaryArray::from(vec![None, Some(&[0x00, 0xff][..]), Some(&[])]));
        assert!(encode(17, &Value::Text("x".into())).is_err());
    }
}
