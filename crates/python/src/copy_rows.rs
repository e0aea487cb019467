//! The rows of a COPY to the server, from Arrow data of this or of another library.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use colonnade_columnar::encode::{CastError, CellError, EncodeOptions, RowEncoder, TargetColumn};
use colonnade_columnar::{Type, Types};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};

use crate::arrow_import::{Stream, take_array};
use crate::arrow_names::arrow_type_name;
use crate::batch::Batch;
use crate::catalog::Catalog;
use crate::errors;
use crate::pg_type::PgType;

/// What rows come from. It gives them to one encoder.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct ArrowSource {
    schema: SchemaRef,
    /// `None` once an encoder has them.
    batches: Mutex<Option<Batches>>,
}

enum Batches {
    Made(VecDeque<RecordBatch>),
    Stream(Stream),
}

impl Batches {
    fn next(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        match self {
            Self::Made(batches) => Ok(batches.pop_front()),
            Self::Stream(stream) => stream.next().transpose(),
        }
    }
}

impl ArrowSource {
    fn new(schema: SchemaRef, batches: Batches) -> Self {
        Self { schema, batches: Mutex::new(Some(batches)) }
    }

    fn of_batch(batch: RecordBatch) -> Self {
        Self::new(batch.schema(), Batches::Made(VecDeque::from([batch])))
    }
}

#[pymethods]
impl ArrowSource {
    /// Takes the stream of an "arrow_array_stream" capsule.
    #[staticmethod]
    fn from_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let stream = Stream::take(capsule)?;
        Ok(Self::new(stream.schema(), Batches::Stream(stream)))
    }

    /// Takes what `__arrow_c_array__` of a record batch gives.
    #[staticmethod]
    fn from_batch(
        schema_capsule: &Bound<'_, PyCapsule>,
        array_capsule: &Bound<'_, PyCapsule>,
    ) -> PyResult<Self> {
        let (field, array) = take_array(schema_capsule, array_capsule)?;
        match array.as_any().downcast_ref::<StructArray>() {
            Some(rows) if rows.null_count() == 0 => {
                Ok(Self::of_batch(RecordBatch::from(rows.clone())))
            }
            Some(_) => Err(PyValueError::new_err("a row as a whole is NULL")),
            None => Err(PyValueError::new_err(format!(
                "a record batch is an array of structs, not of {}",
                field.data_type()
            ))),
        }
    }

    /// Takes arrays, each as what its `__arrow_c_array__` gives, as columns.
    #[staticmethod]
    fn from_arrays(
        names: Vec<String>,
        arrays: Vec<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>,
    ) -> PyResult<Self> {
        if names.len() != arrays.len() {
            return Err(PyValueError::new_err("there must be a name for each array"));
        }
        let mut fields = Vec::with_capacity(names.len());
        let mut columns = Vec::with_capacity(names.len());
        for (name, (schema, array)) in names.into_iter().zip(&arrays) {
            let (field, array) = take_array(schema, array)?;
            fields.push(field.with_name(name).with_nullable(true));
            columns.push(array);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
        batch.map(Self::of_batch).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Batches of ours.
    #[staticmethod]
    fn from_native(batches: Vec<PyRef<'_, Batch>>) -> PyResult<Self> {
        let batches: VecDeque<_> = batches.iter().map(|batch| batch.record_batch()).collect();
        match batches.front() {
            Some(first) => Ok(Self::new(first.schema(), Batches::Made(batches))),
            None => Err(PyValueError::new_err("there must be a batch")),
        }
    }

    /// Name and Arrow type of each column.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let fields = self.schema.fields().iter();
        PyList::new(py, fields.map(|field| (field.name(), arrow_type_name(field.data_type()))))
    }
}

/// Makes the bytes of a COPY, a chunk at a time.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct CopyEncoder {
    state: Mutex<State>,
    rows_done: AtomicU64,
}

struct State {
    batches: Batches,
    targets: Vec<TargetColumn>,
    options: EncodeOptions,
    /// The batch that is being written.
    rows: Option<RowEncoder>,
    /// Rows of the batches before it.
    rows_before: u64,
    progress: Progress,
    /// The memory of the chunk before.
    chunk: Vec<u8>,
}

/// How far a COPY is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Before,
    Within,
    Ended,
    /// Where an error left it, or a panic.
    Failed,
}

/// Why there is no chunk.
enum Failure {
    Cast(CastError),
    Cell(Box<CellError>),
    /// The producer of the batches failed.
    Source(ArrowError),
    /// The chunk before failed.
    Before,
    /// Another thread is at it.
    Busy,
}

impl From<Box<CellError>> for Failure {
    fn from(error: Box<CellError>) -> Self {
        Self::Cell(error)
    }
}

