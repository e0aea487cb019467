//! pgvector's `vector` and `halfvec`: a 16-bit number of dimensions, 16 bits that are 0, then the
//! floats, of 32 or 16 bits.
//!
//! A column declared with its dimensions has lists of that length, and a NULL holds that many NaN;
//! any other column has lists of any length. 16-bit floats become 32-bit floats.

use std::borrow::Cow;

use arrow_array::types::Float32Type;

use super::float_text::print_float4;
use super::floats::{FixedBuilder, ListBuilder, Lists, Shape};
use super::half::{narrow, widen};
use super::notation::shown;
use super::{Built, Codec, Kind, Request};
use crate::error::{EncodeError, LayoutFault, Reason};
use crate::value::Value;

/// The maximum dimensions that pgvector allows in a column's declaration.
const DIMENSIONS_MOST: i32 = 16_000;

pub(super) const VECTOR: Codec = Codec {
    arrow: "fixed_size_list[float32, dimensions] or list[float32]",
    kind: Kind::Floats,
    width: None,
    casts: &[],
    value: value::<Vector>,
    encode: |value, out| {
        for float in encodable("vector", value, out)?.iter() {
            out.extend_from_slice(&float.to_be_bytes());
        }
        Ok(())
    },
    builder: builder::<Vector>,
};

pub(super) const HALFVEC: Codec = Codec {
    arrow: "fixed_size_list[float32, dimensions] or list[float32]",
    kind: Kind::Floats,
    width: None,
    casts: &[],
    value: value::<Halfvec>,
    encode: |value, out| {
        for float in encodable("halfvec", value, out)?.iter() {
            let half = narrow(*float)
                .ok_or_else(|| EncodeError::HalfvecOverflow { given: format!("{float:e}") })?;
            out.extend_from_slice(&half.to_be_bytes());
        }
        Ok(())
    },
    builder: builder::<Halfvec>,
};

fn value<S: Shape<Arrow = Float32Type>>(raw: &[u8]) -> Result<Value<'_>, Reason> {
    let mut floats = Vec::new();
    S::append(raw, &mut floats)?;
    Ok(Value::Floats(floats))
}

fn builder<S: Shape<Arrow = Float32Type>>(request: &Request) -> Option<Built> {
    match (&request.cast, request.type_modifier) {
        (None, declared @ 1..=DIMENSIONS_MOST) => {
            Built::plain(FixedBuilder::<S>::new(declared as usize))
        }
        (None, _) => Built::plain(ListBuilder::<S>::new(Lists::of_floats())),
        (Some(_), _) => None,
    }
}

/// The floats of a vector, of `N` bytes each, checked for their number.
#[inline]
fn floats<const N: usize>(raw: &[u8]) -> Result<&[[u8; N]], Reason> {
    let Some(([high, low, reserved @ ..], floats)) = raw.split_first_chunk::<4>() else {
        return Err(Reason::TooShort { least: 4, actual: raw.len() });
    };
    let dimensions = i16::from_be_bytes([*high, *low]);
    let Ok(announced) = usize::try_from(dimensions) else {
        return Err(LayoutFault::Count(dimensions.into()).into());
    };
    match i16::from_be_bytes(*reserved) {
        0 => {}
        word => return Err(LayoutFault::Reserved(word.into()).into()),
    }
    match floats.as_chunks() {
        (floats, []) if floats.len() == announced => Ok(floats),
        _ => Err(Reason::WrongLength { expected: 4 + announced * N, actual: raw.len() }),
    }
}

/// A row's vector as the text that the server prints.
pub(super) fn print_vector(raw: &[u8]) -> Result<Value<'static>, Reason> {
    Ok(printed(floats(raw)?.iter().copied().map(f32::from_be_bytes)))
}

/// A row's halfvec as the text that the server prints.
pub(super) fn print_halfvec(raw: &[u8]) -> Result<Value<'static>, Reason> {
    Ok(printed(floats(raw)?.iter().copied().map(u16::from_be_bytes).map(widen)))
}

fn printed(floats: impl Iterator<Item = f32>) -> Value<'static> {
    let mut text = String::from("[");
    for (index, float) in floats.enumerate() {
        if index > 0 {
            text.push(',');
        }
        print_float4(float, &mut text);
    }
    text.push(']');
    Value::Text(Cow::Owned(text))
}

/// The floats of a text, which must be numbers as the server prints them.
fn parse(type_name: &'static str, text: &str) -> Result<Vec<f32>, EncodeError> {
    let inner = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let floats = inner.map(|inner| inner.split(',').map(|number| number.trim().parse().ok()));
    let form = "\"[1,2.5]\"";
    floats.and_then(Iterator::collect::<Option<_>>).ok_or_else(|| EncodeError::Notation {
        type_name,
        form,
        given: shown(text),
    })
}

/// The floats of a parameter; also writes their number.
fn encodable<'a>(
    type_name: &'static str,
    value: &'a Value<'_>,
    out: &mut Vec<u8>,
) -> Result<Cow<'a, [f32]>, EncodeError> {
    let floats = match value {
        Value::Floats(floats) => Cow::Borrowed(floats.as_slice()),
        Value::Text(text) => Cow::Owned(parse(type_name, text)?),
        other => {
            return Err(EncodeError::WrongKind { expected: "a vector", given: other.describe() });
        }
    };
    let dimensions = i16::try_from(floats.len()).map_err(|_| EncodeError::TooManyParts {
        type_name,
        most: i16::MAX as usize,
        given: floats.len(),
    })?;
    out.extend_from_slice(&dimensions.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    Ok(floats)
}

