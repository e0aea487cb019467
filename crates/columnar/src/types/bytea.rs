//! `bytea`: the bytes themselves.

use std::borrow::Cow;

use super::varlen::{AsIs, Layout, VarlenBuilder};
use super::{Built, Codec, Kind};
use crate::error::EncodeError;
use crate::schema::Override;
use crate::value::Value;

pub(super) const BYTEA: Codec = Codec {
    arrow: "binary",
    kind: Kind::Bytes,
    casts: &["binary"],
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
        Some(_) => None,
    },
};
