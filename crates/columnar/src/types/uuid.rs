//! `uuid`: 16 bytes, most significant first, in Arrow as on the wire.

use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeBinaryArray};
use arrow_buffer::Buffer;
use arrow_schema::DataType;

use super::notation::shown;
use super::primitive::exact;
use super::{Built, Codec, Extension, Kind};
use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::error::{EncodeError, Reason};
use crate::schema::Override;
use crate::validity::Validity;
use crate::value::Value;

pub(super) const UUID: Codec = Codec {
    arrow: "fixed_size_binary[16] (arrow.uuid)",
    kind: Kind::Uuid,
    width: Some(16),
    casts: &["fixed_size_binary[16]"],
    value: |raw| exact(raw).map(Value::Uuid),
    encode: |value, out| match value {
        Value::Uuid(bytes) => {
            out.extend_from_slice(bytes);
            Ok(())
        }
        Value::Text(text) => {
            out.extend_from_slice(&parse(text).ok_or_else(|| EncodeError::Notation {
                type_name: "uuid",
                form: "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"",
                given: shown(text),
            })?);
            Ok(())
        }
        other => Err(EncodeError::WrongKind { expected: "a UUID", given: other.describe() }),
    },
    builder: |request| match request.cast {
        None | Some(Override::Uuid) => Some(Built {
            builder: Box::new(UuidBuilder::default()),
            extension: Some(Extension::Uuid),
        }),
        Some(_) => None,
    },
};

/// A UUID as the server writes it, with digits in either case.
fn parse(text: &str) -> Option<[u8; 16]> {
    let parts: Vec<&str> = text.split('-').collect();
    let [first, second, third, fourth, fifth] = parts.try_into().ok()?;
    let mut number = 0;
    for (part, digits) in [(first, 8), (second, 4), (third, 4), (fourth, 4), (fifth, 12)] {
        if part.len() != digits || !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        number = number << (4 * digits) | u128::from_str_radix(part, 16).ok()?;
    }
    Some(number.to_be_bytes())
}

#[derive(Default)]
struct UuidBuilder {
    /// The bytes of each value in wire order; 0 for NULL.
    values: Vec<u128>,
    /// As long as `values`.
    validity: Validity,
}

impl ColumnBuilder for UuidBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        append(fields, &mut self.values, &mut self.validity)
    }

    fn finish(&mut self) -> ArrayRef {
        let values = Buffer::from_vec(take_buffer(&mut self.values));
        Arc::new(FixedSizeBinaryArray::new(16, values, self.validity.finish()))
    }

    fn data_type(&self) -> DataType {
        DataType::FixedSizeBinary(16)
    }

    fn nbytes(&self) -> usize {
        size_of_val(self.values.as_slice()) + self.validity.nbytes()
    }
}

fn append(
    fields: Fields<'_>,
    values: &mut Vec<u128>,
    validity: &mut Validity,
) -> Result<(), (usize, Reason)> {
    let start = values.len();
    let mut nulls = 0;
    let mut misfits = false;
    values.extend(fields.iter().map(|field| match field {
        Some(raw) => raw.try_into().map_or_else(
            |_| {
                misfits = true;
                0
            },
            u128::from_ne_bytes,
        ),
        None => {
            nulls += 1;
            0
        }
    }));
    if misfits {
        values.truncate(start);
        for (row, raw) in fields.iter().enumerate() {
            if let Some(Err(reason)) = raw.map(exact::<16>) {
                return Err((row, reason));
            }
        }
    }
    validity.append(fields, nulls, &[]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    const SAMPLE: &str = "a0eebc999c0b4ef8bb6d6bb9bd380a11";

    #[test]
    fn golden() {
        let bytes: [u8; 16] = hex(SAMPLE).unwrap().try_into().unwrap();
        assert_both_ways(2950, hex(SAMPLE), Value::Uuid(bytes));
        let array: FixedSizeBinaryArray = Case::new(2950).array(&[hex(SAMPLE), None]);
        assert_eq!(array.value(0), bytes);
        assert!(array.is_null(1));
        assert_eq!(array.values()[16..], [0; 16]);
        assert!(encode(2950, &Value::Bytes(b"0123456789abcdef".into())).is_err());
        let text = "a0eebc99-9C0B-4ef8-bb6d-6bb9bd380a11";
        assert_eq!(encode(2950, &Value::Text(text.into())).unwrap(), bytes);
        for wrong in ["", &text[1..], &text.replace('-', ""), &text.replace('a', "g")] {
            assert!(encode(2950, &Value::Text(wrong.into())).is_err());
        }
    }

    #[test]
    fn malformed() {
        for bad in ["", "00", "a0eebc999c0b4ef8bb6d6bb9bd380a1100"] {
            assert_eq!(Case::new(2950).error(&[hex(SAMPLE), None, hex(bad)]).0, 2);
        }
    }
}
