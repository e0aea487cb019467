//! `xid8`, `pg_lsn`: unsigned 64-bit integers. A `pg_lsn` is written as two hexadecimal halves.

use arrow_array::types::{Float64Type, UInt64Type};

use super::notation::{hexadecimal, shown};
use super::primitive::{PrimitiveBuilder, Shape, exact};
use super::{Built, Codec, Kind, Request};
use crate::error::{EncodeError, Reason};
use crate::schema::{Infinity, Override};
use crate::value::Value;

pub(super) const XID8: Codec = Codec {
    arrow: "uint64",
    kind: Kind::UInt,
    width: Some(8),
    casts: &["uint64", "float64"],
    value: |raw| decode(raw).map(Value::UInt),
    encode: |value, out| {
        out.extend_from_slice(&integer(value, "xid8")?.to_be_bytes());
        Ok(())
    },
    builder: number,
};

pub(super) const LSN: Codec = Codec {
    arrow: "uint64",
    kind: Kind::UInt,
    width: Some(8),
    casts: &["uint64", "float64"],
    value: |raw| decode(raw).map(Value::UInt),
    encode: |value, out| {
        let position = match value {
            Value::Text(text) => parse(text)?,
            other => integer(other, "pg_lsn")?,
        };
        out.extend_from_slice(&position.to_be_bytes());
        Ok(())
    },
    builder: number,
};

#[inline]
fn decode(raw: &[u8]) -> Result<u64, Reason> {
    exact(raw).map(u64::from_be_bytes)
}

fn number(request: &Request) -> Option<Built> {
    match request.cast {
        None | Some(Override::UInt64) => {
            Built::plain(PrimitiveBuilder::<Whole>::new(request.infinity))
        }
        Some(Override::Float64) => Built::plain(PrimitiveBuilder::<Float>::new(request.infinity)),
        Some(_) => None,
    }
}

fn integer(value: &Value<'_>, type_name: &'static str) -> Result<u64, EncodeError> {
    match *value {
        Value::UInt(number) => Ok(number),
        Value::Int(number) => u64::try_from(number).map_err(|_| EncodeError::IntegerOutOfRange {
            type_name,
            least: 0,
            most: u64::MAX.into(),
            given: number.to_string(),
        }),
        ref other => {
            Err(EncodeError::WrongKind { expected: "an integer", given: other.describe() })
        }
    }
}

fn parse(text: &str) -> Result<u64, EncodeError> {
    text.split_once('/')
        .and_then(|(high, low)| Some(hexadecimal(high, 8)? << 32 | hexadecimal(low, 8)?))
        .ok_or_else(|| EncodeError::Notation {
            type_name: "pg_lsn",
            form: "\"16/B374D848\"",
            given: shown(text),
        })
}

struct Whole;

impl Shape for Whole {
    type Arrow = UInt64Type;
    const NULL: u64 = 0;

    #[inline]
    fn decode(raw: &[u8]) -> Option<u64> {
        decode(raw).ok()
    }

    fn edge(raw: &[u8], _: Infinity) -> Result<Option<u64>, Reason> {
        decode(raw).map(Some)
    }
}

/// As a float64, if it is exactly representable.
struct Float;

impl Shape for Float {
    type Arrow = Float64Type;
    const NULL: f64 = f64::NAN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<f64> {
        let number = decode(raw).ok()?;
        let significant = number >> number.trailing_zeros().min(63);
        (significant < 1 << 53).then_some(number as f64)
    }

    fn edge(raw: &[u8], _: Infinity) -> Result<Option<f64>, Reason> {
        Err(Reason::UnsignedNotExactInFloat(decode(raw)?))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, UInt64Array};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    // SELECT encode(pg_lsn_send('16/B374D848'), 'hex')
    const LSN_SAMPLE: &str = "00000016b374d848";

    #[test]
    fn golden() {
        // SELECT encode(xid8send('18446744073709551615'), 'hex')
        assert_both_ways(5069, hex("ffffffffffffffff"), Value::UInt(u64::MAX));
        assert_both_ways(3220, hex(LSN_SAMPLE), Value::UInt(0x16_b374_d848));
        for oid in [5069, 3220] {
            let array: UInt64Array = Case::new(oid).array(&[hex("ffffffffffffffff"), None]);
            assert_eq!(array, UInt64Array::from(vec![Some(u64::MAX), None]));
            assert_eq!(array.values()[1], 0);
        }
    }

    #[test]
    fn positions_from_text() {
        let bytes = encode(3220, &Value::Text("16/b374d848".into())).unwrap();
        assert_eq!(Some(bytes), hex(LSN_SAMPLE));
        for bad in ["", "/", "16", "16/", "16/B374D8480", "16/B374D84G", "+1/0", "1/2/3"] {
            assert!(encode(3220, &Value::Text(bad.into())).is_err(), "{bad}");
        }
    }

    #[test]
    fn as_float_exact_or_an_error() {
        let case = Case::new(5069).cast("float64");
        for exact in [0, 1, 1 << 53, (1 << 53) + 2, 1 << 63, u64::MAX << 11] {
            let array: Float64Array = case.array(&[Some(u64::to_be_bytes(exact).to_vec()), None]);
            assert_eq!(array.value(0) as u128, exact.into());
            assert!(array.values()[1].is_nan());
        }
        for inexact in [(1_u64 << 53) + 1, u64::MAX] {
            let (_, text) = case.error(&[Some(inexact.to_be_bytes().to_vec())]);
            assert!(text.contains("has no exact float64; leave it out of schema"), "{text}");
        }
    }

    #[test]
    fn malformed() {
        for oid in [5069, 3220] {
            for bad in ["", "00000000", "000000000000000000"] {
                assert_eq!(Case::new(oid).error(&[hex("0000000000000001"), hex(bad)]).0, 1);
                assert_eq!(Case::new(oid).cast("float64").error(&[hex(bad)]).0, 0);
            }
            assert!(encode(oid, &Value::Float(1.0)).is_err());
        }
        assert_eq!(
            encode(5069, &Value::Int(-1)).unwrap_err().to_string(),
            "-1 is out of range for xid8, which goes from 0 to 18446744073709551615"
        );
        assert!(encode(5069, &Value::Text("1".into())).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(number: u64) {
            let bytes = encode(5069, &Value::UInt(number)).unwrap();
            prop_assert_eq!((XID8.value)(&bytes), Ok(Value::UInt(number)));
            let text = Value::Text(format!("{:X}/{:X}", number >> 32, number as u32).into());
            prop_assert_eq!(encode(3220, &text).unwrap(), bytes);
        }
    }
}
