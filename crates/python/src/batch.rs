//! One Arrow record batch and how it is handed to other libraries.

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchIterator, StructArray};
use colonnade_columnar::{StringLayout, export, type_name};
use colonnade_protocol::backend::Field as WireField;
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::column::{Column, arrow_type_name};

/// A column of a result: what PostgreSQL calls it, and what it became.
#[pyclass(frozen, get_all, module = "colonnade._core")]
pub(crate) struct Field {
    /// The column's name.
    name: String,
    /// The PostgreSQL type's OID.
    type_oid: u32,
    /// The PostgreSQL type's name, or `oid N` where it is not built in.
    type_name: String,
    /// The type modifier, -1 where there is none.
    type_modifier: i32,
    /// The Arrow type, as Arrow's own libraries spell it.
    arrow_type: String,
}

#[pymethods]
impl Field {
    fn __repr__(&self) -> String {
        format!("<Field {} {} as {}>", self.name, self.type_name, self.arrow_type)
    }
}

/// Columns of equal length, in Arrow's layout. Immutable.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Batch {
    batch: RecordBatch,
    fields: Arc<[WireField]>,
}

impl Batch {
    pub(crate) fn new(batch: RecordBatch, fields: Arc<[WireField]>) -> Self {
        Self { batch, fields }
    }

    fn with_layout(&self, strings: &str) -> PyResult<RecordBatch> {
        let layout = match strings {
            "small" => StringLayout::Small,
            "view" => StringLayout::View,
            "large" => StringLayout::Large,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "strings must be \"small\", \"view\" or \"large\", not {strings:?}"
                )));
            }
        };
        Ok(export::with_string_layout(&self.batch, layout))
    }
}

#[pymethods]
impl Batch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn num_columns(&self) -> usize {
        self.batch.num_columns()
    }

    /// Bytes the columns hold, counting what they use and not what is reserved.
    #[getter]
    fn nbytes(&self) -> usize {
        let columns = self.batch.columns().iter();
        columns.map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
    }

    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let columns = self.batch.columns().iter();
        let fields = self.fields.iter().zip(columns).map(|(field, column)| Field {
            name: field.name.clone(),
            type_oid: field.type_oid,
            type_name: type_name(field.type_oid).into_owned(),
            type_modifier: field.type_modifier,
            arrow_type: arrow_type_name(column.data_type()),
        });
        let fields = fields.map(|field| Py::new(py, field)).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, fields)
    }

    fn column(&self, index: usize) -> PyResult<Column> {
        let array = self.batch.columns().get(index);
        array
            .map(|array| Column::new(Arc::clone(array)))
            .ok_or_else(|| PyIndexError::new_err("column index out of range"))
    }

    /// Rows `offset` to `offset + length`, sharing the memory.
    fn slice(&self, offset: usize, length: usize) -> PyResult<Self> {
        let end = offset.checked_add(length);
        if end.is_none_or(|end| end > self.batch.num_rows()) {
            return Err(PyIndexError::new_err("slice reaches past the last row"));
        }
        Ok(Self { batch: self.batch.slice(offset, length), fields: Arc::clone(&self.fields) })
    }

    /// A PyCapsule with an Arrow C stream of this one batch.
    fn export_stream<'py>(
        &self,
        py: Python<'py>,
        strings: &str,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batch = self.with_layout(strings)?;
        let schema = batch.schema();
        let reader = RecordBatchIterator::new([Ok(batch)], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// A PyCapsule with the Arrow C schema.
    fn export_schema<'py>(
        &self,
        py: Python<'py>,
        strings: &str,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batch = self.with_layout(strings)?;
        let schema = FFI_ArrowSchema::try_from(batch.schema().as_ref()).map_err(export_error)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// PyCapsules with the batch as one struct array: its schema and its data.
    fn export_array<'py>(
        &self,
        py: Python<'py>,
        strings: &str,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let batch = self.with_layout(strings)?;
        let schema = FFI_ArrowSchema::try_from(batch.schema().as_ref()).map_err(export_error)?;
        let data = StructArray::from(batch).to_data();
        let array = FFI_ArrowArray::new(&data);
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }

    fn __repr__(&self) -> String {
        format!("<Batch of {} rows, {} columns>", self.batch.num_rows(), self.batch.num_columns())
    }
}

fn export_error(error: arrow_schema::ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
