//! Columns in Arrow's layout, in one or several chunks, and their export to other libraries.

mod fetched;
mod masks;
mod positions;
mod replaced;
pub(crate) mod selected;

use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, SchemaRef};
use colonnade_columnar::{
    CellEncoding, ResultColumn, Shape, StringLayout, Table, Type, concat, with_plain_types,
};
use colonnade_foreign::field_type_name;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};

pub(crate) use self::replaced::array;
use crate::arrow::import;
use crate::column::Column;
use crate::errors;
use crate::types::codecs::Codecs;

/// A result column: its PostgreSQL type and its Arrow type.
#[pyclass(frozen, get_all, module = "colonnade._core")]
pub(crate) struct Field {
    /// The column's name.
    name: String,
    /// The OID of the PostgreSQL type.
    type_oid: u32,
    /// The name of the PostgreSQL type, or `oid N` if it is not built in.
    type_name: String,
    /// The type modifier, -1 for none.
    type_modifier: i32,
    /// The Arrow type, spelled as in pyarrow; U12 and S12 for fixed-width cells, which are exported
    /// as utf8 or binary.
    arrow_type: String,
}

#[pymethods]
impl Field {
    fn __repr__(&self) -> String {
        format!("<Field {} {} as {}>", self.name, self.type_name, self.arrow_type)
    }
}

/// Columns of equal length, in Arrow's layout, in one or several chunks. Immutable.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Batch {
    table: Table,
    fields: Arc<[ResultColumn]>,
    /// The codecs that the fields' types refer to.
    codecs: Arc<Codecs>,
    /// The fields as Python sees them, once they were asked for.
    described: PyOnceLock<Py<PyTuple>>,
    /// The positions of each name, once one was asked for.
    places: PyOnceLock<Py<PyDict>>,
}

impl Batch {
    pub(crate) fn new(
        table: impl Into<Table>,
        fields: Arc<[ResultColumn]>,
        codecs: Arc<Codecs>,
    ) -> Self {
        Self {
            table: table.into(),
            fields,
            codecs,
            described: PyOnceLock::new(),
            places: PyOnceLock::new(),
        }
    }

    /// Another batch with the same columns.
    pub(crate) fn of_same(&self, table: impl Into<Table>) -> Self {
        Self::new(table, Arc::clone(&self.fields), Arc::clone(&self.codecs))
    }

    /// The rows as record batches with the same schema; at least one.
    pub(crate) fn chunks(&self) -> Vec<RecordBatch> {
        self.table.chunks()
    }

    /// The columns' names and types.
    pub(crate) fn result_columns(&self) -> &Arc<[ResultColumn]> {
        &self.fields
    }

    /// The codecs that the columns' types refer to.
    pub(crate) fn shared_codecs(&self) -> Arc<Codecs> {
        Arc::clone(&self.codecs)
    }

    /// The Arrow schema.
    pub(crate) fn schema(&self) -> &SchemaRef {
        self.table.schema()
    }

    /// The number of rows.
    pub(crate) fn row_count(&self) -> usize {
        self.table.num_rows()
    }

    /// A column's name and type.
    pub(crate) fn field(&self, index: usize) -> PyResult<&ResultColumn> {
        self.fields.get(index).ok_or_else(no_column)
    }

    /// A column as one array. Several chunks are joined once, without the interpreter.
    pub(crate) fn array(&self, py: Python<'_>, index: usize) -> PyResult<ArrayRef> {
        let array = if self.table.num_chunks() == 1 {
            self.table.column(index)
        } else {
            py.detach(|| self.table.column(index))
        };
        array.map_err(errors::runtime)?.ok_or_else(no_column)
    }

    /// The batch with one column's values replaced by as many others.
    pub(crate) fn with_array(&self, index: usize, array: ArrayRef) -> PyResult<Self> {
        let field = self.field(index)?;
        let stored = Type { shape: Shape::Opaque, ..field.pg_type.as_ref().clone() };
        let described = arrow_schema::Field::new(&*field.name, array.data_type().clone(), true);
        self.put(index, described, field.with_type(Arc::new(stored)), array)
    }
}

