//! Follows a consumer's `requested_schema`, as far as that copies no values.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Schema};
use colonnade_columnar::{StringLayout, export};

/// The batch with each text column in its layout in `wanted`. A schema with another number of
/// columns is ignored, and so are types other than text: a producer may ignore the request.
pub(super) fn with_requested_strings(
    batch: RecordBatch,
    wanted: &Schema,
) -> Result<RecordBatch, ArrowError> {
    if batch.num_columns() == 0 || wanted.fields().len() != batch.num_columns() {
        return Ok(batch);
    }
    let mut fields = batch.schema_ref().fields().to_vec();
    let mut columns = batch.columns().to_vec();
    let places = fields.iter_mut().zip(&mut columns).zip(wanted.fields()).enumerate();
    for (index, ((field, column), wanted)) in places {
        let layout = match wanted.data_type() {
            DataType::Utf8View => StringLayout::View,
            DataType::LargeUtf8 => StringLayout::Large,
            _ => continue,
        };
        let alone = export::with_string_layout(&batch.project(&[index])?, layout);
        if let ([converted], [described]) = (alone.columns(), alone.schema_ref().fields().as_ref())
        {
            *column = Arc::clone(converted);
            *field = Arc::clone(described);
        }
    }
    let metadata = batch.schema_ref().metadata().clone();
    RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, metadata)), columns)
}
