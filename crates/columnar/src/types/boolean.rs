//! `bool`: one byte, 0 or 1; in Arrow one bit.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::DataType;

use super::primitive::exact;
use super::{Built, Codec, Kind};
use crate::column::{ColumnBuilder, Fields};
use crate::error::{EncodeError, Reason};
use crate::schema::Override;
use crate::validity::{Bits, Validity};
use crate::value::Value;

pub(super) const BOOL: Codec = Codec {
    arrow: "bool",
    kind: Kind::Bool,
    width: Some(1),
    casts: &["bool"],
    value: |raw| decode(raw).map(Value::Bool),
    encode: |value, out| match value {
        Value::Bool(truth) => {
            out.push(u8::from(*truth));
            Ok(())
        }
        other => Err(EncodeError::WrongKind { expected: "a bool", given: other.describe() }),
    },
    builder: |request| match request.cast {
        None | Some(Override::Bool) => Built::plain(BooleanBuilder::default()),
        _ => None,
    },
};

#[inline]
pub(super) fn decode(raw: &[u8]) -> Result<bool, Reason> {
    match exact(raw)? {
        [0] => Ok(false),
        [1] => Ok(true),
        [other] => Err(Reason::NotBool(other)),
    }
}

#[derive(Default)]
struct BooleanBuilder {
    /// 0 for NULL.
    bits: Bits,
    /// As long as `bits`.
    validity: Validity,
}

impl ColumnBuilder for BooleanBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        append(fields, &mut self.bits, &mut self.validity)
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(BooleanArray::new(self.bits.finish(), self.validity.finish()))
    }

    fn data_type(&self) -> DataType {
        DataType::Boolean
    }

    fn nbytes(&self) -> usize {
        self.bits.nbytes() + self.validity.nbytes()
    }
}

/// Packs the values into 64-bit words, each written once. Invalid values are detected on the way
/// and located afterwards.
fn append(
    fields: Fields<'_>,
    bits: &mut Bits,
    validity: &mut Validity,
) -> Result<(), (usize, Reason)> {
    let start = bits.len();
    let mut nulls = 0;
    let mut wrong = false;
    let mut word = 0_u64;
    let mut filled = 0;
    for field in fields.iter() {
        let bit = match field {
            Some(&[byte]) => byte,
            Some(_) => u8::MAX,
            None => {
                nulls += 1;
                0
            }
        };
        wrong |= bit > 1;
        word |= u64::from(bit & 1) << filled;
        filled += 1;
        if filled == 64 {
            bits.push_word(word, 64);
            (word, filled) = (0, 0);
        }
    }
    if filled > 0 {
        bits.push_word(word, filled);
    }
    if wrong {
        bits.truncate(start);
        for (row, field) in fields.iter().enumerate() {
            if let Some(Err(reason)) = field.map(decode) {
                return Err((row, reason));
            }
        }
    }
    validity.append(fields, nulls, &[]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    #[test]
    fn golden() {
        assert_both_ways(16, hex("01"), Value::Bool(true));
        assert_both_ways(16, hex("00"), Value::Bool(false));
        assert!(encode(16, &Value::Int(1)).is_err());
    }

    #[test]
    fn malformed() {
        let (row, text) = Case::new(16).error(&[None, hex("01"), hex("02")]);
        assert_eq!(row, 2);
        assert!(text.ends_with("the value is 2, neither 0 nor 1"), "{text}");
        assert_eq!(Case::new(16).error(&[hex("")]).0, 0);
        assert_eq!(Case::new(16).error(&[hex("0001")]).0, 0);
    }

    proptest! {
        #[test]
        fn round_trip(truths in prop::collection::vec(any::<Option<bool>>(), 0..300)) {
            let cells: Vec<_> = truths.iter().map(|t| t.map(|t| vec![u8::from(t)])).collect();
            let array: BooleanArray = Case::new(16).array(&cells);
            prop_assert_eq!(array, BooleanArray::from(truths));
        }
    }
}
