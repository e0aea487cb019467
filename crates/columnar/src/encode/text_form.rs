//! Columns of types that the server accepts as text only. A binary COPY carries their text to a
//! column of type `text`, and the server casts it there.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::cells::{AllNull, LENGTH_BYTES, MadeCells, PushValue, nulls_of};
use super::indexed::{IndexedEncoder, indexes};
use super::{CastError, ColumnEncoder, EncodeOptions, bytes, plan};
use crate::error::EncodeError;
use crate::types::{Shape, TextForm, Type};

struct Written {
    form: TextForm,
    /// Encodes the values from which the text is made.
    carried: Box<dyn ColumnEncoder>,
}

impl PushValue for Written {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut cell = Vec::new();
        self.carried.push_cell(row, &mut cell)?;
        self.form.write(cell.get(LENGTH_BYTES..).unwrap_or(&[]), out)
    }
}

/// The encoder of an array's values to a type's text format.
///
/// # Errors
/// There is no cast between the types.
pub(super) fn encoder(
    target: &Arc<Type>,
    type_modifier: i32,
    array: &ArrayRef,
    options: &EncodeOptions,
) -> Result<Box<dyn ColumnEncoder>, CastError> {
    if *array.data_type() == DataType::Null {
        return Ok(Box::new(AllNull));
    }
    if let Some(indexes) = indexes(array) {
        // It has NULLs alone, as Polars' enum without labels.
        if indexes.values.is_empty() {
            return Ok(Box::new(AllNull));
        }
        let values = encoder(target, type_modifier, &indexes.values, options)?;
        return Ok(IndexedEncoder::boxed(indexes, values));
    }
    if let Some(texts) = bytes::text(array, None) {
        return Ok(texts);
    }
    let written = |form: TextForm| {
        let carried = plan::column_encoder(form.carrier(), type_modifier, array, options)?;
        Ok(MadeCells::boxed(Written { form, carried }, nulls_of(array)))
    };
    if let Some(Ok(encoder)) = TextForm::of_texts(target).map(written) {
        return Ok(encoder);
    }
    let reason = match TextForm::of_parts(target).map(written) {
        Some(Ok(encoder)) => return Ok(encoder),
        Some(Err::<_, CastError>(error)) => error.advice,
        None => "a part whose type is not known has no text form".to_owned(),
    };
    Err(plan::refused(target, array, advice(target.bare(), &reason)))
}

fn advice(target: &Type, of_parts: &str) -> String {
    match &target.shape {
        Shape::Array(_) if target.is_vector() => "it comes from lists of integers".to_owned(),
        Shape::Scalar(_) => "it comes from strings".to_owned(),
        Shape::Array(element) if matches!(element.bare().shape, Shape::Scalar(_)) => {
            "it comes from lists of strings".to_owned()
        }
        _ => format!(
            "{of_parts}; or send the text of the whole as strings, which a query gives with ::text"
        ),
    }
}
