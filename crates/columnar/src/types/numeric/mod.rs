//! `numeric`: decimal numbers of up to 131,072 digits before the point and 16,383 after it, NaN,
//! and two infinities.
//!
//! | column | becomes |
//! |---|---|
//! | `numeric(p, s)` | decimal128(p, s), decimal256 from p = 39 on |
//! | `numeric(p, s)` with s > p | decimal(s, s): Arrow's scale is never more than its precision |
//! | `numeric(p, s)` with s < 0 | decimal(p - s, 0): few consumers know a negative scale |
//! | `numeric` | decimal128(38, s), s the largest scale seen; decimal256(76, s) when needed |
//! | the same in a stream | the first batch decides, and leaves room: see `room.rs` |
//! | `numeric(p, s)` with p beyond 76 | as `numeric`, but s is at least the declared scale |
//! | cast to decimal128(p, s), decimal256(p, s) | that; an error where it does not fit |
//! | cast to float64 | the nearest float64; NaN and infinities are themselves |
//! | the same for pandas, noted | that, and beyond the floats an infinity: see `noted.rs` |
//! | cast to int64 | that; an error where it is not whole or does not fit |
//! | cast to utf8 | the text that the server prints; NaN and infinities too |

mod decimal;
mod float;
mod integer;
mod noted;
mod room;
mod scaled;
mod text;
mod unscaled;
mod wire;

use std::borrow::Cow;

use self::decimal::DecimalBuilder;
pub(crate) use self::decimal::declared_scale;
pub(crate) use self::float::EXACT_POWERS;
use self::float::NumericAsFloat;
use self::integer::NumericAsInteger;
use self::noted::NotedFloats;
use self::text::NumericAsText;
pub(crate) use self::text::encode as push_text;
pub(crate) use self::unscaled::push as push_unscaled;
use super::primitive::PrimitiveBuilder;
use super::varlen::{Layout, VarlenBuilder};
use super::{Built, Codec, Kind};
use crate::error::EncodeError;
use crate::schema::Override;
use crate::value::Value;

pub(super) const NUMERIC: Codec = Codec {
    arrow: "decimal128(p, s), decimal256(p, s)",
    kind: Kind::Numeric,
    width: None,
    casts: &[
        "float64",
        "int64",
        "utf8",
        "large_utf8",
        "utf8_view",
        "decimal128(p, s)",
        "decimal256(p, s)",
    ],
    value: |raw| {
        let mut text = Vec::new();
        text::write(raw, &mut text)?;
        // Digits, a sign, a point, or one of three words: every byte is ASCII.
        let text = text.into_iter().map(char::from).collect();
        Ok(Value::Numeric(Cow::Owned(text)))
    },
    encode: |value, out| match value {
        Value::Numeric(text) => text::encode(text, out),
        Value::Int(number) => text::encode(&number.to_string(), out),
        Value::UInt(number) => text::encode(&number.to_string(), out),
        other => Err(EncodeError::WrongKind { expected: "a decimal", given: other.describe() }),
    },
    builder: |request| match request.cast {
        None => match &request.notes {
            Some((place, notes)) => {
                Built::plain(NotedFloats::new(*place, notes.clone(), request.infinity))
            }
            None => {
                // Every value has the declared scale, even if the precision exceeds Arrow's.
                let is_open = declared_scale(request.type_modifier).is_none();
                Built::plain(
                    DecimalBuilder::declared(request.type_modifier, request.infinity)
                        .with_room(request.is_stream && is_open),
                )
            }
        },
        Some(Override::Decimal128 { precision, scale }) => {
            Built::plain(DecimalBuilder::asked(precision, scale, false, request.infinity))
        }
        Some(Override::Decimal256 { precision, scale }) => {
            Built::plain(DecimalBuilder::asked(precision, scale, true, request.infinity))
        }
        Some(Override::Float64) => {
            Built::plain(PrimitiveBuilder::<NumericAsFloat>::new(request.infinity))
        }
        Some(Override::Int64) => {
            Built::plain(PrimitiveBuilder::<NumericAsInteger>::new(request.infinity))
        }
        Some(Override::Utf8) => Built::plain(VarlenBuilder::<NumericAsText>::new(Layout::Utf8)),
        Some(Override::LargeUtf8) => {
            Built::plain(VarlenBuilder::<NumericAsText>::new(Layout::LargeUtf8))
        }
        Some(Override::Utf8View) => {
            Built::plain(VarlenBuilder::<NumericAsText>::new(Layout::Utf8View))
        }
        Some(_) => None,
    },
};

#[cfg(test)]
mod tests;
