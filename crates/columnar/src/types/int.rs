//! `int2`, `int4`, `int8`, `oid`, `xid`, `cid`: two's complement or unsigned, most significant
//! byte first.

use std::marker::PhantomData;

use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int16Type, Int32Type, Int64Type, UInt16Type, UInt32Type,
    UInt64Type,
};

use super::primitive::{Native, PrimitiveBuilder, Shape, exact};
use super::{Built, Codec, Kind, Request};
use crate::error::{EncodeError, Misfit, Reason};
use crate::schema::{Infinity, Override};
use crate::value::Value;

pub(super) const INT2: Codec = Codec {
    arrow: "int16",
    kind: Kind::Int,
    width: Some(2),
    casts: &["int16", "int32", "int64", "uint16", "uint32", "uint64", "float64"],
    value: |raw| Ok(Value::Int(i16::from_be_bytes(exact(raw)?).into())),
    encode: |value, out| {
        let number = integer(value, "int2", i16::MIN.into(), i16::MAX.into())?;
        out.extend_from_slice(&(number as i16).to_be_bytes());
        Ok(())
    },
    builder: |request| match request.cast {
        None | Some(Override::Int16) => built::<i16, Int16Type>(request),
        Some(Override::Int32) => built::<i16, Int32Type>(request),
        Some(Override::Int64) => built::<i16, Int64Type>(request),
        Some(Override::UInt16) => unsigned::<i16, UInt16Type>(request),
        Some(Override::UInt32) => unsigned::<i16, UInt32Type>(request),
        Some(Override::UInt64) => unsigned::<i16, UInt64Type>(request),
        Some(Override::Float64) => built::<i16, Float64Type>(request),
        _ => None,
    },
};

pub(super) const INT4: Codec = Codec {
    arrow: "int32",
    kind: Kind::Int,
    width: Some(4),
    casts: &["int32", "int64", "uint32", "uint64", "float64"],
    value: |raw| Ok(Value::Int(i32::from_be_bytes(exact(raw)?).into())),
    encode: |value, out| {
        let number = integer(value, "int4", i32::MIN.into(), i32::MAX.into())?;
        out.extend_from_slice(&(number as i32).to_be_bytes());
        Ok(())
    },
    builder: |request| match request.cast {
        None | Some(Override::Int32) => built::<i32, Int32Type>(request),
        Some(Override::Int64) => built::<i32, Int64Type>(request),
        Some(Override::UInt32) => unsigned::<i32, UInt32Type>(request),
        Some(Override::UInt64) => unsigned::<i32, UInt64Type>(request),
        Some(Override::Float64) => built::<i32, Float64Type>(request),
        _ => None,
    },
};

pub(super) const INT8: Codec = Codec {
    arrow: "int64",
    kind: Kind::Int,
    width: Some(8),
    casts: &["int64", "uint64", "float64"],
    value: |raw| Ok(Value::Int(i64::from_be_bytes(exact(raw)?))),
    encode: |value, out| {
        let number = integer(value, "int8", i64::MIN, i64::MAX)?;
        out.extend_from_slice(&number.to_be_bytes());
        Ok(())
    },
    builder: |request| match request.cast {
        None | Some(Override::Int64) => built::<i64, Int64Type>(request),
        Some(Override::UInt64) => unsigned::<i64, UInt64Type>(request),
        Some(Override::Float64) => {
            Built::plain(PrimitiveBuilder::<Int8AsFloat>::new(request.infinity))
        }
        _ => None,
    },
};

pub(super) const OID: Codec = Codec {
    arrow: "uint32",
    kind: Kind::UInt,
    width: Some(4),
    casts: &["uint32", "uint64", "int64", "float64"],
    value: |raw| Ok(Value::UInt(u32::from_be_bytes(exact(raw)?).into())),
    encode: |value, out| {
        let number = integer(value, "oid", 0, u32::MAX.into())?;
        out.extend_from_slice(&(number as u32).to_be_bytes());
        Ok(())
    },
    builder: |request| match request.cast {
        None | Some(Override::UInt32) => built::<u32, UInt32Type>(request),
        Some(Override::UInt64) => built::<u32, UInt64Type>(request),
        Some(Override::Int64) => built::<u32, Int64Type>(request),
        Some(Override::Float64) => built::<u32, Float64Type>(request),
        _ => None,
    },
};

/// An integer on the wire.
trait Wire: Copy + Send + Sync + 'static {
    fn from_wire(raw: &[u8]) -> Result<Self, Reason>;
}

macro_rules! wire {
    ($($integer:ty),*) => {$(
        impl Wire for $integer {
            #[inline]
            fn from_wire(raw: &[u8]) -> Result<Self, Reason> {
                exact(raw).map(Self::from_be_bytes)
            }
        }
    )*};
}

