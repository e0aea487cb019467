//! Parameters: one neutral value to the bytes of its type.

use colonnade_protocol::{EncodedParams, Format, Oid};

use crate::error::EncodeError;
use crate::types::{result_format, type_of};
use crate::value::Value;

/// Appends a parameter of type `oid`, in the format in which the type has its values sent.
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
        (_, Some(line)) => params.push(result_format(oid), |out| (line.encode)(value, out)),
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
