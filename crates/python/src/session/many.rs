//! One statement with many sets of arguments.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use colonnade_protocol::frontend::{BindExecute, EncodedParams};
use colonnade_session::Sink;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};

use super::{Core, Session};
use crate::parameters::Taken;
use crate::session::sink::RowSink;
use crate::session::statement::Statement;
use crate::types::codecs::Codecs;
use crate::{errors, parameters};

/// The longest time that encoding a chunk holds the interpreter, and the number of rows between two
/// reads of the clock. The time that a caller's generator takes for one row cannot be limited.
const CHUNK_TIME_MAX: Duration = Duration::from_millis(1);
const ROWS_PER_LOOK: u64 = 16;

/// The arguments of one statement, encoded as messages in chunks.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct ManyArguments(Mutex<Writing>);

struct Writing {
    statement: Arc<colonnade_session::Statement>,
    codecs: Arc<Codecs>,
    messages: BindExecute,
    /// The number of rows so far.
    row_count: u64,
    params: EncodedParams,
    /// The memory of the previous chunk.
    chunk: Vec<u8>,
}

/// The reason why a chunk ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChunkEnd {
    /// There may be more rows.
    Full,
    /// There are no more rows.
    OutOfRows,
}

impl Writing {
    fn fill(&mut self, rows: &Bound<'_, PyIterator>, limit_bytes: usize) -> PyResult<ChunkEnd> {
        let started = Instant::now();
        let mut rows = rows.clone();
        self.chunk.clear();
        while self.chunk.len() < limit_bytes {
            let Some(row) = rows.next() else { return Ok(ChunkEnd::OutOfRows) };
            self.push(&row?)?;
            self.row_count += 1;
            if self.row_count.is_multiple_of(ROWS_PER_LOOK) && started.elapsed() > CHUNK_TIME_MAX {
                break;
            }
        }
        Ok(ChunkEnd::Full)
    }

    fn push(&mut self, row: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = row.py();
        let arguments = self.arguments(row)?;
        self.params.clear();
        let (taken, codecs) = (Taken::by(&self.statement), &self.codecs);
        let place = Some(self.row_count);
        parameters::encode_into(py, &mut self.params, &taken, codecs, &arguments, place)?;
        let pushed = self.messages.push(&mut self.chunk, &self.params);
        pushed.map_err(|error| errors::of_class(py, "LocalProtocolError", &error.to_string()))
    }

    fn arguments<'py>(&self, row: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        if let Ok(tuple) = row.cast::<PyTuple>() {
            return Ok(tuple.clone());
        }
        if let Ok(list) = row.cast::<PyList>() {
            return Ok(list.to_tuple());
        }
        let py = row.py();
        parameters::sequence(row)?.ok_or_else(|| {
            let kind = row.get_type().name().map_or_else(|_| String::new(), |it| it.to_string());
            let text = format!(
                "invalid input in executemany() argument sequence element #{}: expected a \
                 sequence, got {kind}",
                self.row_count
            );
            errors::encode(py, &text)
        })
    }
}

#[pymethods]
impl Session {
    /// Begins to run a statement many times, and returns only the completion.
    fn execute_many(&self, py: Python<'_>, statement: &Statement) -> PyResult<ManyArguments> {
        self.many(py, statement, RowSink::Nowhere)
    }

    /// Begins to run a statement many times; the Completion holds the rows of all executions.
    #[pyo3(signature = (statement, record_class = None))]
    fn fetch_many(
        &self,
        py: Python<'_>,
        statement: &Statement,
        record_class: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ManyArguments> {
        let sink = self.record_sink(py, &statement.statement, record_class)?;
        self.many(py, statement, sink)
    }

    /// As `fetch_many`, with the rows of all executions in one Batch; see `fetch_batches`.
    #[pyo3(signature = (statement, schema, infinity))]
    fn fetch_many_batch(
        &self,
        py: Python<'_>,
        statement: &Statement,
        schema: Option<Bound<'_, PyDict>>,
        infinity: &Bound<'_, PyAny>,
    ) -> PyResult<ManyArguments> {
        let sink = RowSink::columns(py, &statement.statement, schema.as_ref(), infinity)?;
        self.many(py, statement, sink)
    }

    /// Sends a chunk of about `limit_bytes` of an iterator's sequences. Returns False if there are
    /// no more rows, or no more are wanted because the exchange is failing; its end gives the
    /// reason.
    fn send_many(
        &self,
        py: Python<'_>,
        arguments: &ManyArguments,
        rows: &Bound<'_, PyIterator>,
        limit_bytes: usize,
    ) -> PyResult<bool> {
        // The session is not locked meanwhile: a generator may call it.
        let Ok(mut writing) = arguments.0.try_lock() else {
            return Err(errors::interface(
                py,
                "cannot perform operation: another operation is in progress",
            ));
        };
        let end = writing.fill(rows, limit_bytes)?;
        let is_wanted = self.lock(py)?.core.send_many(&writing.chunk);
        Ok(is_wanted && end == ChunkEnd::Full)
    }

    /// Ends the series.
    fn end_many(&self, py: Python<'_>) -> PyResult<()> {
        self.tell(py, Core::end_many)
    }

    /// Aborts the series and rolls it back, unless it runs in a transaction; the exchange ends as
    /// if nothing had failed.
    fn give_up_many(&self, py: Python<'_>) -> PyResult<()> {
        self.tell(py, Core::give_up_many)
    }
}

impl Session {
    fn many(
        &self,
        py: Python<'_>,
        statement: &Statement,
        sink: RowSink,
    ) -> PyResult<ManyArguments> {
        let statement = Arc::clone(&statement.statement);
        let formats = sink.formats().unwrap_or_else(|| statement.formats());
        let messages =
            BindExecute::new(statement.server_name().unwrap_or_default(), &formats, 0)
                .map_err(|error| errors::of_class(py, "LocalProtocolError", &error.to_string()))?;
        let codecs = Arc::clone(&self.lock(py)?.codecs);
        self.run(py, |core| core.many(Arc::clone(&statement), sink))?;
        let (params, chunk) = (EncodedParams::new(), Vec::new());
        Ok(ManyArguments(Mutex::new(Writing {
            statement,
            codecs,
            messages,
            row_count: 0,
            params,
            chunk,
        })))
    }
}
