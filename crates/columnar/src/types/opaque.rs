//! Types without a line in the table: the bytes as they came, marked as bytes that only PostgreSQL
//! understands. An unknown type is not an error, and nothing is guessed about it.

use std::borrow::Cow;

use super::varlen::{AsIs, Layout, VarlenBuilder};
use super::{Built, Extension, PgType, Request, line, text};
use crate::error::Reason;
use crate::schema::Override;
use crate::value::Value;

/// For rows: the text from the type's own output function.
pub(super) static AS_TEXT: PgType = line("unknown", 0, 0, "", text::TEXT);

/// The casts of opaque bytes.
pub(super) const CASTS: &[&str] = &["binary"];

/// A row's value.
pub(super) fn value(raw: &[u8]) -> Result<Value<'_>, Reason> {
    Ok(Value::Bytes(Cow::Borrowed(raw)))
}

/// A column. Requested as plain binary it loses its mark.
pub(super) fn builder(request: &Request) -> Option<Built> {
    match request.cast {
        None => Some(column()),
        Some(Override::Binary) => Some(Built { extension: None, ..column() }),
        Some(_) => None,
    }
}

/// A marked column.
pub(super) fn column() -> Built {
    Built {
        builder: Box::new(VarlenBuilder::<AsIs>::new(Layout::Binary)),
        extension: Some(Extension::Opaque),
    }
}
