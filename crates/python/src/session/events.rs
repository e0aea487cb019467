//! A session's output: the events of exchanges, and the messages sent out of turn.

use std::sync::Arc;

use colonnade_columnar::ResultColumn;
use colonnade_session::{Announcement, Event};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::Session;
use crate::batch::Batch;
use crate::errors;
use crate::held::HeldRows;
use crate::session::sink::RowSink;
use crate::session::statement::{Statement, described};
use crate::types::codecs::Codecs;
use crate::types::pg_type::PgType;

#[pymethods]
impl Session {
    /// The next event: a GssToken, a Batch, CopyIn, bytes of a COPY TO STDOUT, or the Completion of
    /// the exchange; None if more must be read first. Raises the exchange's error.
    fn next_event<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let taken = {
            let mut inner = self.lock(py)?;
            let event = inner.take_event(py);
            inner.stopwatch.resumed();
            event.map(|event| (event, Arc::clone(&inner.codecs)))
        };
        taken.map(|(event, codecs)| made(py, event, codecs)).transpose()
    }

    /// The next Notice or Notification, or None.
    fn next_announcement<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let announcement = self.lock(py)?.core.next_announcement();
        announcement
            .map(|announcement| match announcement {
                Announcement::Notice(fields) => {
                    let fields = errors::fields_dict(py, &fields)?.unbind();
                    Ok(Bound::new(py, Notice { fields })?.into_any())
                }
                Announcement::Notification { process_id, channel, payload } => {
                    let made = Notification { process_id, channel, payload };
                    Ok(Bound::new(py, made)?.into_any())
                }
            })
            .transpose()
    }
}

impl Session {
    /// As `next_event`, for a caller that will run later.
    pub(crate) fn event_for_waiter<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let taken = {
            let mut inner = self.lock(py)?;
            let event = inner.take_event(py);
            event.map(|event| (event, Arc::clone(&inner.codecs)))
        };
        taken.map(|(event, codecs)| made(py, event, codecs)).transpose()
    }
}

/// The event as Python's object; Err for the failure of the exchange.
fn made<'py>(
    py: Python<'py>,
    event: Event<RowSink>,
    codecs: Arc<Codecs>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match event {
        Event::Batch(made) => {
            Bound::new(py, Batch::new(made.batch, made.columns, codecs))?.into_any()
        }
        Event::GssToken(token) => {
            let token = PyBytes::new(py, &token).unbind();
            Bound::new(py, GssToken { token })?.into_any()
        }
        Event::CopyIn => Bound::new(py, CopyIn)?.into_any(),
        Event::CopyData(bytes) => PyBytes::new(py, &bytes).into_any(),
        Event::Complete(completion) => {
            Bound::new(py, Completion::of(py, completion, codecs)?)?.into_any()
        }
        Event::Failed(error) => return Err(errors::of_session(py, error)),
    })
}

/// The number of rows in an event, or affected by a command.
pub(super) fn rows_of(py: Python<'_>, event: &Event<RowSink>) -> Option<u64> {
    match event {
        Event::Batch(made) => u64::try_from(made.batch.num_rows()).ok(),
        Event::Complete(completion) => match &completion.sink {
            Some(RowSink::Records(sink)) => u64::try_from(sink.len(py)).ok(),
            Some(RowSink::Held(sink)) => Some(sink.len()),
            Some(RowSink::Columns(gathering)) => gathering.whole_rows(),
            _ => completion.tag.as_ref()?.rsplit(' ').next()?.parse().ok(),
        },
        _ => None,
    }
}

/// The outcome of a successful exchange.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Completion {
    /// The command tag, such as `SELECT 5`, or None.
    #[pyo3(get)]
    tag: Option<String>,
    /// The prepared statement, or the statement with refined columns, or None.
    #[pyo3(get)]
    statement: Option<Py<Statement>>,
    /// The records of a query in rows, or None.
    #[pyo3(get)]
    rows: Option<Py<PyList>>,
    /// The columns of a query that returns them at its end, or None.
    #[pyo3(get)]
    batch: Option<Py<Batch>>,
    /// The rows of a query kept as they came, or None.
    #[pyo3(get)]
    held: Option<Py<HeldRows>>,
    /// Whether the portal is suspended: it may have more rows.
    #[pyo3(get)]
    has_more: bool,
    columns: Option<Arc<[ResultColumn]>>,
}

impl Completion {
    fn of(
        py: Python<'_>,
        core: colonnade_session::Completion<RowSink>,
        codecs: Arc<Codecs>,
    ) -> PyResult<Self> {
        let statement = core.statement.map(|statement| Py::new(py, Statement::new(statement)));
        let mut made = Self {
            tag: core.tag,
            statement: statement.transpose()?,
            rows: None,
            batch: None,
            held: None,
            has_more: core.has_more,
            columns: None,
        };
        match core.sink {
            Some(RowSink::Records(sink)) => {
                made.columns = Some(Arc::clone(sink.columns()));
                made.rows = Some(sink.into_records());
            }
            Some(RowSink::Held(sink)) => {
                made.columns = Some(Arc::clone(sink.columns()));
                made.held = Some(Py::new(py, HeldRows::of(sink))?);
            }
            Some(RowSink::Columns(gathering)) => {
                let whole = gathering.into_whole();
                let batch = whole.map(|made| Batch::new(made.batch, made.columns, codecs));
                made.batch = batch.map(|batch| Py::new(py, batch)).transpose()?;
            }
            Some(RowSink::Nowhere) | None => {}
        }
        Ok(made)
    }
}

#[pymethods]
impl Completion {
    /// The name, type and type modifier of each column of a query for rows; otherwise none.
    #[getter]
    fn columns(&self) -> Vec<(String, PgType, i32)> {
        self.columns.as_deref().map_or_else(Vec::new, described)
    }
}

/// The server waits for a GSSAPI token; carries its own, which is empty at the beginning.
#[pyclass(frozen, get_all, module = "colonnade._core")]
pub(crate) struct GssToken {
    token: Py<PyBytes>,
}

/// The server waits for COPY data.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct CopyIn;

/// A notice from the server: its fields by their one-letter codes.
#[pyclass(frozen, get_all, module = "colonnade._core")]
pub(crate) struct Notice {
    fields: Py<PyDict>,
}

/// A notification on a channel.
#[pyclass(frozen, get_all, module = "colonnade._core")]
pub(crate) struct Notification {
    process_id: i32,
    channel: String,
    payload: String,
}
