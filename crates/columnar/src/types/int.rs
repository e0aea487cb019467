//! `int2`, `int4`, `int8`, `oid`, `xid`, `cid`: two's complement or unsigned, most significant
//! byte first.

use std::marker::PhantomData;

use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int16Type, Int32Type, Int64Type, UInt32Type,
};

use super::primitive::{Native, PrimitiveBuilder, Shape, exact};
use super::{Built, Codec, Kind, Request};
use crate::error::{EncodeError, Reason};
use crate::schema::{Infinity, Override};
use crate::value::Value;

pub(super) const INT2: Codec = Codec {
    arrow: "int16",
    kind: Kind::Int,
    casts: &["int16", "int32", "int64", "float64"],
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
        Some(Override::Float64) => built::<i16, Float64Type>(request),
        _ => None,
    },
};

pub(super) const INT4: Codec = Codec {
    arrow: "int32",
    kind: Kind::Int,
    casts: &["int32", "int64", "float64"],
    value: |raw| Ok(Value::Int(i32::from_be_bytes(exact(raw)?).into())),
    encode: |value, out| {
        let number = integer(value, "int4", i32::MIN.into(), i32::MAX.into())?;
        out.extend_from_slice(&(number as i32).to_be_bytes());
        Ok(())
    },
    builder: |request| match request.cast {
        None | Some(Override::Int32) => built::<i32, Int32Type>(request),
        Some(Override::Int64) => built::<i32, Int64Type>(request),
        Some(Override::Float64) => built::<i32, Float64Type>(request),
        _ => None,
    },
};

pub(super) const INT8: Codec = Codec {
    arrow: "int64",
    kind: Kind::Int,
    casts: &["int64", "float64"],
    value: |raw| Ok(Value::Int(i64::from_be_bytes(exact(raw)?))),
    encode: |value, out| {
        let number = integer(value, "int8", i64::MIN, i64::MAX)?;
        out.extend_from_slice(&number.to_be_bytes());
        Ok(())
    },
    builder: |request| match request.cast {
        None | Some(Override::Int64) => built::<i64, Int64Type>(request),
        Some(Override::Float64) => {
            Built::plain(PrimitiveBuilder::<Int8AsFloat>::new(request.infinity))
        }
        _ => None,
    },
};

pub(super) const OID: Codec = Codec {
    arrow: "uint32",
    kind: Kind::UInt,
    casts: &["uint32", "int64", "float64"],
    value: |raw| Ok(Value::UInt(u32::from_be_bytes(exact(raw)?).into())),
    encode: |value, out| {
        let number = integer(value, "oid", 0, u32::MAX.into())?;
        out.extend_from_slice(&(number as u32).to_be_bytes());
        Ok(())
    },
    builder: |request| match request.cast {
        None | Some(Override::UInt32) => built::<u32, UInt32Type>(request),
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

/// What the slot of a NULL holds.
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

null_slot!(i16: 0, i32: 0, i64: 0, u32: 0, f64: f64::NAN);

/// `int8` as a float64, which holds it exactly or not at all.
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

/// The float64 that is the integer, if there is one: its significant bits must fit into 53.
#[inline]
pub(super) fn exact_float(number: i64) -> Option<f64> {
    let magnitude = number.unsigned_abs();
    let significant = 64 - magnitude.leading_zeros().min(63) - magnitude.trailing_zeros().min(63);
    (significant <= 53).then_some(number as f64)
}

fn built<W: Wire, A: ArrowPrimitiveType>(request: &Request) -> Option<Built>
where
    A::Native: From<W> + NullSlot,
{
    Built::plain(PrimitiveBuilder::<Widened<W, A>>::new(request.infinity))
}

fn integer(
    value: &Value<'_>,
    type_name: &'static str,
    least: i64,
    most: i64,
) -> Result<i64, EncodeError> {
    let out_of_range =
        |given: String| EncodeError::IntegerOutOfRange { type_name, least, most, given };
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
