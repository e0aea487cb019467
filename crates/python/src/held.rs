//! Rows kept as they came until the caller claims them as rows or as columns. They are copied once,
//! from the receive buffer into chunks of memory; a chunk is freed once it is decoded.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use arrow_array::RecordBatch;
use colonnade_columnar::ResultColumn;
use colonnade_protocol::{DataRows, Format, Frame, next_frame};
use colonnade_session::{ColumnSink, Error, SinkError, can_be_another};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::batch::Batch;
use crate::errors;
use crate::record::RowClass;
use crate::rows::{RecordSink, RowPlan};
use crate::session::column_sink;
use crate::types::codecs::Codecs;

/// The size of a chunk, unless a single run of rows is larger.
const CHUNK_BYTES: usize = 1024 * 1024;

/// The tag of a message, which its length field does not count.
const TAG_BYTES: usize = 1;
const LENGTH_BYTES: usize = 4;

/// How to make Python rows.
struct Making {
    columns: Arc<[ResultColumn]>,
    plan: Arc<RowPlan>,
    codecs: Arc<Codecs>,
    class: RowClass,
}

impl Making {
    fn sink(&self, py: Python<'_>, rows_before: u64) -> RecordSink {
        let (columns, plan) = (Arc::clone(&self.columns), Arc::clone(&self.plan));
        let (codecs, class) = (Arc::clone(&self.codecs), self.class.clone_ref(py));
        RecordSink::new(py, columns, plan, codecs, class).behind(rows_before)
    }
}

/// Collects rows as they come.
pub(crate) struct HeldSink {
    making: Making,
    /// Runs of whole messages.
    chunks: VecDeque<Vec<u8>>,
    row_count: u64,
    /// Also makes the rows at once.
    made: Option<RecordSink>,
}

impl HeldSink {
    /// Making rows as they come overlaps with the server's work. It is also done if a value can
    /// reveal that its type has changed: a lookup is possible only before the query ends.
    pub(crate) fn new(
        py: Python<'_>,
        columns: Arc<[ResultColumn]>,
        plan: Arc<RowPlan>,
        codecs: Arc<Codecs>,
        class: RowClass,
        makes_rows: bool,
    ) -> Self {
        let is_unsure = columns.iter().any(|column| can_be_another(&column.pg_type));
        let making = Making { columns, plan, codecs, class };
        let made = (makes_rows || is_unsure).then(|| making.sink(py, 0));
        Self { making, chunks: VecDeque::new(), row_count: 0, made }
    }

    pub(crate) fn formats(&self) -> Vec<Format> {
        self.making.plan.formats()
    }

