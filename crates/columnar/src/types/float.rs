//! `float4`, `float8`: IEEE 754, most significant byte first. Every bit pattern is a value.

use arrow_array::types::{Float32Type, Float64Type};

use super::int::exact_float;
use super::primitive::{PrimitiveBuilder, Shape, exact};
use super::{Built, Codec, Kind};
use crate::error::{EncodeError, Reason};
use crate::schema::{Infinity, Override};
use crate::value::Value;

pub(super) const FLOAT4: Codec = Codec {
    arrow: "float32",
    kind: Kind::Float32,
    casts: &["float32", "float64"],
    value: |raw| Ok(Value::Float32(f32::from_be_bytes(exact(raw)?))),
    encode: encode_float4,
    builder: |request| match request.cast {
        None | Some(Override::Float32) => {
            Built::plain(PrimitiveBuilder::<Float4>::new(request.infinity))
        }
        Some(Override::Float64) => {
            Built::plain(PrimitiveBuilder::<Float4Widened>::new(request.infinity))
        }
        _ => None,
    },
};

pub(super) const FLOAT8: Codec = Codec {
    arrow: "float64",
    kind: Kind::Float,
    casts: &["float64"],
    value: |raw| Ok(Value::Float(f64::from_be_bytes(exact(raw)?))),
    encode: |value, out| {
        out.extend_from_slice(&float(value)?.to_be_bytes());
        Ok(())
    },
    builder: |request| match request.cast {
        None | Some(Override::Float64) => {
            Built::plain(PrimitiveBuilder::<Float8>::new(request.infinity))
        }
        _ => None,
    },
};

struct Float4;

impl Shape for Float4 {
    type Arrow = Float32Type;
    const NULL: f32 = f32::NAN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<f32> {
        exact(raw).ok().map(f32::from_be_bytes)
    }

    fn edge(raw: &[u8], _: Infinity) -> Result<Option<f32>, Reason> {
        exact(raw).map(|bytes| Some(f32::from_be_bytes(bytes)))
    }
}

struct Float4Widened;

impl Shape for Float4Widened {
    type Arrow = Float64Type;
    const NULL: f64 = f64::NAN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<f64> {
        Float4::decode(raw).map(f64::from)
    }

    fn edge(raw: &[u8], infinity: Infinity) -> Result<Option<f64>, Reason> {
        Ok(Float4::edge(raw, infinity)?.map(f64::from))
    }
}

struct Float8;

impl Shape for Float8 {
    type Arrow = Float64Type;
    const NULL: f64 = f64::NAN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<f64> {
        exact(raw).ok().map(f64::from_be_bytes)
    }

    fn edge(raw: &[u8], _: Infinity) -> Result<Option<f64>, Reason> {
        exact(raw).map(|bytes| Some(f64::from_be_bytes(bytes)))
    }
}

fn encode_float4(value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let narrow = match value {
        Value::Float32(number) => *number,
        _ => {
            let wide = float(value)?;
            let narrow = wide as f32;
            if narrow.is_infinite() && wide.is_finite() {
                return Err(EncodeError::Float4Overflow { given: wide.to_string() });
            }
            narrow
        }
    };
    out.extend_from_slice(&narrow.to_be_bytes());
    Ok(())
}

fn float(value: &Value<'_>) -> Result<f64, EncodeError> {
    let not_exact = |given: String| EncodeError::NotExactInFloat { given };
    match value {
        Value::Float(number) => Ok(*number),
        Value::Float32(number) => Ok((*number).into()),
        Value::Int(number) => exact_float(*number).ok_or_else(|| not_exact(number.to_string())),
        Value::UInt(number) => i64::try_from(*number)
            .ok()
            .and_then(exact_float)
            .ok_or_else(|| not_exact(number.to_string())),
        other => Err(EncodeError::WrongKind { expected: "a float", given: other.describe() }),
    }
}
