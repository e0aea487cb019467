//! `colonnade._core.formats`: batches as the bytes of a file format, and back.

mod lines;

use std::sync::{Arc, Mutex, OnceLock};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::ArrowError;
use colonnade_columnar::{ResultColumn, StringLayout, Table, TextError, export, in_copy, in_json};
use colonnade_formats::arrow_stream::{ArrowStreamEncoder, Codec, Fault, StreamReader};
use colonnade_formats::csv::Csv;
use colonnade_formats::json_columns::JsonColumnsEncoder;
use colonnade_formats::lines::LineEncoder;
use colonnade_formats::ndjson::Ndjson;
use colonnade_formats::{Ending, NUMERALS, Numbers};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use self::lines::Lines;
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

/// The form of the columns' values in the file.
#[derive(Clone, Copy)]
enum Values {
    /// The Arrow values.
    Stored,
    /// The values of `to_json`.
    Json,
    /// The values of COPY.
    Copy,
}

impl Values {
    fn of(self, chunk: &RecordBatch, columns: &[ResultColumn]) -> Result<RecordBatch, ArrowError> {
        let chunk = export::with_string_layout(chunk, StringLayout::Small);
        let converted = match self {
            Self::Stored => return Ok(chunk),
            Self::Json => in_json(&chunk, columns, NUMERALS),
            Self::Copy => in_copy(&chunk, columns),
        };
        converted.map_err(|error| match error {
            TextError::Arrow(error) => error,
            other => ArrowError::InvalidArgumentError(other.to_string()),
        })
    }
}

/// Encodes the batches of one result. It releases the interpreter, so it is used in threads.
#[pyclass(frozen, module = "colonnade._core.formats")]
struct Encoder {
    inner: Mutex<Box<dyn colonnade_formats::Encoder>>,
    values: Values,
}

impl Encoder {
    fn new(inner: impl colonnade_formats::Encoder + 'static, values: Values) -> Self {
        Self { inner: Mutex::new(Box::new(inner)), values }
    }
}

#[pymethods]
impl Encoder {
    /// An encoder of Arrow's IPC stream. The codec is "none", "lz4" or "zstd".
    #[staticmethod]
    fn arrow_stream(codec: &str) -> PyResult<Self> {
        let refused = || PyValueError::new_err("codec must be \"none\", \"lz4\" or \"zstd\"");
        let codec = Codec::named(codec).ok_or_else(refused)?;
        Ok(Self::new(ArrowStreamEncoder::new(codec), Values::Stored))
    }

    /// An encoder of `{"columns":{"a":[...]},"rows":N}`: all bytes come from `finish`, which
    /// makes them while they are asked for.
    #[staticmethod]
    fn json_columns() -> Self {
        Self::new(JsonColumnsEncoder::default(), Values::Stored)
    }

    /// An encoder of a JSON object per line. The numbers are "exact", with the other values as
    /// `to_json` has them, or "javascript". With the mark, the last line counts the rows.
    #[staticmethod]
    fn ndjson(numbers: &str, end_mark: bool) -> PyResult<Self> {
        let refused = || PyValueError::new_err("numbers must be \"exact\" or \"javascript\"");
        let numbers = Numbers::named(numbers).ok_or_else(refused)?;
        let values = match numbers {
            Numbers::Exact => Values::Json,
            Numbers::JavaScript => Values::Stored,
        };
        let format = Ndjson::new(numbers);
        let format = if end_mark { format.with_end_mark() } else { format };
        Ok(Self::new(LineEncoder::new(format), values))
    }

    /// An encoder of RFC 4180's CSV, with or without a line of the columns' names.
    #[staticmethod]
    fn csv(header: bool) -> Self {
        let format = Csv::rfc4180();
        let format = if header { format.with_header() } else { format };
        Self::new(LineEncoder::new(format), Values::Stored)
    }

    /// An encoder of the CSV that COPY writes and reads, with the text that stands for NULL.
    #[staticmethod]
    fn copy_csv(header: bool, delimiter: char, null: &str) -> PyResult<Self> {
        let refused = |_| PyValueError::new_err("delimiter must be one byte");
        let format = Csv::copy(u8::try_from(delimiter).map_err(refused)?, null);
        let format = if header { format.with_header() } else { format };
        Ok(Self::new(LineEncoder::new(format), Values::Copy))
    }

    /// The bytes of one batch; before the first one, the beginning of the file. Raises ValueError
    /// if the format has no text for a column, or no place for its name.
    fn encode(&self, py: Python<'_>, batch: &Batch) -> PyResult<Pieces> {
        let buffers = py.detach(|| {
            let mut encoder = locked(&self.inner);
            let mut buffers = Vec::new();
            for chunk in self.chunks(batch)? {
                buffers.extend(encoder.encode(&chunk)?);
            }
            Ok(buffers)
        });
        let buffers = buffers.map_err(exception_of_encoder)?;
        Ok(Pieces::new(buffers, None))
    }

    /// The rows of one batch, to be cut into files whose beginning is `head`. Raises ValueError as
    /// `encode` does, and if the format has no lines.
    fn lines(&self, py: Python<'_>, batch: &Batch) -> PyResult<Lines> {
        let lines = py.detach(|| locked(&self.inner).lines(&self.chunks(batch)?));
        lines.map(Lines::from).map_err(exception_of_encoder)
    }

    /// The beginning of each file, once there was a batch.
    fn head<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &locked(&self.inner).head())
    }

    /// The end of the file. Raises RuntimeError if there was no batch.
    fn finish(&self, py: Python<'_>) -> PyResult<Pieces> {
        let ending = py.detach(|| locked(&self.inner).finish()).map_err(errors::runtime)?;
        Ok(Pieces::new(Vec::new(), Some(ending)))
    }
}

impl Encoder {
    /// The chunks of a batch as they are written.
    fn chunks(&self, batch: &Batch) -> Result<Vec<RecordBatch>, ArrowError> {
        let chunks = batch.chunks().into_iter();
        chunks.map(|chunk| self.values.of(&chunk, batch.result_columns())).collect()
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
    module.add_class::<Lines>()?;
    module.add_class::<Pieces>()?;
    module.add_function(wrap_pyfunction!(arrow_poison, module)?)
}
