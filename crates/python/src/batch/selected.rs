//! `colonnade._core.selection`: rows and columns chosen from a batch, and columns added to it.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Float64Array, Int64Array, StringArray,
};
use arrow_schema::{ArrowError, Field};
use colonnade_columnar::{ResultColumn, Table, contained};
use colonnade_compute::{null_slots, selection};
use colonnade_memory::filling;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::masks::mask;
use super::positions::{Positions, positions};
use super::{Batch, no_column};
use crate::arrow::series;
use crate::copy::column::ArrowColumn;
use crate::errors;

/// The rows where a mask is true. It is a list of booleans, an array of NumPy, Arrow, pandas or
/// Polars, or a batch of one column.
#[pyfunction]
fn filtered(py: Python<'_>, batch: &Batch, mask_of_rows: &Bound<'_, PyAny>) -> PyResult<Batch> {
    let mask = mask(mask_of_rows, batch.table.num_rows())?;
    let chunks = batch.chunks();
    let work = || selection::filter(&chunks, &mask).and_then(Table::of_chunks);
    let chosen = py.detach(|| filling(|| contained(work)));
    chosen.map(|table| batch.of_same(table)).map_err(selection_error)
}

/// The rows at these positions; those of a range with step 1 share the memory.
#[pyfunction]
fn take(py: Python<'_>, batch: &Batch, indices: &Bound<'_, PyAny>) -> PyResult<Batch> {
    match positions(indices, batch.table.num_rows())? {
        Positions::Run(first, count) => Ok(batch.of_same(batch.table.slice(first, count))),
        Positions::Each(rows) => {
            let chunks = batch.chunks();
            let taken = py.detach(|| filling(|| contained(|| selection::take(&chunks, &rows))));
            taken.map(|rows| batch.of_same(rows)).map_err(selection_error)
        }
    }
}

/// The columns at these positions, sharing the memory.
#[pyfunction]
fn select(batch: &Batch, indices: Vec<usize>) -> PyResult<Batch> {
    let table = batch.table.project(&indices).map_err(|_| no_column())?;
    let fields = indices.iter().map(|index| batch.field(*index).cloned());
    let fields = fields.collect::<PyResult<Vec<_>>>()?;
    Ok(Batch::new(table, fields.into(), Arc::clone(&batch.codecs)))
}

/// The same columns with these names, one for each.
#[pyfunction]
fn renamed(batch: &Batch, names: Vec<String>) -> PyResult<Batch> {
    if names.len() != batch.fields.len() {
        return Err(PyValueError::new_err("each column needs a name"));
    }
    let described = batch.table.schema().fields().iter().zip(&names);
    let described = described.map(|(field, name)| Arc::new(field.as_ref().clone().with_name(name)));
    let table = batch.table.with_fields(described.collect()).map_err(errors::runtime)?;
    let fields = batch.fields.iter().zip(names).map(|(field, name)| field.with_name(name));
    Ok(Batch::new(table, fields.collect(), Arc::clone(&batch.codecs)))
}

/// The batch with a column in the place of another one, or after the last one.
#[pyfunction]
fn with_made(batch: &Batch, index: usize, name: &str, column: &ArrowColumn) -> PyResult<Batch> {
    let field = Field::new(name, column.0.data_type().clone(), true);
    batch.with_foreign(index, field, &column.0)
}

/// As `with_made`, with the array of an object that has the Arrow PyCapsule interface; None for
/// other objects.
#[pyfunction]
fn with_arrow(
    batch: &Batch,
    index: usize,
    name: &str,
    source: &Bound<'_, PyAny>,
) -> PyResult<Option<Batch>> {
    let Some((field, array)) = series::described(source)? else { return Ok(None) };
    let field = field.with_name(name).with_nullable(true);
    batch.with_foreign(index, field, &array).map(Some)
}

