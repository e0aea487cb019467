//! Parameters: encodes a neutral value in its type's format.

use colonnade_protocol::{EncodedParams, Format};

use crate::error::EncodeError;
use crate::types::{Shape, Type, encode_in_text};
use crate::value::Value;

/// Appends a parameter, in the format in which the type's values are sent.
///
/// Unknown types, extension types and types with parts also accept their text as a string, which
/// the server parses; unknown types accept their binary format as bytes.
pub fn push_parameter(
    params: &mut EncodedParams,
    pg_type: &Type,
    value: &Value<'_>,
) -> Result<(), EncodeError> {
    check_long(value)?;
    match (value, &pg_type.bare().shape) {
        (Value::Null, shape) => {
            // A server without a receive function for the type refuses even a binary NULL.
            params.push_null(match shape {
                Shape::Opaque => Format::Text,
                _ => pg_type.parameter_format(),
            });
            Ok(())
        }
        (Value::Text(text), shape) if is_parsed_by_server(shape) => params.push(
            Format::Text,
            bounded(|out| {
                if let Some(position) = text.bytes().position(|byte| byte == 0) {
                    return Err(EncodeError::NulInText { position });
                }
                out.extend_from_slice(text.as_bytes());
                Ok(())
            }),
        ),
        (Value::Bytes(bytes), Shape::Opaque) => params.push(
            Format::Binary,
            bounded(|out| {
                out.extend_from_slice(bytes);
                Ok(())
            }),
        ),
        (Value::Custom { .. }, _) => {
            params.push(pg_type.parameter_format(), bounded(|out| pg_type.encode(value, out)))
        }
        (Value::List(list), Shape::Array(element)) if element.has_texts_in(list) => {
            params.push(Format::Text, bounded(|out| element.encode_texts(list, out)))
        }
        (other, Shape::Opaque) => Err(EncodeError::UnknownType { given: other.describe() }),
        _ => params.push(pg_type.parameter_format(), bounded(|out| pg_type.encode(value, out))),
    }
}

/// Appends a parameter in its type's binary format; a type that [parses its text](Type::reads_text)
/// accepts that, too.
pub fn push_in_binary(
    params: &mut EncodedParams,
    pg_type: &Type,
    value: &Value<'_>,
) -> Result<(), EncodeError> {
    params.push(Format::Binary, bounded(|out| pg_type.encode(value, out)))
}

/// Appends a parameter as text that the server reads under any of its settings.
///
/// # Errors
/// As for `push_parameter`; and a value of a type with a codec, or of unknown parts, has no text.
pub fn push_in_text(
    params: &mut EncodedParams,
    pg_type: &Type,
    value: &Value<'_>,
) -> Result<(), EncodeError> {
    check_long(value)?;
    params.push(Format::Text, bounded(|out| encode_in_text(pg_type, value, out)))
}

/// Whether the text of such a type is sent as it is. Among the types of the tables, those of
/// extensions have no OID.
fn is_parsed_by_server(shape: &Shape) -> bool {
    match shape {
        Shape::Scalar(line) => line.oid == 0,
        Shape::Enum(_) => false,
        _ => true,
    }
}

/// A value is smaller than 1 GiB.
const BYTES_END: usize = 1 << 30;

/// Refuses a long value before it is copied.
fn check_long(value: &Value<'_>) -> Result<(), EncodeError> {
    let bytes = match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Custom { raw, .. } => raw.len(),
        _ => 0,
    };
    if bytes < BYTES_END { Ok(()) } else { Err(EncodeError::TooLong { bytes }) }
}

/// Runs a write and refuses a result that is larger than a value may be.
fn bounded(
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError> {
    move |out| {
        let start = out.len();
        write(out)?;
        match out.len().saturating_sub(start) {
            bytes if bytes >= BYTES_END => Err(EncodeError::TooLong { bytes }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::built_in;
    use crate::value::List;

    #[test]
    fn formats_and_bytes() {
        let mut params = EncodedParams::new();
        let (int4, aclitem) = (built_in(23).unwrap(), built_in(1033).unwrap());
        let unknown = Type::opaque(99_999);
        push_parameter(&mut params, int4, &Value::Int(7)).unwrap();
        push_parameter(&mut params, int4, &Value::Null).unwrap();
        push_parameter(&mut params, &unknown, &Value::Text("t".into())).unwrap();
        push_parameter(&mut params, &unknown, &Value::Bytes([1][..].into())).unwrap();
        push_parameter(&mut params, aclitem, &Value::Text("a=r/b".into())).unwrap();
        push_parameter(&mut params, aclitem, &Value::Null).unwrap();
        push_parameter(&mut params, &unknown, &Value::Null).unwrap();
        let before = params.bytes().to_vec();
        assert!(push_parameter(&mut params, int4, &Value::Int(1 << 40)).is_err());
        assert!(push_parameter(&mut params, &unknown, &Value::Int(1)).is_err());
        assert!(push_parameter(&mut params, &unknown, &Value::Text("\0".into())).is_err());
        assert_eq!(params.bytes(), before);
        let expected =
            b"\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff\0\0\0\x01t\0\0\0\x01\x01\0\0\0\x05a=r/b";
        assert_eq!(before, [&expected[..], &[0xff; 8]].concat());
        use Format::{Binary, Text};
        assert_eq!(params.formats(), [Binary, Binary, Text, Binary, Text, Text, Text]);
    }

    #[test]
    fn a_long_value_is_refused_before_it_is_copied() {
        // Zero pages that are never written to take no memory.
        let zeros = vec![0; BYTES_END];
        let long = [
            Value::Bytes(zeros.as_slice().into()),
            Value::Custom { codec: 0, raw: zeros.as_slice().into() },
            Value::Text(std::str::from_utf8(&zeros).unwrap().into()),
        ];
        let mut params = EncodedParams::new();
        for (value, oid) in long.iter().zip([17, 25, 25]) {
            let refused = push_parameter(&mut params, built_in(oid).unwrap(), value);
            assert_eq!(refused, Err(EncodeError::TooLong { bytes: BYTES_END }));
        }
        assert!(params.bytes().is_empty() && params.formats().is_empty());
        let kept = Value::Bytes([0; 8].as_slice().into());
        push_parameter(&mut params, built_in(17).unwrap(), &kept).unwrap();
    }

    #[test]
    fn vectors_are_sent_as_their_text() {
        let list = |elements: Vec<Value<'static>>| {
            Value::List(List { dimensions: vec![elements.len()], elements })
        };
        let mut params = EncodedParams::new();
        let int2vector = built_in(22).unwrap();
        push_parameter(&mut params, int2vector, &list(vec![Value::Int(1), Value::Int(-2)]))
            .unwrap();
        push_parameter(&mut params, int2vector, &list(vec![])).unwrap();
        assert_eq!(params.bytes(), b"\0\0\0\x041 -2\0\0\0\0");
        assert_eq!(params.formats(), [Format::Text, Format::Text]);
        assert!(push_parameter(&mut params, int2vector, &list(vec![Value::Null])).is_err());
    }
}
