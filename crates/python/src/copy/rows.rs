//! The rows of a COPY FROM STDIN, from Arrow data of this or another library.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use colonnade_columnar::encode::{ChunkError, CopyChunks, EncodeOptions, TargetColumn};
use colonnade_columnar::{Type, Types};
use colonnade_foreign::{Batches, Fault, arrow_type_name, batch_of_rows, sql_type};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};

use crate::arrow::import::{self, take_array, take_batches};
use crate::batch::Batch;
use crate::copy::column::ArrowColumn;
use crate::errors;
use crate::locks::{locked, locked_at_once};
use crate::types::pg_type::PgType;

/// A source of rows, for a single encoder.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct ArrowSource {
    schema: SchemaRef,
    /// `None` once an encoder has taken them.
    batches: Mutex<Option<Batches>>,
}

impl ArrowSource {
    fn new(schema: SchemaRef, batches: Batches) -> Self {
        Self { schema, batches: Mutex::new(Some(batches)) }
    }

    fn of_batch(batch: RecordBatch) -> Self {
        Self::new(batch.schema(), Batches::Made(VecDeque::from([batch])))
    }

    fn of_named(names: Vec<String>, described: Vec<(Field, ArrayRef)>) -> PyResult<Self> {
        if names.len() != described.len() {
            return Err(PyValueError::new_err("each column needs a name"));
        }
        let (fields, columns): (Vec<_>, Vec<_>) = described.into_iter().unzip();
        let named = fields.into_iter().zip(names);
        let named = named.map(|(field, name)| field.with_name(name).with_nullable(true));
        let schema = Arc::new(Schema::new(named.collect::<Vec<_>>()));
        RecordBatch::try_new(schema, columns).map(Self::of_batch).map_err(errors::value)
    }
}

#[pymethods]
impl ArrowSource {
    /// Imports the stream of an "arrow_array_stream" capsule.
    #[staticmethod]
    fn from_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let stream = take_batches(capsule)?;
        Ok(Self::new(stream.schema(), Batches::Stream(stream)))
    }

    /// Imports the result of a record batch's `__arrow_c_array__`.
    #[staticmethod]
    fn from_batch(
        schema_capsule: &Bound<'_, PyCapsule>,
        array_capsule: &Bound<'_, PyCapsule>,
    ) -> PyResult<Self> {
        let py = schema_capsule.py();
        let (field, rows) = take_array(schema_capsule, array_capsule)?;
        let batch = batch_of_rows(&field, &rows);
        batch.map(Self::of_batch).map_err(|fault| import::exception(py, &fault))
    }

    /// Imports arrays as columns, each from the result of its `__arrow_c_array__`.
    #[staticmethod]
    fn from_arrays(
        names: Vec<String>,
        arrays: Vec<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>,
    ) -> PyResult<Self> {
        let described = arrays.iter().map(|(schema, array)| take_array(schema, array));
        Self::of_named(names, described.collect::<PyResult<_>>()?)
    }

    /// A source of separately made columns of equal length.
    #[staticmethod]
    fn from_columns(names: Vec<String>, columns: Vec<PyRef<'_, ArrowColumn>>) -> PyResult<Self> {
        let described = columns.iter().map(|column| {
            (Field::new("", column.0.data_type().clone(), true), Arc::clone(&column.0))
        });
        Self::of_named(names, described.collect())
    }

    /// A source of this module's batches.
    #[staticmethod]
    fn from_native(batches: Vec<PyRef<'_, Batch>>) -> PyResult<Self> {
        let batches: VecDeque<_> = batches.iter().flat_map(|batch| batch.chunks()).collect();
        match batches.front() {
            Some(first) => Ok(Self::new(first.schema(), Batches::Made(batches))),
            None => Err(PyValueError::new_err("at least one batch is needed")),
        }
    }

    /// The name and Arrow type of each column.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let fields = self.schema.fields().iter();
        PyList::new(py, fields.map(|field| (field.name(), arrow_type_name(field.data_type()))))
    }

    /// The SQL type that a table made for this source gives a column.
    fn sql_type(&self, py: Python<'_>, index: usize) -> PyResult<String> {
        let field = self.schema.fields().get(index);
        let field = field.ok_or_else(|| PyIndexError::new_err("column index out of range"))?;
        sql_type(field).map_err(|reason| {
            let text = format!("column {:?} cannot be made: {reason}", field.name());
            errors::of_class(py, "SchemaError", &text)
        })
    }
}

/// Encodes Arrow data as the data of a COPY, in chunks.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct CopyEncoder {
    state: Mutex<State>,
    rows_done: AtomicU64,
}

struct State {
    chunks: CopyChunks<Batches>,
    /// The memory of the previous chunk.
    chunk: Vec<u8>,
}

/// The reason why no chunk was made.
enum Failure {
    Chunk(ChunkError<Fault>),
    /// Another thread is making a chunk.
    Busy,
}

