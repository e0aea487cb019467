//! Columns of structs.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{DataType, Field, Schema};
use colonnade_structs::{Blobs, Unmatched, pack, unpack};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList};

use super::definition::Definition;
use super::instance::Instance;
use crate::arrow::import;
use crate::batch::{self, Batch};
use crate::class_names;
use crate::errors;
use crate::formats::foreign;

/// Columns by name, of equal length.
struct Source {
    names: Vec<String>,
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl Source {
    fn of_batch(batch: &RecordBatch) -> Self {
        let names = batch.schema_ref().fields().iter().map(|field| field.name().clone());
        let columns = batch.columns().to_vec();
        Self { names: names.collect(), columns, rows: batch.num_rows() }
    }
}

impl Definition {
    fn packed(&self, py: Python<'_>, source: &Source) -> PyResult<ArrayRef> {
        let places = self.layout.matched(&source.names).map_err(|unmatched| {
            let class = &self.name;
            PyValueError::new_err(match unmatched {
                Unmatched::Column(name) => format!(
                    "{class} has no field for the column {name:?}; its fields are {}",
                    self.layout.names()
                ),
                Unmatched::Field(name) => {
                    format!("there is no column for the field {name:?} of {class}")
                }
            })
        })?;
        let column = |place: Option<usize>| source.columns.get(place?).map(Arc::clone);
        let columns: Vec<_> = places.into_iter().map(column).collect();
        py.detach(|| pack(&self.layout, &columns, source.rows))
            .map_err(|fault| self.exception(py, &fault))
    }

    /// A struct array of the fields, of a binary array.
    fn unpacked(
        &self,
        py: Python<'_>,
        blobs: &ArrayRef,
        wanted: &[usize],
    ) -> PyResult<StructArray> {
        let made = py.detach(|| Blobs::of(blobs).map(|rows| unpack(&self.layout, &rows, wanted)));
        match made {
            Some(made) => made.map_err(|fault| self.exception(py, &fault)),
            None => Err(PyTypeError::new_err(format!(
                "{} is read from bytea, not from a column of Arrow's {}",
                self.name,
                blobs.data_type()
            ))),
        }
    }
}

/// The fields of structs as columns.
fn batch_of_fields(structs: StructArray) -> PyResult<Batch> {
    let options = RecordBatchOptions::new().with_row_count(Some(structs.len()));
    let (fields, columns, _) = structs.into_parts();
    let schema = Arc::new(Schema::new(fields));
    let made = RecordBatch::try_new_with_options(schema, columns, &options);
    made.map(foreign).map_err(errors::runtime)
}

#[pymethods]
impl Definition {
    /// A bytea column of this name, with a blob for each row of columns with the fields' names: a
    /// `Batch`, an object with Arrow's stream interface, or a dict of arrays.
    fn pack(&self, py: Python<'_>, source: &Bound<'_, PyAny>, name: &str) -> PyResult<Batch> {
        let mut parts = Vec::new();
        if let Ok(batch) = source.cast::<Batch>() {
            for chunk in batch.get().chunks() {
                parts.push(self.packed(py, &Source::of_batch(&chunk))?);
            }
        } else if let Ok(arrays) = source.cast::<PyDict>() {
            let (mut names, mut columns) = (Vec::new(), Vec::new());
            for (name, values) in arrays {
                names.push(name.extract()?);
                columns.push(batch::array(&values)?);
            }
            let rows = columns.first().map_or(0, |column: &ArrayRef| column.len());
            if let Some(other) = columns.iter().find(|column| column.len() != rows) {
                let text = format!("the arrays have {rows} and {} values", other.len());
                return Err(PyValueError::new_err(text));
            }
            parts.push(self.packed(py, &Source { names, columns, rows })?);
        } else {
            let Some(export) = source.getattr_opt("__arrow_c_stream__")? else {
                let class = class_names::full(&source.get_type());
                return Err(PyTypeError::new_err(format!(
                    "{}.pack takes Columns, a table or frame with Arrow's stream interface, or a \
                     dict of arrays, not {class}",
                    self.name
                )));
            };
            import::check_by_owner(source)?;
            let capsule = export.call0()?.cast_into::<PyCapsule>()?;
            let mut stream = import::take_batches(&capsule)?;
            while let Some(batch) = py.detach(|| stream.next_batch()) {
                let batch = batch.map_err(|fault| import::exception(py, &fault))?;
                parts.push(self.packed(py, &Source::of_batch(&batch))?);
            }
        }
        if parts.is_empty() {
            parts.push(arrow_array::new_empty_array(&DataType::Binary));
        }
        let batches = parts.into_iter().map(|blobs| {
            let field = Field::new(name, blobs.data_type().clone(), true);
            RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![blobs])
        });
        let batches = batches.collect::<Result<Vec<_>, _>>().map_err(errors::runtime)?;
        let whole = py.detach(|| colonnade_columnar::concat(&batches));
        whole.map(foreign).map_err(errors::runtime)
    }

    /// The batch with a bytea column as structs of the fields at these positions.
    fn read_column(
        &self,
        py: Python<'_>,
        batch: &Batch,
        index: usize,
        wanted: Vec<usize>,
    ) -> PyResult<Batch> {
        let structs = self.unpacked(py, &batch.array(py, index)?, &wanted)?;
        batch.with_array(index, Arc::new(structs))
    }

    /// The fields at these positions as columns, of a batch's bytea column.
    fn columns_of(
        &self,
        py: Python<'_>,
        batch: &Batch,
        index: usize,
        wanted: Vec<usize>,
    ) -> PyResult<Batch> {
        batch_of_fields(self.unpacked(py, &batch.array(py, index)?, &wanted)?)
    }

    /// The same, of a list of bytes, instances of this class, and None.
    fn columns_of_objects(
        &self,
        py: Python<'_>,
        objects: &Bound<'_, PyList>,
        wanted: Vec<usize>,
    ) -> PyResult<Batch> {
        // The objects outlive the call, whatever happens to the list.
        let objects: Vec<Bound<'_, PyAny>> = objects.iter().collect();
        let mut slices = Vec::with_capacity(objects.len());
        for (row, object) in objects.iter().enumerate() {
            slices.push(if let Ok(bytes) = object.cast::<PyBytes>() {
                Some(bytes.as_bytes())
            } else if let Ok(instance) = object.cast::<Instance>() {
                Some(instance.get().bytes(py))
            } else if object.is_none() {
                None
            } else {
                let shown = crate::shown::shown(object);
                let text = format!("row {row}: {} is read from bytes, not {shown}", self.name);
                return Err(PyTypeError::new_err(text));
            });
        }
        let blobs = Blobs::of_slices(slices);
        let made = py.detach(|| unpack(&self.layout, &blobs, &wanted));
        batch_of_fields(made.map_err(|fault| self.exception(py, &fault))?)
    }
}
