//! `float4`, `float8`: IEEE 754, most significant byte first. Every bit pattern is a value.

use arrow_array::types::{Float32Type, Float64Type};

use super::int::exact_float;
use super::primitive::{PrimitiveBuilder, Shape, exact};
use super::{Built, Codec, Kind};
use crate::error::{EncodeError, Reason};
use crate::given::float4;
use crate::schema::{Infinity, Override};
use crate::value::Value;

pub(super) const FLOAT4: Codec = Codec {
    arrow: "float32",
    kind: Kind::Float32,
    width: Some(4),
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
    width: Some(8),
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
            let narrow = float4(wide)?;
            if matches!(value, Value::Int(_) | Value::UInt(_)) && f64::from(narrow) != wide {
                let (given, type_name) = (format!("{wide}"), "float4".to_owned());
                return Err(EncodeError::Inexact { given, type_name });
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

#[cfg(test)]
mod tests {
    use arrow_array::{Array, Float32Array, Float64Array};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    #[test]
    fn golden() {
        assert_both_ways(701, hex("3ff8000000000000"), Value::Float(1.5));
        assert_both_ways(701, hex("7ff0000000000000"), Value::Float(f64::INFINITY));
        assert_both_ways(701, hex("0000000000000001"), Value::Float(5e-324));
        assert_both_ways(700, hex("ff800000"), Value::Float32(f32::NEG_INFINITY));
        assert_both_ways(700, hex("00000001"), Value::Float32(1e-45));
    }

    #[test]
    fn every_bit_is_kept() {
        let bits = [
            0x8000_0000_0000_0000,
            0x7ff8_0000_0000_0001,
            0xfff0_0000_0000_0000,
            0x1,
            0x3ff0_0000_0000_0000,
        ];
        let cells: Vec<_> =
            bits.iter().map(|bits: &u64| Some(bits.to_be_bytes().to_vec())).collect();
        let array: Float64Array = Case::new(701).array(&cells);
        assert_eq!(array.values().iter().map(|float| float.to_bits()).collect::<Vec<_>>(), bits);
    }

    #[test]
    fn null_slots_are_nan() {
        let array: Float64Array = Case::new(701).array(&[None, hex("0000000000000000")]);
        assert!(array.is_null(0) && array.values()[0].is_nan() && array.value(1) == 0.0);
        let array: Float32Array = Case::new(700).array(&[None, hex("3fc00000")]);
        assert!(array.is_null(0) && array.values()[0].is_nan() && array.value(1) == 1.5);
        let array: Float64Array = Case::new(700).cast("float64").array(&[None, hex("3fc00000")]);
        assert!(array.is_null(0) && array.values()[0].is_nan() && array.value(1) == 1.5);
    }

    #[test]
    fn wrong_lengths() {
        assert_eq!(Case::new(701).error(&[hex("00000000")]).0, 0);
        assert_eq!(Case::new(700).error(&[None, hex("0000000000000000")]).0, 1);
        assert_eq!(Case::new(700).cast("float64").error(&[None, hex("")]).0, 1);
    }

    #[test]
    fn parameters() {
        assert_eq!(encode(700, &Value::Float(1.5)).unwrap(), hex("3fc00000").unwrap());
        assert_eq!(encode(701, &Value::Int(3)).unwrap(), 3.0_f64.to_be_bytes());
        assert!(encode(700, &Value::Float(f64::INFINITY)).is_ok());
        assert_eq!(encode(700, &Value::Float(-1e-45)).unwrap(), hex("80000001").unwrap());
        assert!(encode(700, &Value::Float(1e-46)).unwrap_err().to_string().contains("float8"));
        assert!(encode(700, &Value::Float(1e39)).unwrap_err().to_string().contains("float8"));
        assert!(encode(701, &Value::Int(i64::MAX)).is_err());
        assert!(encode(701, &Value::UInt(u64::MAX)).is_err());
        assert!(encode(701, &Value::Bool(true)).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(bits: u64) {
            let float = f64::from_bits(bits);
            let bytes = encode(701, &Value::Float(float)).unwrap();
            prop_assert_eq!(&bytes, &bits.to_be_bytes().to_vec());
            let array: Float64Array = Case::new(701).array(&[Some(bytes)]);
            prop_assert_eq!(array.value(0).to_bits(), bits);
        }
    }
}
