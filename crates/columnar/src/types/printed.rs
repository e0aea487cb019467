//! The column of a type without an Arrow equivalent: the text that the server prints for it.

use std::marker::PhantomData;

use super::varlen::{self, Shape};
use super::{Built, Request};
use crate::column::Fields;
use crate::error::Reason;
use crate::value::Value;

/// How to print a binary value.
pub(super) trait Print: Send + Sync + 'static {
    /// Whether bytes from the server are printed, which must be checked for UTF-8.
    const UNCHECKED_TEXT: bool = false;
    /// No value of `n` bytes prints more than `MOST_PER_VALUE + n * MOST_PER_BYTE`.
    const MOST_PER_VALUE: usize = 0;
    /// See [`Print::MOST_PER_VALUE`].
    const MOST_PER_BYTE: usize = 0;

    /// Appends the text of a value. Output before an error is removed again.
    fn print(raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason>;
}

/// The builder of a type whose column is text, for a cast.
pub(super) fn builder<P: Print>(request: &Request) -> Option<Built> {
    varlen::text_builder::<Printed<P>>(request, None)
}

/// The text of a value.
pub(super) fn value<P: Print>(raw: &[u8]) -> Result<Value<'static>, Reason> {
    let mut out = Vec::new();
    P::print(raw, &mut out)?;
    match String::from_utf8(out) {
        Ok(text) => Ok(Value::Text(text.into())),
        Err(error) => Err(Reason::NotUtf8 { valid_up_to: error.utf8_error().valid_up_to() }),
    }
}

struct Printed<P>(PhantomData<P>);

impl<P: Print> Shape for Printed<P> {
    const UNCHECKED_TEXT: bool = P::UNCHECKED_TEXT;

    fn append(
        fields: Fields<'_>,
        data: &mut Vec<u8>,
        ends: impl FnMut(usize),
    ) -> Result<usize, (usize, Reason)> {
        varlen::append_written(fields, data, ends, P::print)
    }

    fn most_bytes(fields: Fields<'_>) -> usize {
        fields.len() * P::MOST_PER_VALUE + fields.byte_len() * P::MOST_PER_BYTE
    }
}
