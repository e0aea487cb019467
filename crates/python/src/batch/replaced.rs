//! Replaces a column by a codec's result.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::class_names;
use crate::{arrow_series, numpy_import};

/// The Arrow array of a codec's result for a whole column.
pub(super) fn array(values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let values = numpy_import::without_index(values)?;
    if let Some(array) = arrow_series::array(&values)? {
        return Ok(array);
    }
    if numpy_import::is_array(&values)?
        && let Some((array, shape)) = numpy_import::array(&values, false)?
        && shape.len() == 1
    {
        return Ok(array);
    }
    let class = class_names::full(&values.get_type());
    Err(PyTypeError::new_err(format!(
        "a column_decoder returns an Arrow array or a NumPy array of numbers, times or text in one \
         dimension, not {class}; without one, the decoder makes an object of each value"
    )))
}

/// The batch with a column replaced by an array of the same length.
pub(super) fn with_array(
    batch: &RecordBatch,
    index: usize,
    array: ArrayRef,
) -> Result<RecordBatch, ArrowError> {
    let mut fields = batch.schema_ref().fields().to_vec();
    let mut columns = batch.columns().to_vec();
    if let (Some(field), Some(column)) = (fields.get_mut(index), columns.get_mut(index)) {
        *field = Arc::new(Field::new(field.name(), array.data_type().clone(), true));
        *column = array;
    }
    let metadata = batch.schema_ref().metadata().clone();
    RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, metadata)), columns)
}