impl Failure {
    fn exception(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Chunk(ChunkError::Source(fault)) => import::exception(py, &fault),
            Self::Chunk(error @ ChunkError::Before) => errors::runtime(error),
            Self::Chunk(error) => errors::encode(py, &error.to_string()),
            Self::Busy => PyRuntimeError::new_err("another thread is making a chunk"),
        }
    }
}

/// The source and target of a COPY column: its index in the source, its name, its type (a `PgType`
/// or its OID) and its type modifier.
type Target<'py> = (usize, String, Bound<'py, PyAny>, i32);

fn target_columns(targets: Vec<Target<'_>>) -> PyResult<Vec<TargetColumn>> {
    let types = Types::default();
    let target = |(source, name, handle, type_modifier): Target<'_>| {
        let pg_type = match handle.cast::<PgType>() {
            Ok(pg_type) => Arc::clone(&pg_type.get().0),
            Err(_) => {
                let oid = handle.extract()?;
                types.find(oid).unwrap_or_else(|| Arc::new(Type::opaque(oid)))
            }
        };
        Ok(TargetColumn { source, name, pg_type, type_modifier })
    };
    targets.into_iter().map(target).collect()
}

#[pymethods]
impl CopyEncoder {
    /// `targets` has for each column of the COPY its index in the source, its name, its type and
    /// its type modifier. A type is a `PgType`, or its OID if it is built in. With
    /// `more`, `feed` or `finish` must follow.
    #[new]
    #[pyo3(signature = (
        source, targets, *, nan_as_null = false, nat_as_null = false, more = false
    ))]
    fn new(
        py: Python<'_>,
        source: &ArrowSource,
        targets: Vec<Target<'_>>,
        nan_as_null: bool,
        nat_as_null: bool,
        more: bool,
    ) -> PyResult<Self> {
        let options = EncodeOptions { nan_as_null, nat_as_null };
        let state = State { chunks: CopyChunks::new(options, more), chunk: Vec::new() };
        let this = Self { state: Mutex::new(state), rows_done: AtomicU64::new(0) };
        this.take(py, source, target_columns(targets)?)?;
        Ok(this)
    }

    /// Continues with another source once the previous one is exhausted.
    fn feed(&self, py: Python<'_>, source: &ArrowSource, targets: Vec<Target<'_>>) -> PyResult<()> {
        self.take(py, source, target_columns(targets)?)
    }

    /// Ends the data: the next chunk is the last one.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = locked_at_once(&self.state).ok_or_else(|| Failure::Busy.exception(py))?;
        state.chunks.finish();
        Ok(())
    }

    /// The next chunk of the COPY, about `limit_bytes` long; None after the last one.
    fn next_chunk<'py>(
        &self,
        py: Python<'py>,
        limit_bytes: usize,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Some(mut state) = locked_at_once(&self.state) else {
            return Err(Failure::Busy.exception(py));
        };
        let mut chunk = std::mem::take(&mut state.chunk);
        drop(state);
        chunk.clear();
        if !self.append(py, &mut chunk, limit_bytes)? {
            return Ok(None);
        }
        let bytes = PyBytes::new(py, &chunk);
        if let Some(mut state) = locked_at_once(&self.state) {
            state.chunk = chunk;
        }
        Ok(Some(bytes))
    }

    /// The number of rows in the chunks so far.
    #[getter]
    fn rows_done(&self) -> u64 {
        self.rows_done.load(Ordering::Relaxed)
    }
}

impl CopyEncoder {
    /// Appends a chunk with the interpreter released; `false` if there is none.
    pub(crate) fn append(
        &self,
        py: Python<'_>,
        chunk: &mut Vec<u8>,
        limit_bytes: usize,
    ) -> PyResult<bool> {
        // The producer may wait for the interpreter meanwhile, so nothing blocks on this lock, with
        // or without the interpreter.
        let made = py.detach(|| {
            let mut state = locked_at_once(&self.state).ok_or(Failure::Busy)?;
            let made = state.chunks.append(chunk, limit_bytes.max(1));
            self.rows_done.store(state.chunks.rows_done(), Ordering::Relaxed);
            made.map_err(Failure::Chunk)
        });
        made.map_err(|failure| failure.exception(py))
    }

    /// Accepts a source if its columns can be written to the targets.
    fn take(
        &self,
        py: Python<'_>,
        source: &ArrowSource,
        targets: Vec<TargetColumn>,
    ) -> PyResult<()> {
        let mut state = locked_at_once(&self.state).ok_or_else(|| Failure::Busy.exception(py))?;
        if !state.chunks.is_exhausted() {
            return Err(errors::interface(py, "the previous source is not exhausted yet"));
        }
        let checked = state.chunks.check(&source.schema, &targets);
        checked.map_err(|error| errors::encode(py, &error.to_string()))?;
        let batches = locked(&source.batches).take();
        let batches = batches.ok_or_else(|| errors::interface(py, "the source was read before"))?;
        state.chunks.take(batches, targets);
        Ok(())
    }
}
