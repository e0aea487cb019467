//! Columns of types that the server reads as text only. A COPY in the binary form takes their text
//! into a column of `text`, and the server casts it there.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::cells::{AllNull, MadeCells, PushValue, nulls_of};
use super::indexed::{IndexedEncoder, indexes};
use super::{CastError, ColumnEncoder, bytes, plan};
use crate::arrow_value::value_of;
use crate::error::EncodeError;
use crate::types::{Shape, Type};

struct TextForm {
    array: ArrayRef,
    /// Without codecs, which are for Python's objects.
    target: Type,
}

impl PushValue for TextForm {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        // Lists within a list have lengths of their own, and an array of PostgreSQL's has one.
        let value = value_of(&self.array, row).ok_or(EncodeError::Ragged)?;
        self.target.encode(&value, out)
    }
}

/// The encoder of an array's values to the text form of a type.
///
/// # Errors
/// No cast from the one to the other is made.
pub(super) fn encoder(
    target: &Arc<Type>,
    array: &ArrayRef,
) -> Result<Box<dyn ColumnEncoder>, CastError> {
    if *array.data_type() == DataType::Null {
        return Ok(Box::new(AllNull));
    }
    if let Some(indexes) = indexes(array) {
        let values = encoder(target, &indexes.values)?;
        return Ok(IndexedEncoder::boxed(indexes, values));
    }
    if let Some(texts) = bytes::text(array, None) {
        return Ok(texts);
    }
    let bare = target.without_codecs();
    if !is_taken(&bare, array.data_type()) {
        return Err(plan::refused(target, array, advice(&bare)));
    }
    let nulls = nulls_of(array);
    Ok(MadeCells::boxed(TextForm { array: array.clone(), target: bare }, nulls))
}

/// Whether the type has a text form for the values of an Arrow type.
fn is_taken(target: &Type, arrow_type: &DataType) -> bool {
    match (&target.shape, arrow_type) {
        (_, DataType::Null) => true,
        (
            Shape::Array(element),
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::ListView(field)
            | DataType::LargeListView(field)
            | DataType::FixedSizeList(field, _),
        ) => {
            // A dimension more, or an element.
            is_taken(target, field.data_type()) || is_element(target, element, field.data_type())
        }
        _ => false,
    }
}

fn is_element(target: &Type, element: &Type, arrow_type: &DataType) -> bool {
    match arrow_type {
        DataType::Dictionary(_, values) => is_element(target, element, values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => !target.is_vector(),
        other if target.is_vector() => other.is_integer(),
        other => is_taken(element, other),
    }
}

fn advice(target: &Type) -> String {
    match &target.shape {
        Shape::Array(_) if target.is_vector() => "it comes from lists of integers".to_owned(),
        Shape::Array(_) => "it comes from lists of strings".to_owned(),
        Shape::Scalar(_) => "it comes from strings".to_owned(),
        _ => "the server reads a part of it as text only; send the text of the whole, which a \
              query gives with ::text"
            .to_owned(),
    }
}