    /// The columns of the result.
    pub(crate) fn columns(&self) -> &Arc<[ResultColumn]> {
        &self.making.columns
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> u64 {
        self.row_count
    }

    pub(crate) fn renewed(&self, columns: &Arc<[ResultColumn]>) -> Result<Self, SinkError> {
        Python::attach(|py| {
            let plan = RowPlan::new(py, columns);
            let plan = Arc::new(plan.map_err(|error| SinkError::Foreign(Box::new(error)))?);
            let (codecs, class) =
                (Arc::clone(&self.making.codecs), self.making.class.clone_ref(py));
            Ok(Self::new(py, Arc::clone(columns), plan, codecs, class, self.made.is_some()))
        })
    }

    pub(crate) fn rows(&mut self, rows: DataRows<'_>) -> Result<(), SinkError> {
        let bytes = rows.rest();
        self.row_count += first_rows(bytes, u64::MAX).1;
        match self.chunks.back_mut() {
            Some(chunk) if chunk.len() + bytes.len() <= CHUNK_BYTES => {
                chunk.extend_from_slice(bytes);
            }
            last => {
                let is_first = last.is_none();
                let room = if is_first { bytes.len() } else { CHUNK_BYTES.max(bytes.len()) };
                let mut chunk = Vec::with_capacity(room);
                chunk.extend_from_slice(bytes);
                self.chunks.push_back(chunk);
            }
        }
        match self.made.as_mut().map_or(Ok(()), |sink| sink.rows(rows)) {
            // The caller may claim columns, whose options say what becomes of such a value.
            Err(SinkError::Foreign(error)) if is_unfit(error.as_ref()) => {
                self.made = None;
                Ok(())
            }
            made => made,
        }
    }
}

/// Whether an error says that a value has no Python object. It is raised again for rows.
fn is_unfit(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    error.downcast_ref::<PyErr>().is_some_and(|error| {
        Python::attach(|py| error.get_type(py).name().is_ok_and(|name| name == "DecodeError"))
    })
}

/// The bytes of up to `limit` messages of a run, and their number.
fn first_rows(bytes: &[u8], limit: u64) -> (&[u8], u64) {
    let (mut rows, mut end) = (0, 0);
    while rows < limit {
        let Some(length) = message_bytes(bytes, end) else { break };
        end += length;
        rows += 1;
    }
    (bytes.get(..end).unwrap_or_default(), rows)
}

/// The length of the message at a position.
fn message_bytes(bytes: &[u8], position: usize) -> Option<usize> {
    let start = position + TAG_BYTES;
    let length: [u8; LENGTH_BYTES] = bytes.get(start..start + LENGTH_BYTES)?.try_into().ok()?;
    Some(TAG_BYTES + u32::from_be_bytes(length) as usize)
}

struct Held {
    making: Making,
    chunks: VecDeque<Vec<u8>>,
    /// The bytes of the first chunk already taken.
    position: usize,
    row_count: u64,
    taken: u64,
    /// The rows, if they were made at once.
    made: Option<Py<PyList>>,
    /// Columns were made of some rows, and then a value did not fit its column.
    is_lost: bool,
}

impl Held {
    fn left(&self) -> u64 {
        self.row_count - self.taken
    }

    /// The bytes of up to `limit_rows` rows of the first chunk, and their number.
    fn next_run(&self, limit_rows: u64) -> (&[u8], u64) {
        let Some(chunk) = self.chunks.front() else { return (&[], 0) };
        first_rows(chunk.get(self.position..).unwrap_or_default(), limit_rows)
    }

    /// Removes rows that span this many bytes of the first chunk.
    fn advance(&mut self, rows: u64, bytes: usize) {
        self.taken += rows;
        self.position += bytes;
        if self.chunks.front().is_some_and(|chunk| self.position >= chunk.len()) {
            self.chunks.pop_front();
            self.position = 0;
        }
    }

    fn make_rows<'py>(&mut self, py: Python<'py>, limit: u64) -> PyResult<Bound<'py, PyList>> {
        let mut sink = self.making.sink(py, self.taken);
        let (mut wanted, mut runs) = (limit, Vec::new());
        // After a failure the rows stay where they are.
        let mut position = self.position;
        for chunk in &self.chunks {
            if wanted == 0 {
                break;
            }
            let (bytes, rows) = first_rows(chunk.get(position..).unwrap_or_default(), wanted);
            feed(bytes, |run| sink.rows(run)).map_err(|error| errors::of_session(py, error))?;
            runs.push((rows, bytes.len()));
            wanted -= rows;
            position = 0;
        }
        for (rows, bytes) in runs {
            self.advance(rows, bytes);
        }
        Ok(sink.into_records().into_bound(py))
    }

    fn made_rows<'py>(&mut self, made: &Bound<'py, PyList>, limit: u64) -> Bound<'py, PyList> {
        let (start, end) = (self.taken, self.taken + limit);
        self.taken = end;
        if start == 0 && end == self.row_count {
            return made.clone();
        }
        made.get_slice(start as usize, end as usize)
    }

    /// Drops rows already made for the rows just taken as columns.
    fn skip_made(&mut self) {
        if self.made.take().is_none() {
            return;
        }
        let taken = std::mem::take(&mut self.taken);
        while self.taken < taken {
            let (bytes, rows) = self.next_run(taken - self.taken);
            if rows == 0 {
                return;
            }
            let length = bytes.len();
            self.advance(rows, length);
        }
    }

    /// Drops the remaining rows, because those before them are lost.
    fn lose(&mut self) {
        self.chunks.clear();
        self.taken = self.row_count;
        self.is_lost = true;
    }

    /// Decodes all remaining rows, and frees their memory on the way.
    fn fill(&mut self, sink: &mut ColumnSink) -> Result<RecordBatch, Error> {
        let mut batches = VecDeque::new();
        while self.taken < self.row_count {
            let (bytes, rows) = self.next_run(u64::MAX);
            if rows == 0 {
                break;
            }
            let length = bytes.len();
            feed(bytes, |run| sink.rows(run, &mut batches))?;
            self.advance(rows, length);
        }
        sink.finish(&mut batches)?;
        batches.pop_front().ok_or(Error::Closed)
    }
}

