//! A table of ours as a batch, so that it becomes `Columns` like a result of a query.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use colonnade_columnar::{ResultColumn, named_type};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::batch::Batch;
use crate::batch::selected::array_of_objects;
use crate::errors;
use crate::types::codecs::Codecs;

const TYPES: [&str; 3] = ["int8", "float8", "text"];

/// A batch of columns, each with its name, its PostgreSQL type (int8, float8 or text) and its
/// values. None is a NULL. Raises ValueError for other types and for columns of different lengths.
#[pyfunction]
pub(super) fn batch_of_lists(columns: Vec<(String, String, Bound<'_, PyAny>)>) -> PyResult<Batch> {
    let mut results = Vec::with_capacity(columns.len());
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays = Vec::with_capacity(columns.len());
    for (name, type_name, values) in columns {
        let pg_type = named_type(&type_name).filter(|known| TYPES.contains(&known.name.as_str()));
        let pg_type = pg_type.ok_or_else(|| {
            PyValueError::new_err(format!("expected int8, float8 or text, not {type_name}"))
        })?;
        let array = array_of_objects(&type_name, &values)?;
        fields.push(Field::new(&name, array.data_type().clone(), true));
        results.push(ResultColumn::new(name, Arc::new(pg_type), -1));
        arrays.push(array);
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
    let batch = batch.map_err(errors::value)?;
    Ok(Batch::new(batch, results.into(), Arc::new(Codecs::default())))
}