#[pymethods]
impl Batch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.table.num_rows()
    }

    #[getter]
    fn num_columns(&self) -> usize {
        self.table.num_columns()
    }

    /// The bytes that the columns use, without reserved memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.table.nbytes()
    }

    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let described = self.described.get_or_try_init(py, || {
            let described = self.table.schema().fields().iter();
            let fields = self.fields.iter().zip(described).map(|(field, described)| Field {
                name: field.name.to_string(),
                type_oid: field.pg_type.oid,
                type_name: field.pg_type.name.clone(),
                type_modifier: field.type_modifier,
                arrow_type: field_type_name(described),
            });
            let fields = fields.map(|field| Py::new(py, field)).collect::<PyResult<Vec<_>>>()?;
            PyTuple::new(py, fields).map(Bound::unbind)
        });
        described.map(|described| described.bind(py).clone())
    }

    /// The positions of the columns of each name.
    #[getter]
    fn places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let places = self.places.get_or_try_init(py, || {
            let places = PyDict::new(py);
            for (index, field) in self.fields.iter().enumerate() {
                match places.get_item(&*field.name)? {
                    Some(found) => found.cast::<PyList>()?.append(index)?,
                    None => places.set_item(&*field.name, [index])?,
                }
            }
            Ok::<_, PyErr>(places.unbind())
        });
        places.map(|places| places.bind(py).clone())
    }

    /// A column as one array.
    fn column(&self, py: Python<'_>, index: usize) -> PyResult<Column> {
        let array = self.array(py, index)?;
        let cells = self.table.schema().fields().get(index).and_then(|f| CellEncoding::of(f));
        let pg_type = self.fields.get(index).map(|field| Arc::clone(&field.pg_type));
        Ok(Column::new(array, cells, pg_type, Arc::clone(&self.codecs)))
    }

    /// The number of the codec that reads a column's type; None if it has none.
    fn codec(&self, index: usize) -> Option<usize> {
        self.fields.get(index).and_then(|field| field.pg_type.codec())
    }

    /// A single column as received: the texts or bytes that its type's codec reads.
    fn stored_column(&self, index: usize) -> PyResult<Self> {
        let field = self.field(index)?;
        let table = self.table.project(&[index]).map_err(errors::runtime)?;
        let stored = field.with_type(Arc::new(field.pg_type.stored()));
        Ok(Self::new(table, [stored].into(), Arc::clone(&self.codecs)))
    }

    /// The batch with one column's values replaced: an array of NumPy's, or of any library with the
    /// Arrow PyCapsule interface.
    fn with_column(&self, index: usize, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = array(values)?;
        if array.len() != self.table.num_rows() {
            return Err(PyValueError::new_err(format!(
                "the column has {} rows, and {} values were given",
                self.table.num_rows(),
                array.len()
            )));
        }
        self.with_array(index, array)
    }

    /// Rows `offset` to `offset + length`, sharing the memory.
    fn slice(&self, offset: usize, length: usize) -> PyResult<Self> {
        let end = offset.checked_add(length);
        if end.is_none_or(|end| end > self.table.num_rows()) {
            return Err(PyIndexError::new_err("slice reaches past the last row"));
        }
        Ok(self.of_same(self.table.slice(offset, length)))
    }

    /// Batches one after another, which are results of one query or of its parts. Their rows are
    /// shared. ValueError if their columns differ.
    #[staticmethod]
    fn concat(py: Python<'_>, batches: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let Some(first) = batches.first() else {
            return Err(PyValueError::new_err("there is nothing to concatenate"));
        };
        let parts: Vec<RecordBatch> = batches.iter().flat_map(|batch| batch.chunks()).collect();
        let whole = py.detach(|| concat(&parts));
        whole.map(|whole| first.of_same(whole)).map_err(|error| {
            PyValueError::new_err(match error {
                ArrowError::SchemaError(text) | ArrowError::InvalidArgumentError(text) => text,
                other => other.to_string(),
            })
        })
    }

    /// The batch with plain types; and the positions of the columns converted to text because of
    /// their decimals, and because of their intervals.
    fn with_plain_types(&self, py: Python<'_>) -> PyResult<(Self, Vec<usize>, Vec<usize>)> {
        let (table, as_text) =
            py.detach(|| with_plain_types(&self.table)).map_err(errors::runtime)?;
        let made = self.of_same(table);
        Ok((made, as_text.decimals, as_text.intervals))
    }

    /// A PyCapsule with an Arrow C stream of the chunks. A requested schema decides the text layout
    /// of its columns, `strings` that of the others.
    #[pyo3(signature = (strings, requested_schema=None))]
    fn export_stream<'py>(
        &self,
        py: Python<'py>,
        strings: &str,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let wanted = requested_schema.map(import::schema_of).transpose()?;
        let layout = string_layout(strings)?;
        let chunks = self.table.exported(layout, wanted.as_ref()).map_err(errors::runtime)?;
        let schema = chunks.first().map_or_else(|| self.table.schema().clone(), |c| c.schema());
        let reader = RecordBatchIterator::new(chunks.into_iter().map(Ok), schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// A PyCapsule with an Arrow C stream of batches with the same columns. The stream calls
    /// `next_batch` for each batch, on the consumer's thread, until it returns None.
    #[pyo3(signature = (next_batch, strings, requested_schema=None))]
    fn export_fetched<'py>(
        &self,
        py: Python<'py>,
        next_batch: Py<PyAny>,
        strings: &str,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let wanted = requested_schema.map(import::schema_of).transpose()?;
        let layout = string_layout(strings)?;
        let schema =
            self.table.exported_schema(layout, wanted.as_ref()).map_err(errors::runtime)?;
        let reader = fetched::Reader::new(next_batch, schema, layout, wanted);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// A PyCapsule with the Arrow C schema.
    fn export_schema<'py>(
        &self,
        py: Python<'py>,
        strings: &str,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.table.exported_schema(string_layout(strings)?, None);
        let schema = schema.map_err(errors::runtime)?;
        let schema = FFI_ArrowSchema::try_from(schema.as_ref()).map_err(errors::runtime)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __repr__(&self) -> String {
        format!("<Batch of {} rows, {} columns>", self.table.num_rows(), self.table.num_columns())
    }
}

fn no_column() -> PyErr {
    PyIndexError::new_err("column index out of range")
}

fn string_layout(strings: &str) -> PyResult<StringLayout> {
    StringLayout::named(strings).ok_or_else(|| {
        let text = format!("strings must be \"small\", \"view\" or \"large\", not {strings:?}");
        PyValueError::new_err(text)
    })
}
