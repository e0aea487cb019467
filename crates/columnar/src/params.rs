//! Parameters: one neutral value to the bytes of its type.

use colonnade_protocol::{EncodedParams, Format, Oid};

use crate::error::EncodeError;
use crate::types::type_of;
use crate::value::Value;

/// Appends a parameter of type `oid`, in the format in which the type takes them.
///
/// A type that is not in the table takes its text as a string (the server parses it) and its
/// binary form as bytes.
pub fn push_parameter(
    params: &mut EncodedParams,
    oid: Oid,
    value: &Value<'_>,
) -> Result<(), EncodeError> {
    match (value, type_of(oid)) {
        (Value::Null, _) => {
            params.push_null(Format::Binary);
            Ok(())
        }
        (_, Some(line)) => params.push(line.parameter, |out| (line.encode)(value, out)),
        (Value::Text(text), None) => params.push(Format::Text, |out| {
            if let Some(position) = text.bytes().position(|byte| byte == 0) {
                return Err(EncodeError::NulInText { position });
            }
            out.extend_from_slice(text.as_bytes());
            Ok(())
        }),
        (Value::Bytes(bytes), None) => params.push(Format::Binary, |out| {
            out.extend_from_slice(bytes);
            Ok(())
        }),
        (other, None) => Err(EncodeError::UnknownType { oid, given: other.describe() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_bytes() {
        let mut params = EncodedParams::new();
        push_parameter(&mut params, 23, &Value::Int(7)).unwrap();
        push_parameter(&mut params, 23, &Value::Null).unwrap();
        push_parameter(&mut params, 99_999, &Value::Text("t".into())).unwrap();
        push_parameter(&mut params, 99_999, &Value::Bytes([1][..].into())).unwrap();
        push_parameter(&mut params, 1033, &Value::Text("a=r/b".into())).unwrap();
        let before = params.bytes().to_vec();
        assert!(push_parameter(&mut params, 23, &Value::Int(1 << 40)).is_err());
        assert!(push_parameter(&mut params, 99_999, &Value::Int(1)).is_err());
        assert!(push_parameter(&mut params, 99_999, &Value::Text("\0".into())).is_err());
        assert_eq!(params.bytes(), before);
        let expected =
            b"\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff\0\0\0\x01t\0\0\0\x01\x01\0\0\0\x05a=r/b";
        assert_eq!(before, expected);
        use Format::{Binary, Text};
        assert_eq!(params.formats(), [Binary, Binary, Text, Binary, Text]);
    }
}
