//! Arrow arrays on their way to the server and back.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};
use colonnade_protocol::fuzzing::Input;
use colonnade_protocol::{Frame, Oid, Span, next_frame};

use super::any_type;
use crate::Types;
use crate::builder::{BatchBuilder, DecodeOptions, ResultColumn};
use crate::column::Fields;
use crate::encode::{EncodeOptions, RowEncoder, TargetColumn, array_parameter, column_encoder};
use crate::schema::Infinity;
use crate::types::{Request, Shape, Type, column_builder};
use crate::value::Value;

/// The OID of `text`.
const TEXT: Oid = 25;

/// The size of a COPY's header.
const HEADER_BYTES: usize = 19;

/// A slice of a column of any type is passed `through` another library and back, and written as
/// rows of a COPY; the rows decode to the same values. So do the elements of one array parameter.
pub fn arrow(data: &[u8], through: fn(ArrayRef) -> ArrayRef) {
    let mut input = Input::new(data);
    let pg_type = any_type(&mut input);
    let (start, cut) = (input.below(4), input.below(4));
    let is_dictionary = input.below(4) == 0;
    let limit_bytes = usize::from(input.byte()) * 8;
    let Some(array) = decoded(&pg_type, &mut input) else { return };
    let start = start.min(array.len());
    let mut array = array.slice(start, (array.len() - start).saturating_sub(cut));
    let expected = array.clone();
    if is_dictionary {
        array = dictionary(&array);
    }
    let array = through(array);
    let Some(bytes) = copied(&pg_type, &array, limit_bytes) else { return };
    if pg_type.is_text_only() {
        // The column was written as text for the server to cast: a text decodes to itself.
        if *expected.data_type() == DataType::Utf8 {
            let decoded = Types::default().find(TEXT).and_then(|text| read(&text, &bytes));
            assert_eq!(decoded.as_ref(), Some(&expected), "{pg_type:?}");
        }
        return;
    }
    let decoded = read(&pg_type, &bytes);
    // The remaining rows alone decide the scale of numerics and the dimensions of arrays.
    let is_of_type = decoded.as_ref().is_some_and(|it| it.data_type() == expected.data_type());
    if is_of_type || decoded.is_none() && expected.null_count() < expected.len() {
        // A half-precision NaN loses some of its bits, but prints the same.
        let are_same = decoded.as_ref() == Some(&expected)
            || format!("{decoded:?}") == format!("{:?}", Some(&expected));
        assert!(are_same, "{pg_type:?}: {decoded:?}, not {expected:?}");
    }
    elements(&pg_type, &array);
}

/// A column of the input's values and of NULLs; invalid values are left out.
fn decoded(pg_type: &Type, input: &mut Input<'_>) -> Option<ArrayRef> {
    let request = Request::new(-1, Infinity::Raise, None);
    let (mut built, _) = column_builder(pg_type, &request).ok()?;
    let mut rows = 0;
    while !input.is_empty() && rows < 32 {
        let cell = input.chunk();
        let span = if cell.is_empty() && input.flag() {
            Span::NULL
        } else if pg_type.value(cell).is_ok() {
            Span::new(0, cell.len())
        } else {
            continue;
        };
        // A value that the column cannot hold ends it.
        built.builder.append(Fields::new(cell, &[span])).ok()?;
        rows += 1;
    }
    Some(built.builder.finish())
}

/// The same values as a dictionary.
fn dictionary(array: &ArrayRef) -> ArrayRef {
    let len = i32::try_from(array.len()).unwrap_or(0);
    let nulls = array.logical_nulls().map(|nulls| NullBuffer::new(nulls.inner().clone()));
    let keys = Int32Array::new((0..len).collect::<Vec<_>>().into(), nulls);
    match DictionaryArray::try_new(keys, array.clone()) {
        Ok(made) => Arc::new(made),
        Err(_) => array.clone(),
    }
}

/// The rows of a COPY, however they are split into chunks; `None` if there is no cast, or if the
/// type cannot hold a value.
fn copied(pg_type: &Arc<Type>, array: &ArrayRef, limit_bytes: usize) -> Option<Vec<u8>> {
    let field = Field::new("column", array.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema, vec![array.clone()]).ok()?;
    let target = TargetColumn {
        source: 0,
        name: "column".to_owned(),
        pg_type: Arc::clone(pg_type),
        type_modifier: -1,
    };
    let options = EncodeOptions::default();
    let encode = |limit: usize| {
        let mut encoder =
            RowEncoder::new(std::slice::from_ref(&target), &batch, &options, 0).ok()?;
        let mut bytes = Vec::new();
        RowEncoder::header(&mut bytes);
        assert_eq!(bytes.len(), HEADER_BYTES);
        while encoder.append(&mut bytes, limit).ok()? {}
        assert_eq!(encoder.rows_done(), array.len());
        Some(bytes)
    };
    let whole = encode(usize::MAX);
    assert_eq!(encode(limit_bytes), whole, "{pg_type:?}, {limit_bytes} bytes at a time");
    whole
}

/// Decodes these bytes as a server's rows.
fn read(pg_type: &Arc<Type>, copied: &[u8]) -> Option<ArrayRef> {
    let mut messages = Vec::new();
    let mut rest = copied.get(HEADER_BYTES..)?;
    while let Some((_count, behind)) = rest.split_first_chunk::<2>() {
        let (length, _) = behind.split_first_chunk::<4>()?;
        let cell_bytes = 4 + usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        let row = rest.get(..2 + cell_bytes)?;
        messages.push(b'D');
        messages.extend_from_slice(&u32::try_from(4 + row.len()).ok()?.to_be_bytes());
        messages.extend_from_slice(row);
        rest = rest.get(row.len()..)?;
    }
    let column = ResultColumn::new("column", Arc::clone(pg_type), -1);
    let mut builder = BatchBuilder::new(&[column], &DecodeOptions::default()).ok()?;
    if let Some((Frame::DataRows(mut rows), _)) = next_frame(&messages).ok()? {
        builder.append(&mut rows, usize::MAX).ok()?;
    }
    builder.finish().ok()?.columns().first().cloned()
}

/// The array as one parameter: its elements are the cells of the COPY.
fn elements(element: &Arc<Type>, array: &ArrayRef) {
    let options = EncodeOptions::default();
    let mut bytes = Vec::new();
    let dimensions = [array.len()];
    if array_parameter(element, array, &dimensions, &options, &mut bytes).is_err() {
        assert!(bytes.is_empty());
        return;
    }
    let Ok(encoder) = column_encoder(element, -1, array, &options) else { return };
    let mut cells = Vec::new();
    for row in 0..array.len() {
        let pushed = encoder.push_cell(row, &mut cells);
        assert!(pushed.is_ok(), "{element:?}: {pushed:?}");
    }
    assert!(bytes.ends_with(&cells), "{element:?}");
    let name = format!("{}[]", element.name);
    let shape = Shape::Array(Arc::clone(element));
    let list = Type { oid: 0, name, schema: String::new(), shape };
    match list.value(&bytes) {
        Ok(Value::List(list)) => assert_eq!(list.elements.len(), array.len(), "{element:?}"),
        other => assert!(*array.data_type() == DataType::Null, "{element:?}: {other:?}"),
    }
}