struct Vector;

impl Shape for Vector {
    type Arrow = Float32Type;
    const NULL: f32 = f32::NAN;

    #[inline]
    fn append(raw: &[u8], column: &mut Vec<f32>) -> Result<(), Reason> {
        column.extend(floats(raw)?.iter().copied().map(f32::from_be_bytes));
        Ok(())
    }
}

struct Halfvec;

impl Shape for Halfvec {
    type Arrow = Float32Type;
    const NULL: f32 = f32::NAN;

    #[inline]
    fn append(raw: &[u8], column: &mut Vec<f32>) -> Result<(), Reason> {
        let halves = floats(raw)?.iter().copied().map(u16::from_be_bytes);
        column.extend(halves.map(widen));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, FixedSizeListArray, ListArray};
    use proptest::prelude::*;

    use super::super::extensions::testing::Extended;
    use super::*;
    use crate::testing::hex;

    #[test]
    fn golden() {
        let vector = Extended::new("vector");
        // '[1,2.5,-0]'::vector
        vector.assert_both_ways(
            hex("0003 0000 3f800000 40200000 80000000"),
            Value::Floats(vec![1.0, 2.5, -0.0]),
        );
        // '[1,2.5,-65504,6e-8,0]'::halfvec
        Extended::new("halfvec").assert_both_ways(
            hex("0005 0000 3c00 4100 fbff 0001 0000"),
            Value::Floats(vec![1.0, 2.5, -65504.0, 5.960_464_5e-8, 0.0]),
        );
        // The server neither sends nor accepts vectors without dimensions.
        vector.assert_both_ways(hex("0000 0000"), Value::Floats(vec![]));
    }

    #[test]
    fn declared_columns() {
        // '[1,2.5]'::vector(2), '[1,2.5]'::halfvec(2)
        let cases = [("vector", "0002 0000 3f800000 40200000"), ("halfvec", "0002 0000 3c00 4100")];
        for (name, bytes) in cases {
            let case = Extended::new(name).modifier(2);
            let array: FixedSizeListArray = case.array(&[None, hex(bytes)]);
            assert_eq!(array.data_type().to_string(), "FixedSizeList(2 x non-null Float32)");
            let floats = array.values().as_primitive::<Float32Type>().values();
            assert!(array.is_null(0) && floats[..2].iter().all(|float| float.is_nan()));
            assert_eq!(floats[2..], [1.0, 2.5]);
            let (row, reason) = Extended::new(name).modifier(3).error(&[None, hex(bytes)]);
            assert_eq!(row, 1);
            assert_eq!(reason.to_string(), "the vector has 2 dimensions, but its column has 3");
            let array: ListArray = Extended::new(name).array(&[None, hex(bytes), hex("00000000")]);
            assert_eq!(array.value_offsets(), [0, 0, 2, 2]);
            assert!(array.is_null(0) && array.is_valid(2));
            assert_eq!(array.values().as_primitive::<Float32Type>().values(), &[1.0, 2.5]);
        }
        // A declaration that pgvector does not allow must not cause an allocation.
        let case = Extended::new("vector").modifier(i32::MAX);
        assert_eq!(case.array::<ListArray>(&[None]).len(), 1);
    }

    #[test]
    fn malformed() {
        let bad = ["", "0000", "ffff0000", "00010000", "0001000100000000", "000100000000000000"];
        for bytes in bad {
            for name in ["vector", "halfvec"] {
                let cells = [hex("00000000"), None, hex(bytes)];
                assert_eq!(Extended::new(name).error(&cells).0, 2, "{bytes}");
            }
        }
        let half = Extended::new("halfvec");
        assert!(half.encode(&Value::Floats(vec![1.0, 65520.0])).is_err());
        assert!(half.encode(&Value::Floats(vec![f32::INFINITY, f32::NAN])).is_ok());
        let long = Value::Floats(vec![0.0; 40_000]);
        let text = half.encode(&long).unwrap_err().to_string();
        assert_eq!(text, "a halfvec has at most 32767 parts, not 40000");
        assert!(half.encode(&Value::Float(1.0)).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(bits in prop::collection::vec(any::<u32>(), 0..40)) {
            let case = Extended::new("vector");
            let floats: Vec<f32> = bits.iter().copied().map(f32::from_bits).collect();
            let bytes = case.encode(&Value::Floats(floats)).unwrap();
            let array: ListArray = case.array(&[Some(bytes)]);
            let decoded = array.values().as_primitive::<Float32Type>().values();
            prop_assert_eq!(decoded.iter().map(|f| f.to_bits()).collect::<Vec<_>>(), bits);
        }

        #[test]
        fn halves_round_trip(halves in prop::collection::vec(any::<u16>(), 0..40)) {
            let case = Extended::new("halfvec");
            let mut bytes = (halves.len() as u32 * 0x1_0000).to_be_bytes().to_vec();
            bytes.extend(halves.iter().flat_map(|half| half.to_be_bytes()));
            let value = case.value(&bytes).unwrap();
            prop_assert_eq!(case.encode(&value).unwrap(), bytes);
        }
    }
}