/// Passes a run of whole messages to a sink.
fn feed(
    mut bytes: &[u8],
    mut take: impl FnMut(DataRows<'_>) -> Result<(), SinkError>,
) -> Result<(), Error> {
    while let Some((Frame::DataRows(rows), length)) = next_frame(bytes)? {
        take(rows)?;
        bytes = bytes.get(length..).unwrap_or_default();
    }
    Ok(())
}

/// The rows of a query as they came: they become rows or columns on request.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct HeldRows(Mutex<Held>);

impl HeldRows {
    pub(crate) fn of(sink: HeldSink) -> Self {
        let HeldSink { making, chunks, row_count, made } = sink;
        let made = made.map(RecordSink::into_records);
        let (position, taken, is_lost) = (0, 0, false);
        Self(Mutex::new(Held { making, chunks, position, row_count, taken, made, is_lost }))
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Held>> {
        self.0.try_lock().map_err(|_| errors::interface(py, "another thread is reading the rows"))
    }

    /// As `lock`, for taking rows.
    fn lock_rows(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Held>> {
        let held = self.lock(py)?;
        if held.is_lost {
            let message = "the rows are lost: making columns of them failed. Run the query again";
            return Err(errors::interface(py, message));
        }
        Ok(held)
    }
}

#[pymethods]
impl HeldRows {
    /// The total number of rows.
    #[getter]
    fn row_count(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.row_count)
    }

    /// The number of remaining rows.
    #[getter]
    fn rows_left(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.left())
    }

    /// The next rows: up to a number, or all that remain.
    #[pyo3(signature = (limit = None))]
    fn take_rows<'py>(&self, py: Python<'py>, limit: Option<u64>) -> PyResult<Bound<'py, PyList>> {
        let mut held = self.lock_rows(py)?;
        let limit = limit.unwrap_or(u64::MAX).min(held.left());
        match held.made.as_ref().map(|made| made.bind(py).clone()) {
            Some(made) => Ok(held.made_rows(&made, limit)),
            None => held.make_rows(py, limit),
        }
    }

    /// All remaining rows as one batch; the schema's keys are names or positions of columns. If a
    /// value does not fit its column, the rows are lost, and taking more is an error.
    #[pyo3(signature = (schema, infinity))]
    fn take_batch(
        &self,
        py: Python<'_>,
        schema: Option<Bound<'_, PyDict>>,
        infinity: &Bound<'_, PyAny>,
    ) -> PyResult<Batch> {
        let mut held = self.lock_rows(py)?;
        let columns = Arc::clone(&held.making.columns);
        let mut sink = column_sink(py, &columns, schema.as_ref(), infinity, None)?;
        let asked = held.making.plan.formats();
        if let Some(place) = sink.formats().iter().zip(&asked).position(|(a, b)| a != b) {
            let column = columns.get(place).map(|column| column.name.clone()).unwrap_or_default();
            return Err(errors::of_session(py, Error::BoundFormat { column: column.to_string() }));
        }
        held.skip_made();
        let batch = {
            let held = &mut *held;
            py.detach(|| held.fill(&mut sink).inspect_err(|_| held.lose()))
                .map_err(|error| errors::of_session(py, error))?
        };
        Ok(Batch::new(batch, columns, Arc::clone(&held.making.codecs)))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.lock(py)?.left()).unwrap_or(usize::MAX))
    }

    fn __repr__(&self) -> String {
        match self.0.try_lock() {
            Ok(held) => format!("<HeldRows {} of {}>", held.left(), held.row_count),
            Err(_) => "<HeldRows busy>".to_owned(),
        }
    }
}