wire!(i16, i32, i64, u32);

/// An integer decoded to an Arrow type that holds every value of it.
struct Widened<W, A>(PhantomData<fn() -> (W, A)>);

impl<W: Wire, A: ArrowPrimitiveType> Shape for Widened<W, A>
where
    A::Native: From<W> + NullSlot,
{
    type Arrow = A;
    const NULL: A::Native = A::Native::NULL_SLOT;

    #[inline]
    fn decode(raw: &[u8]) -> Option<A::Native> {
        W::from_wire(raw).ok().map(A::Native::from)
    }

    fn edge(raw: &[u8], _: Infinity) -> Result<Option<A::Native>, Reason> {
        W::from_wire(raw).map(|number| Some(number.into()))
    }
}

/// The content of a NULL's slot.
trait NullSlot {
    const NULL_SLOT: Self;
}

macro_rules! null_slot {
    ($($native:ty: $null:expr),*) => {$(
        impl NullSlot for $native {
            const NULL_SLOT: Self = $null;
        }
    )*};
}

null_slot!(i16: 0, i32: 0, i64: 0, u16: 0, u32: 0, u64: 0, f64: f64::NAN);

/// An integer of at least the same width, but without a sign.
struct Unsigned<W, A>(PhantomData<fn() -> (W, A)>);

impl<W: Wire + Into<i64>, A: ArrowPrimitiveType> Shape for Unsigned<W, A>
where
    A::Native: TryFrom<W> + NullSlot + Named,
{
    type Arrow = A;
    const NULL: A::Native = A::Native::NULL_SLOT;

    #[inline]
    fn decode(raw: &[u8]) -> Option<A::Native> {
        W::from_wire(raw).ok()?.try_into().ok()
    }

    fn edge(raw: &[u8], _: Infinity) -> Result<Option<A::Native>, Reason> {
        let value = W::from_wire(raw)?.into();
        Err(Misfit::Negative { value, asked: A::Native::NAME, instead: "int64" }.into())
    }
}

/// The name of an Arrow integer type.
trait Named {
    const NAME: &'static str;
}

macro_rules! named {
    ($($native:ty: $name:literal),*) => {$(
        impl Named for $native {
            const NAME: &'static str = $name;
        }
    )*};
}

named!(u16: "uint16", u32: "uint32", u64: "uint64");

/// `int8` as a float64, if it is exactly representable.
struct Int8AsFloat;

impl Shape for Int8AsFloat {
    type Arrow = Float64Type;
    const NULL: Native<Self> = f64::NAN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<f64> {
        exact_float(i64::from_wire(raw).ok()?)
    }

    fn edge(raw: &[u8], _: Infinity) -> Result<Option<f64>, Reason> {
        Err(Reason::NotExactInFloat(i64::from_wire(raw)?))
    }
}

/// The float64 equal to the integer, if there is one: its significant bits must fit in 53.
#[inline]
pub(super) fn exact_float(number: i64) -> Option<f64> {
    let magnitude = number.unsigned_abs();
    let significant = magnitude >> magnitude.trailing_zeros().min(63);
    (significant < 1 << 53).then_some(number as f64)
}

fn built<W: Wire, A: ArrowPrimitiveType>(request: &Request) -> Option<Built>
where
    A::Native: From<W> + NullSlot,
{
    Built::plain(PrimitiveBuilder::<Widened<W, A>>::new(request.infinity))
}

fn unsigned<W: Wire + Into<i64>, A: ArrowPrimitiveType>(request: &Request) -> Option<Built>
where
    A::Native: TryFrom<W> + NullSlot + Named,
{
    Built::plain(PrimitiveBuilder::<Unsigned<W, A>>::new(request.infinity))
}

