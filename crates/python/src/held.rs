//! Rows kept as they came until the caller claims them as rows or as columns.

use std::sync::{Arc, Mutex, MutexGuard};

use colonnade_columnar::ResultColumn;
use colonnade_protocol::{DataRows, Format};
use colonnade_session::{ReceivedRows, SinkError, can_be_another, check_formats};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::batch::Batch;
use crate::errors;
use crate::rows::{RecordSink, RowMaker};
use crate::session::column_sink;

/// Collects rows as they come.
pub(crate) struct HeldSink {
    maker: RowMaker,
    rows: ReceivedRows,
    /// Also makes the rows at once.
    made: Option<RecordSink>,
}

impl HeldSink {
    /// Making rows as they come overlaps with the server's work. It is also done if a value can
    /// reveal that its type has changed: a lookup is possible only before the query ends.
    pub(crate) fn new(py: Python<'_>, maker: RowMaker, makes_rows: bool) -> Self {
        let is_unsure = maker.columns.iter().any(|column| can_be_another(&column.pg_type));
        let made = (makes_rows || is_unsure).then(|| RecordSink::new(py, maker.clone_ref(py)));
        Self { maker, rows: ReceivedRows::default(), made }
    }

    pub(crate) fn formats(&self) -> Vec<Format> {
        self.maker.plan.formats()
    }

    /// The columns of the result.
    pub(crate) fn columns(&self) -> &Arc<[ResultColumn]> {
        &self.maker.columns
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> u64 {
        self.rows.row_count()
    }

    pub(crate) fn renewed(&self, columns: &Arc<[ResultColumn]>) -> Result<Self, SinkError> {
        Python::attach(|py| {
            let maker = self.maker.renewed(py, columns)?;
            Ok(Self::new(py, maker, self.made.is_some()))
        })
    }

    pub(crate) fn rows(&mut self, rows: DataRows<'_>) -> Result<(), SinkError> {
        self.rows.push(&rows);
        match self.made.as_mut().map_or(Ok(()), |sink| sink.rows(rows)) {
            // The caller may claim columns, whose options rule over such a value.
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

struct Held {
    maker: RowMaker,
    rows: ReceivedRows,
    /// The rows, if they were made at once.
    made: Option<Py<PyList>>,
}

impl Held {
    fn make_rows<'py>(&mut self, py: Python<'py>, limit: u64) -> PyResult<Bound<'py, PyList>> {
        let mut sink = RecordSink::new(py, self.maker.clone_ref(py)).behind(self.rows.taken());
        let taken = self.rows.take(limit, |run| sink.rows(run));
        taken.map_err(|error| errors::of_session(py, error))?;
        Ok(sink.into_records().into_bound(py))
    }

    fn made_rows<'py>(&mut self, made: &Bound<'py, PyList>, limit: u64) -> Bound<'py, PyList> {
        let taken = self.rows.count_taken(limit);
        if taken.start == 0 && taken.end == self.rows.row_count() {
            return made.clone();
        }
        made.get_slice(taken.start as usize, taken.end as usize)
    }
}

/// The rows of a query as they came: they become rows or columns on request.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct HeldRows(Mutex<Held>);

impl HeldRows {
    pub(crate) fn of(sink: HeldSink) -> Self {
        let HeldSink { maker, rows, made } = sink;
        let made = made.map(RecordSink::into_records);
        Self(Mutex::new(Held { maker, rows, made }))
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Held>> {
        self.0.try_lock().map_err(|_| errors::interface(py, "another thread is reading the rows"))
    }

    /// As `lock`, for taking rows.
    fn lock_rows(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Held>> {
        let held = self.lock(py)?;
        if held.rows.is_lost() {
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
        Ok(self.lock(py)?.rows.row_count())
    }

    /// The number of remaining rows.
    #[getter]
    fn rows_left(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.rows.left())
    }

    /// The next rows: up to a number, or all that remain.
    #[pyo3(signature = (limit = None))]
    fn take_rows<'py>(&self, py: Python<'py>, limit: Option<u64>) -> PyResult<Bound<'py, PyList>> {
        let mut held = self.lock_rows(py)?;
        let limit = limit.unwrap_or(u64::MAX).min(held.rows.left());
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
        let columns = Arc::clone(&held.maker.columns);
        let mut sink = column_sink(py, &columns, schema.as_ref(), infinity, None)?;
        let asked = held.maker.plan.formats();
        check_formats(&columns, &asked, &sink.formats())
            .map_err(|error| errors::of_session(py, error))?;
        if held.made.take().is_some() {
            held.rows.catch_up();
        }
        let rows = &mut held.rows;
        let batch = py.detach(|| rows.take_columns(&mut sink));
        let batch = batch.map_err(|error| errors::of_session(py, error))?;
        Ok(Batch::new(batch, columns, Arc::clone(&held.maker.codecs)))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.lock(py)?.rows.left()).unwrap_or(usize::MAX))
    }

    fn __repr__(&self) -> String {
        match self.0.try_lock() {
            Ok(held) => format!("<HeldRows {} of {}>", held.rows.left(), held.rows.row_count()),
            Err(_) => "<HeldRows busy>".to_owned(),
        }
    }
}