/// As `with_made`, with the only column of another batch, and its PostgreSQL type.
#[pyfunction]
fn with_own(
    py: Python<'_>,
    batch: &Batch,
    index: usize,
    name: &str,
    source: &Batch,
) -> PyResult<Batch> {
    let array = source.only_column(py)?;
    let described = source.table.schema().fields().first().ok_or_else(no_column)?;
    let described = described.as_ref().clone().with_name(name);
    let field = source.field(0)?.with_name(name);
    if field.pg_type.has_codecs() && !batch.codecs.are_same(&source.codecs) {
        return Err(PyTypeError::new_err(
            "its type has a codec of another connection: make an array of its values",
        ));
    }
    batch.put(index, described, field, array)
}

/// A column of Python objects of one class; None is NULL. `kind` is bool, int8, float8, text or
/// bytea.
#[pyfunction]
fn of_objects(kind: &str, objects: &Bound<'_, PyAny>) -> PyResult<ArrowColumn> {
    array_of_objects(kind, objects).map(ArrowColumn)
}

/// As `of_objects`.
pub(crate) fn array_of_objects(kind: &str, objects: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    Ok(match kind {
        "bool" => Arc::new(BooleanArray::from(objects.extract::<Vec<Option<bool>>>()?)),
        "int8" => Arc::new(Int64Array::from(objects.extract::<Vec<Option<i64>>>()?)),
        "float8" => Arc::new(Float64Array::from(objects.extract::<Vec<Option<f64>>>()?)),
        "text" => Arc::new(StringArray::from(objects.extract::<Vec<Option<String>>>()?)),
        "bytea" => {
            let values = objects.extract::<Vec<Option<PyBackedBytes>>>()?;
            Arc::new(values.iter().map(Option::as_deref).collect::<BinaryArray>())
        }
        _ => return Err(PyValueError::new_err(format!("there is no kind {kind:?}"))),
    })
}

impl Batch {
    fn with_foreign(&self, index: usize, field: Field, array: &ArrayRef) -> PyResult<Self> {
        let array = null_slots::filled(array).map_err(errors::runtime)?;
        let result = colonnade_foreign::described(&field);
        self.put(index, field, result, array)
    }

    /// The batch with a column in the place of another one, or after the last one.
    pub(super) fn put(
        &self,
        index: usize,
        described: Field,
        field: ResultColumn,
        array: ArrayRef,
    ) -> PyResult<Self> {
        let (values, rows) = (array.len(), self.table.num_rows());
        if values != rows {
            let text = format!("it has {values} values, and there are {rows} rows");
            return Err(PyValueError::new_err(text));
        }
        let mut fields = self.fields.to_vec();
        match fields.get_mut(index) {
            Some(place) => *place = field,
            None => fields.push(field),
        }
        let table = self.table.with_column(index, Arc::new(described), array);
        let table = table.map_err(errors::runtime)?;
        Ok(Self::new(table, fields.into(), Arc::clone(&self.codecs)))
    }
}

/// Positions and lengths were checked, so only the size of the result is left.
fn selection_error(error: ArrowError) -> PyErr {
    match error {
        ArrowError::OffsetOverflowError(_) => PyOverflowError::new_err(format!(
            "the chosen rows exceed one Arrow column ({error}): choose fewer at a time, or fetch \
             text with schema={{\"name\": \"large_utf8\"}}"
        )),
        other => errors::runtime(other),
    }
}

/// Fills the module `selection`.
pub(crate) fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(filtered, module)?)?;
    module.add_function(wrap_pyfunction!(take, module)?)?;
    module.add_function(wrap_pyfunction!(select, module)?)?;
    module.add_function(wrap_pyfunction!(renamed, module)?)?;
    module.add_function(wrap_pyfunction!(of_objects, module)?)?;
    module.add_function(wrap_pyfunction!(with_made, module)?)?;
    module.add_function(wrap_pyfunction!(with_arrow, module)?)?;
    module.add_function(wrap_pyfunction!(with_own, module)?)
}