fn integer(
    value: &Value<'_>,
    type_name: &'static str,
    least: i64,
    most: i64,
) -> Result<i64, EncodeError> {
    let out_of_range = |given: String| EncodeError::IntegerOutOfRange {
        type_name,
        least: least.into(),
        most: most.into(),
        given,
    };
    let number = match value {
        Value::Int(number) => *number,
        Value::UInt(number) => {
            i64::try_from(*number).map_err(|_| out_of_range(number.to_string()))?
        }
        other => {
            let given = other.describe();
            return Err(EncodeError::WrongKind { expected: "an integer", given });
        }
    };
    if number < least || number > most {
        return Err(out_of_range(number.to_string()));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, Float64Array, Int16Array, Int32Array, Int64Array, UInt32Array};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    #[test]
    fn golden() {
        assert_both_ways(21, hex("8000"), Value::Int(-32_768));
        assert_both_ways(21, hex("7fff"), Value::Int(32_767));
        assert_both_ways(23, hex("ffffffff"), Value::Int(-1));
        assert_both_ways(20, hex("7fffffffffffffff"), Value::Int(i64::MAX));
        assert_both_ways(26, hex("ffffffff"), Value::UInt(u32::MAX.into()));
        let cells = [hex("8000"), None, hex("7fff")];
        let array: Int16Array = Case::new(21).array(&cells);
        assert_eq!(array, Int16Array::from(vec![Some(i16::MIN), None, Some(i16::MAX)]));
        assert_eq!(array.values()[1], 0);
        let array: UInt32Array = Case::new(28).array(&[hex("ffffffff")]);
        assert_eq!(array.value(0), u32::MAX);
        let array: Int64Array = Case::new(20).array(&[hex("8000000000000000")]);
        assert_eq!(array.value(0), i64::MIN);
    }

    #[test]
    fn casts() {
        let int2 = [hex("8000"), None];
        let array: Int32Array = Case::new(21).cast("int32").array(&int2);
        assert_eq!(array, Int32Array::from(vec![Some(-32_768), None]));
        let array: Int64Array = Case::new(21).cast("int64").array(&int2);
        assert_eq!(array, Int64Array::from(vec![Some(-32_768), None]));
        let array: Float64Array = Case::new(21).cast("float64").array(&int2);
        assert_eq!(array.value(0), -32_768.0);
        assert!(array.values()[1].is_nan());
        let array: Int64Array = Case::new(26).cast("int64").array(&[hex("ffffffff")]);
        assert_eq!(array.value(0), u32::MAX.into());
    }

    #[test]
    fn int8_as_float_is_exact_or_an_error() {
        let case = Case::new(20).cast("float64");
        for exact in [0, 1, -1, 1 << 53, -(1 << 53), (1 << 53) + 2, i64::MIN, 1 << 62] {
            let array: Float64Array = case.array(&[Some(exact.to_be_bytes().to_vec())]);
            assert_eq!(array.value(0) as i128, exact.into());
        }
        for inexact in [(1_i64 << 53) + 1, i64::MAX, -(1 << 53) - 1] {
            let cells = [hex("0000000000000001"), Some(inexact.to_be_bytes().to_vec())];
            let (row, text) = case.error(&cells);
            assert_eq!(row, 1);
            assert!(text.contains("no exact float64; pass schema={\"c\": \"int64\"}"), "{text}");
        }
    }

    #[test]
    fn wrong_lengths() {
        for (oid, good, cells) in [
            (21, "0000", ["", "00", "000000"]),
            (23, "00000000", ["", "000000", "0000000000"]),
            (20, "0000000000000000", ["", "00000000", "000000000000000000"]),
            (26, "00000000", ["", "000000", "0000000000"]),
        ] {
            for bad in cells {
                let (row, text) = Case::new(oid).error(&[None, hex(good), hex(bad), hex("ff")]);
                assert_eq!(row, 2);
                assert!(
                    text.contains(&format!("has {} bytes instead of", bad.len() / 2)),
                    "{text}"
                );
            }
        }
        let (_, text) = Case::new(23).error(&[hex("")]);
        assert_eq!(text, "column \"c\" of type int4, row 0: the value has 0 bytes instead of 4");
    }

    #[test]
    fn parameters_out_of_range() {
        for (oid, given) in [
            (21, Value::Int(40_000)),
            (23, Value::Int(1 << 31)),
            (20, Value::UInt(u64::MAX)),
            (26, Value::Int(-1)),
        ] {
            let error = encode(oid, &given).unwrap_err();
            assert!(matches!(error, EncodeError::IntegerOutOfRange { .. }));
        }
        assert_eq!(
            encode(21, &Value::Int(40_000)).unwrap_err().to_string(),
            "40000 is out of range for int2, which goes from -32768 to 32767"
        );
        let error = encode(23, &Value::Text("1".into())).unwrap_err();
        assert_eq!(error.to_string(), "expected an integer, not a string");
    }

    proptest! {
        #[test]
        fn round_trip(numbers in prop::collection::vec(any::<Option<i64>>(), 0..200)) {
            let cell = |n| encode(20, &Value::Int(n)).unwrap();
            let cells: Vec<_> = numbers.iter().map(|n| n.map(cell)).collect();
            let array: Int64Array = Case::new(20).array(&cells);
            prop_assert_eq!(array.null_count(), numbers.iter().filter(|n| n.is_none()).count());
            prop_assert_eq!(array, Int64Array::from(numbers));
        }

        #[test]
        fn exactness(number: i64) {
            let exact = number as f64 as i128 == i128::from(number);
            prop_assert_eq!(exact_float(number).is_some(), exact);
        }
    }
}
