//! `colonnade._core.formats`: batches as the bytes of a file format, and back.

use std::sync::{Arc, Mutex, OnceLock};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::ArrowError;
use colonnade_columnar::{StringLayout, Table, export};
use colonnade_formats::Ending;
use colonnade_formats::arrow_stream::{ArrowStreamEncoder, Codec, Fault, StreamReader};
use colonnade_formats::csv::CsvEncoder;
use colonnade_formats::json_columns::JsonColumnsEncoder;
use colonnade_formats::ndjson::NdjsonEncoder;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch::Batch;
use crate::errors;
use crate::locks::locked;
use crate::types::codecs::Codecs;

/// The most bytes of one piece: a web server's loop copies it at once.
const PIECE_BYTES_MAX: usize = 256 << 10;

/// Encoded bytes in order, as an iterator of `bytes` objects. They are made or copied one by one,
/// when they are asked for, with the interpreter released while they are made.
#[pyclass(frozen, module = "colonnade._core.formats")]
struct Pieces {
    left: Mutex<colonnade_formats::Pieces>,
}

impl Pieces {
    fn new(buffers: Vec<Buffer>, ending: Option<Ending>) -> Self {
        Self { left: Mutex::new(colonnade_formats::Pieces::new(buffers, ending)) }
    }
}

#[pymethods]
impl Pieces {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let parts = py.detach(|| {
            let mut left = locked(&self.left);
            left.next_piece(PIECE_BYTES_MAX)
        });
        let parts = parts.map_err(exception_of_encoder)?;
        let nbytes = parts.iter().map(Buffer::len).sum();
        if nbytes == 0 {
            return Ok(None);
        }
        let piece = PyBytes::new_with(py, nbytes, |mut target| {
            for part in &parts {
                let (filled, rest) = target.split_at_mut(part.len());
                filled.copy_from_slice(part);
                target = rest;
            }
            Ok(())
        })?;
        Ok(Some(piece))
    }
}

fn exception_of_encoder(error: ArrowError) -> PyErr {
    match error {
        ArrowError::InvalidArgumentError(message) => errors::value(message),
        other => errors::runtime(other),
    }
}

/// Encodes the batches of one result. It releases the interpreter, so it is used in threads.
#[pyclass(frozen, module = "colonnade._core.formats")]
struct Encoder {
    inner: Mutex<Box<dyn colonnade_formats::Encoder>>,
}

impl Encoder {
    fn new(inner: impl colonnade_formats::Encoder + 'static) -> Self {
        Self { inner: Mutex::new(Box::new(inner)) }
    }
}

#[pymethods]
impl Encoder {
    /// An encoder of Arrow's IPC stream. The codec is "none", "lz4" or "zstd".
    #[staticmethod]
    fn arrow_stream(codec: &str) -> PyResult<Self> {
        let refused = || PyValueError::new_err("codec must be \"none\", \"lz4\" or \"zstd\"");
        let codec = Codec::named(codec).ok_or_else(refused)?;
        Ok(Self::new(ArrowStreamEncoder::new(codec)))
    }

    /// An encoder of `{"columns":{"a":[...]},"rows":N}`: all bytes come from `finish`, which
    /// makes them while they are asked for.
    #[staticmethod]
    fn json_columns() -> Self {
        Self::new(JsonColumnsEncoder::default())
    }

    /// An encoder of a JSON object per line. With the mark, the last line counts the rows.
    #[staticmethod]
    fn ndjson(end_mark: bool) -> Self {
        Self::new(if end_mark { NdjsonEncoder::with_end_mark() } else { NdjsonEncoder::new() })
    }

    /// An encoder of CSV, with or without a line of the columns' names.
    #[staticmethod]
    fn csv(header: bool) -> Self {
        Self::new(if header { CsvEncoder::with_header() } else { CsvEncoder::new() })
    }

    /// The bytes of one batch; before the first one, the beginning of the file. Raises ValueError
    /// if the format has no text for a column, or no place for its name.
    fn encode(&self, py: Python<'_>, batch: &Batch) -> PyResult<Pieces> {
        let chunks = batch.chunks();
        let buffers = py.detach(|| {
            let mut encoder = locked(&self.inner);
            let mut buffers = Vec::new();
            for chunk in chunks {
                let chunk = export::with_string_layout(&chunk, StringLayout::Small);
                buffers.extend(encoder.encode(&chunk)?);
            }
            Ok(buffers)
        });
        let buffers = buffers.map_err(exception_of_encoder)?;
        Ok(Pieces::new(buffers, None))
    }

    /// The end of the file. Raises RuntimeError if there was no batch.
    fn finish(&self, py: Python<'_>) -> PyResult<Pieces> {
        let ending = py.detach(|| locked(&self.inner).finish()).map_err(errors::runtime)?;
        Ok(Pieces::new(Vec::new(), Some(ending)))
    }
}

/// A message that no reader of Arrow streams accepts.
#[pyfunction]
fn arrow_poison(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, ArrowStreamEncoder::poison())
}

/// Reads an Arrow stream as its bytes arrive, and refuses one without the mark of a complete one.
#[pyclass(frozen, module = "colonnade._core.formats")]
struct ArrowStreamReader {
    inner: Mutex<StreamReader>,
    /// A batch of no rows, once the first one has arrived: all share what it knows of the columns.
    columns: OnceLock<Batch>,
}

#[pymethods]
impl ArrowStreamReader {
    /// A reader of a table that takes at most `bytes_max` bytes of memory.
    #[new]
    fn new(bytes_max: u64) -> Self {
        Self { inner: Mutex::new(StreamReader::new(bytes_max)), columns: OnceLock::new() }
    }

    /// The rows so far.
    #[getter]
    fn num_rows(&self) -> u64 {
        locked(&self.inner).counts().rows
    }

    /// Takes the next bytes, and returns the batches that they complete. After an error, the reader
    /// must not be used.
    fn push(&self, py: Python<'_>, data: &[u8]) -> PyResult<Vec<Batch>> {
        let read = py.detach(|| locked(&self.inner).push(data));
        let batches = read.map_err(|fault| exception(py, &fault))?;
        Ok(batches.into_iter().map(|batch| self.batch(batch)).collect())
    }

    /// Raises IncompleteTableError unless all bytes of a complete stream were read.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        locked(&self.inner).finish().map(|_| ()).map_err(|fault| exception(py, &fault))
    }
}

impl ArrowStreamReader {
    fn batch(&self, batch: RecordBatch) -> Batch {
        let columns = self.columns.get_or_init(|| foreign(RecordBatch::new_empty(batch.schema())));
        columns.of_same(batch)
    }
}

fn exception(py: Python<'_>, fault: &Fault) -> PyErr {
    let class = match fault {
        Fault::Incomplete(_) => "IncompleteTableError",
        Fault::Invalid(_) | Fault::TooLarge(_) => "FaultyTableError",
    };
    errors::of_class(py, class, &fault.to_string())
}

/// A batch that did not come from PostgreSQL.
pub(crate) fn foreign(table: impl Into<Table>) -> Batch {
    let table = table.into();
    let fields = table.schema().fields().iter().map(|field| colonnade_foreign::described(field));
    let fields = fields.collect();
    Batch::new(table, fields, Arc::new(Codecs::default()))
}

/// Fills the module `formats`.
pub(crate) fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ArrowStreamReader>()?;
    module.add_class::<Encoder>()?;
    module.add_class::<Pieces>()?;
    module.add_function(wrap_pyfunction!(arrow_poison, module)?)
}
