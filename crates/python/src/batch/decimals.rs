//! Decimals of 256 bits in narrower types, for consumers that do not take them.

use std::sync::Arc;

use arrow_array::types::Decimal256Type;
use arrow_array::{Array, ArrayRef, Decimal128Array, RecordBatch, StringArray, cast::AsArray};
use arrow_schema::{ArrowError, DECIMAL128_MAX_PRECISION, DataType, Field, Schema};

/// The batch with each decimal256 column as decimal128 where every value has that few digits,
/// else as text; and the positions of those that became text.
pub(super) fn narrowed(batch: &RecordBatch) -> Result<(RecordBatch, Vec<usize>), ArrowError> {
    let mut as_text = Vec::new();
    let wide = |column: &ArrayRef| matches!(column.data_type(), DataType::Decimal256(..));
    if !batch.columns().iter().any(wide) {
        return Ok((batch.clone(), as_text));
    }
    let mut fields: Vec<Arc<Field>> = batch.schema_ref().fields().to_vec();
    let mut columns = batch.columns().to_vec();
    for (index, (field, column)) in fields.iter_mut().zip(&mut columns).enumerate() {
        let DataType::Decimal256(_, scale) = *column.data_type() else { continue };
        *column = match to_decimal128(column.as_ref(), scale)? {
            Some(narrow) => narrow,
            None => {
                as_text.push(index);
                to_text(column.as_ref())
            }
        };
        let data_type = column.data_type().clone();
        *field = Arc::new(field.as_ref().clone().with_data_type(data_type));
    }
    let metadata = batch.schema_ref().metadata().clone();
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    Ok((RecordBatch::try_new(schema, columns)?, as_text))
}

/// `None` when a value has more digits than the type.
fn to_decimal128(column: &dyn Array, scale: i8) -> Result<Option<ArrayRef>, ArrowError> {
    if i16::from(scale) > i16::from(DECIMAL128_MAX_PRECISION) {
        return Ok(None);
    }
    let limit = 10_i128.pow(u32::from(DECIMAL128_MAX_PRECISION));
    let narrow: Option<Vec<Option<i128>>> = column
        .as_primitive::<Decimal256Type>()
        .iter()
        .map(|value| match value {
            None => Some(None),
            Some(value) => value.to_i128().filter(|value| value.abs() < limit).map(Some),
        })
        .collect();
    let Some(values) = narrow else { return Ok(None) };
    let array =
        Decimal128Array::from(values).with_precision_and_scale(DECIMAL128_MAX_PRECISION, scale)?;
    Ok(Some(Arc::new(array)))
}

fn to_text(column: &dyn Array) -> ArrayRef {
    let decimals = column.as_primitive::<Decimal256Type>();
    let text = |row| decimals.is_valid(row).then(|| decimals.value_as_string(row));
    Arc::new((0..decimals.len()).map(text).collect::<StringArray>())
}
