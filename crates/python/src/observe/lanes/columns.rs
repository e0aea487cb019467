//! A table of ours as a batch, so that it becomes `Columns` like a result of a query.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use colonnade_columnar::types::TYPES;
use colonnade_columnar::{ResultColumn, Shape, Type};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::batch::Batch;
use crate::types::codecs::Codecs;

/// A batch of columns, each with its name, its PostgreSQL type (int8, float8 or text) and its
/// values. None is a NULL. Raises ValueError for other types and for columns of different lengths.
#[pyfunction]
pub(super) fn batch_of_lists(columns: Vec<(String, String, Bound<'_, PyAny>)>) -> PyResult<Batch> {
    let mut results = Vec::with_capacity(columns.len());
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays = Vec::with_capacity(columns.len());
    for (name, type_name, values) in columns {
        let array = array_of(&type_name, &values)?;
        fields.push(Field::new(&name, array.data_type().clone(), true));
        results.push(ResultColumn::new(name, Arc::new(type_named(&type_name)?), -1));
        arrays.push(array);
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
    let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Batch::new(batch, results.into(), Arc::new(Codecs::default())))
}

fn array_of(type_name: &str, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    Ok(match type_name {
        "int8" => Arc::new(Int64Array::from(values.extract::<Vec<Option<i64>>>()?)),
        "float8" => Arc::new(Float64Array::from(values.extract::<Vec<Option<f64>>>()?)),
        "text" => Arc::new(StringArray::from(values.extract::<Vec<Option<String>>>()?)),
        _ => return Err(unknown(type_name)),
    })
}

fn type_named(name: &str) -> PyResult<Type> {
    let line = TYPES.iter().find(|line| line.name == name).ok_or_else(|| unknown(name))?;
    let (name, schema) = (line.name.to_owned(), "pg_catalog".to_owned());
    Ok(Type { oid: line.oid, name, schema, shape: Shape::Scalar(line) })
}

fn unknown(type_name: &str) -> PyErr {
    PyValueError::new_err(format!("expected int8, float8 or text, not {type_name}"))
}
