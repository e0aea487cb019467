//! `tid`: 32-bit number of a page, 16-bit number of a row pointer in the page.

use arrow_array::types::{UInt16Type, UInt32Type};

use super::notation::{decimal, shown};
use super::pair::{Pair, PairBuilder};
use super::primitive::exact;
use super::{Built, Codec, Kind};
use crate::error::{EncodeError, Reason};
use crate::value::Value;

pub(super) const TID: Codec = Codec {
    arrow: "struct<block: uint32, offset: uint16>",
    kind: Kind::Tid,
    width: Some(6),
    casts: &[],
    value: |raw| Place::decode(raw).map(|(block, offset)| Value::Tid { block, offset }),
    encode: |value, out| {
        let (block, offset) = match value {
            Value::Tid { block, offset } => (*block, *offset),
            Value::Text(text) => parse(text)?,
            other => {
                let given = other.describe();
                return Err(EncodeError::WrongKind { expected: "a row's place", given });
            }
        };
        out.extend_from_slice(&block.to_be_bytes());
        out.extend_from_slice(&offset.to_be_bytes());
        Ok(())
    },
    builder: |request| match request.cast {
        None => Built::plain(PairBuilder::<Place>::new()),
        Some(_) => None,
    },
};

fn parse(text: &str) -> Result<(u32, u16), EncodeError> {
    let parts = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    parts
        .and_then(|parts| parts.split_once(','))
        .and_then(|(block, offset)| Some((decimal(block)?, decimal(offset)?)))
        .ok_or_else(|| EncodeError::Notation {
            type_name: "tid",
            form: "\"(0,1)\"",
            given: shown(text),
        })
}

struct Place;

impl Pair for Place {
    type First = UInt32Type;
    type Second = UInt16Type;
    const NAMES: [&str; 2] = ["block", "offset"];

    fn decode(raw: &[u8]) -> Result<(u32, u16), Reason> {
        let [b0, b1, b2, b3, o0, o1] = exact(raw)?;
        Ok((u32::from_be_bytes([b0, b1, b2, b3]), u16::from_be_bytes([o0, o1])))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, StructArray};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    #[test]
    fn golden() {
        // SELECT encode(tidsend('(0,1)'), 'hex'), encode(tidsend('(4294967295,65535)'), 'hex')
        assert_both_ways(27, hex("000000000001"), Value::Tid { block: 0, offset: 1 });
        let last = Value::Tid { block: u32::MAX, offset: u16::MAX };
        assert_both_ways(27, hex("ffffffffffff"), last);
        let array: StructArray = Case::new(27).array(&[hex("000000070001"), None]);
        assert_eq!(array.column_names(), ["block", "offset"]);
        assert_eq!(array.column(0).as_primitive::<UInt32Type>().values()[..], [7, 0]);
        assert_eq!(array.column(1).as_primitive::<UInt16Type>().values()[..], [1, 0]);
        assert!(array.is_null(1));
    }

    #[test]
    fn from_text() {
        assert_eq!(encode(27, &Value::Text("(7,1)".into())).unwrap(), [0, 0, 0, 7, 0, 1]);
        for bad in ["", "7,1", "(7)", "(7,65536)", "(-1,1)", "(7,1))", "(7, 1)"] {
            let error = encode(27, &Value::Text(bad.into())).unwrap_err();
            assert!(error.to_string().ends_with("is not a valid tid, which is written \"(0,1)\""));
        }
    }

    #[test]
    fn malformed() {
        assert_eq!(Case::new(27).error(&[hex("000000000001"), hex("0000000001")]).0, 1);
        assert_eq!(Case::new(27).error(&[hex("")]).0, 0);
        assert!(encode(27, &Value::Int(1)).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(block: u32, offset: u16) {
            let value = Value::Tid { block, offset };
            let bytes = encode(27, &value).unwrap();
            prop_assert_eq!((TID.value)(&bytes), Ok(value.clone()));
            let text = Value::Text(format!("({block},{offset})").into());
            prop_assert_eq!(encode(27, &text).unwrap(), bytes);
        }
    }
}
