//! `void`: the result of a function without a result. It has no values: anything received is NULL,
//! in Arrow's null type.

use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray};
use arrow_schema::DataType;

use super::{Built, Codec, Kind};
use crate::column::{ColumnBuilder, Fields};
use crate::error::{EncodeError, Reason};
use crate::value::Value;

pub(super) const VOID: Codec = Codec {
    arrow: "null",
    kind: Kind::Void,
    width: None,
    casts: &[],
    value: |_| Ok(Value::Null),
    // The receive function takes no bytes, which is different from NULL: a strict function is
    // called.
    encode: |value, _| match value {
        Value::Text(text) if text.is_empty() => Ok(()),
        _ => Err(EncodeError::WrongKind { expected: "null or no text", given: value.describe() }),
    },
    builder: |request| match request.cast {
        None => Built::plain(NullBuilder::default()),
        Some(_) => None,
    },
};

#[derive(Default)]
struct NullBuilder {
    rows: usize,
}

impl ColumnBuilder for NullBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        self.rows += fields.len();
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(NullArray::new(std::mem::take(&mut self.rows)))
    }

    fn data_type(&self) -> DataType {
        DataType::Null
    }

    fn nbytes(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use colonnade_protocol::Spans;

    use super::*;
    use crate::testing::{data_rows, encode, hex, messages};

    #[test]
    fn nothing() {
        // SELECT pg_sleep(0)
        assert_eq!((VOID.value)(b""), Ok(Value::Null));
        assert_eq!((VOID.value)(b"\xff"), Ok(Value::Null));
        assert_eq!(encode(2278, &Value::Text("".into())), Ok(vec![]));
        assert!(encode(2278, &Value::Text("x".into())).is_err());
        let bytes = messages([&[hex("")][..], &[None], &[hex("ff")]]);
        let mut spans = Spans::new();
        let mut rows = data_rows(&bytes).unwrap();
        rows.scan(1, usize::MAX, &mut spans).unwrap();
        let mut builder = NullBuilder::default();
        builder.append(Fields::new(rows.bytes(), spans.column(0))).unwrap();
        let array = builder.finish();
        assert_eq!((array.len(), array.logical_null_count()), (3, 3));
        assert_eq!(builder.finish().len(), 0);
    }
}