impl Failure {
    fn exception(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Cast(error) => errors::of_class(py, "EncodeError", &error.to_string()),
            Self::Cell(error) => errors::of_class(py, "EncodeError", &error.to_string()),
            Self::Source(error) => PyRuntimeError::new_err(error.to_string()),
            Self::Before => PyRuntimeError::new_err("the chunk before failed; abort the COPY"),
            Self::Busy => PyRuntimeError::new_err("another thread is making a chunk"),
        }
    }
}

impl State {
    /// Makes a chunk; `None` where nothing comes any more.
    fn chunk(&mut self, limit_bytes: usize) -> Result<Option<Vec<u8>>, Failure> {
        let mut chunk = std::mem::take(&mut self.chunk);
        chunk.clear();
        match self.progress {
            Progress::Before => RowEncoder::header(&mut chunk),
            Progress::Within => {}
            Progress::Ended => return Ok(None),
            Progress::Failed => return Err(Failure::Before),
        }
        self.progress = Progress::Failed;
        while chunk.len() < limit_bytes {
            if let Some(rows) = &mut self.rows {
                let room = limit_bytes - chunk.len();
                if !rows.append(&mut chunk, room)? {
                    self.rows_before += rows.rows_done() as u64;
                    self.rows = None;
                }
                continue;
            }
            let Some(batch) = self.batches.next().map_err(Failure::Source)? else {
                RowEncoder::trailer(&mut chunk);
                self.progress = Progress::Ended;
                return Ok(Some(chunk));
            };
            self.rows = Some(self.row_encoder(&batch).map_err(Failure::Cast)?);
        }
        self.progress = Progress::Within;
        Ok(Some(chunk))
    }

    fn row_encoder(&self, batch: &RecordBatch) -> Result<RowEncoder, CastError> {
        RowEncoder::new(&self.targets, batch, &self.options, self.rows_before)
    }

    fn rows_done(&self) -> u64 {
        self.rows_before + self.rows.as_ref().map_or(0, |rows| rows.rows_done() as u64)
    }
}

#[pymethods]
impl CopyEncoder {
    /// `targets` names, for each column of the COPY, its place in the source, its name, its type
    /// and what that was declared with. A type is a `PgType` or its OID; `catalog` knows the OIDs
    /// that are not built in.
    #[new]
    #[pyo3(signature = (
        source, targets, *, catalog = None, nan_as_null = false, nat_as_null = false
    ))]
    fn new(
        py: Python<'_>,
        source: &ArrowSource,
        targets: Vec<(usize, String, Bound<'_, PyAny>, i32)>,
        catalog: Option<&Catalog>,
        nan_as_null: bool,
        nat_as_null: bool,
    ) -> PyResult<Self> {
        let types = catalog.map_or_else(Types::default, |catalog| Types::new(catalog.0.clone()));
        let target = |(source, name, handle, type_modifier): (_, _, Bound<'_, PyAny>, _)| {
            let pg_type = match handle.cast::<PgType>() {
                Ok(pg_type) => Arc::clone(&pg_type.get().0),
                Err(_) => {
                    let oid = handle.extract()?;
                    types.find(oid).unwrap_or_else(|| Arc::new(Type::opaque(oid)))
                }
            };
            Ok(TargetColumn { source, name, pg_type, type_modifier })
        };
        let targets = targets.into_iter().map(target).collect::<PyResult<Vec<_>>>()?;
        let options = EncodeOptions { nan_as_null, nat_as_null };
        let empty = RecordBatch::new_empty(Arc::clone(&source.schema));
        RowEncoder::new(&targets, &empty, &options, 0)
            .map_err(|error| Failure::Cast(error).exception(py))?;
        let batches = source.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
        let batches = batches.ok_or_else(|| errors::interface(py, "the source was read before"))?;
        let state = State {
            batches,
            targets,
            options,
            rows: None,
            rows_before: 0,
            progress: Progress::Before,
            chunk: Vec::new(),
        };
        Ok(Self { state: Mutex::new(state), rows_done: AtomicU64::new(0) })
    }

    /// The next bytes of the COPY, about `limit_bytes` of them; None behind the last ones.
    fn next_chunk<'py>(
        &self,
        py: Python<'py>,
        limit_bytes: usize,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        // The producer may wait for the interpreter in between: nobody waits for this lock, with
        // the interpreter or without it.
        let made = py.detach(|| {
            let mut state = self.try_lock().ok_or(Failure::Busy)?;
            let made = state.chunk(limit_bytes.max(1));
            self.rows_done.store(state.rows_done(), Ordering::Relaxed);
            made
        });
        let Some(chunk) = made.map_err(|failure| failure.exception(py))? else { return Ok(None) };
        let bytes = PyBytes::new(py, &chunk);
        if let Some(mut state) = self.try_lock() {
            state.chunk = chunk;
        }
        Ok(Some(bytes))
    }

    /// Rows in the chunks so far.
    #[getter]
    fn rows_done(&self) -> u64 {
        self.rows_done.load(Ordering::Relaxed)
    }
}

impl CopyEncoder {
    fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
