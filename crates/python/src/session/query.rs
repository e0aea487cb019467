//! Statements: preparing them, and running them for rows, for columns, or for their effect.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use colonnade_columnar::ResultColumn;
use colonnade_session::{ColumnSink, Conversions, Gathering};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::Session;
use crate::held::HeldSink;
use crate::parameters::Taken;
use crate::record::RowClass;
use crate::rows::{RecordSink, RowMaker, RowPlan};
use crate::session::sink::RowSink;
use crate::session::statement::Statement;
use crate::{errors, parameters};

impl Session {
    fn row_maker(
        &self,
        py: Python<'_>,
        statement: &colonnade_session::Statement,
        record_class: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RowMaker> {
        let class = RowClass::of(py, record_class)?;
        let columns = Arc::clone(&statement.columns);
        let mut inner = self.lock(py)?;
        let plan = inner.row_plans.find(&columns, |columns| RowPlan::new(py, columns))?;
        Ok(RowMaker { columns, plan, codecs: Arc::clone(&inner.codecs), class })
    }

    /// A sink for records of a class; None stands for Record.
    pub(super) fn record_sink(
        &self,
        py: Python<'_>,
        statement: &colonnade_session::Statement,
        record_class: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RowSink> {
        let maker = self.row_maker(py, statement, record_class)?;
        Ok(RowSink::Records(RecordSink::new(py, maker)))
    }

    fn query(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
        row_limit: i32,
        sink: RowSink,
    ) -> PyResult<bool> {
        let start = Instant::now();
        let codecs = {
            let mut inner = self.lock(py)?;
            if statement.statement.is_owned() && !statement.is_confirmed {
                let now = start.duration_since(inner.since);
                if inner.core.is_outdated(&statement.statement, now) {
                    return Ok(false);
                }
            }
            Arc::clone(&inner.codecs)
        };
        let taken = Taken::by(&statement.statement);
        let encoded = parameters::encode(py, &taken, &codecs, arguments)?;
        let mut inner = self.lock(py)?;
        inner.runs(start, true);
        inner
            .core
            .query(Arc::clone(&statement.statement), &encoded, row_limit, sink)
            .map(|()| true)
            .map_err(|error| errors::of_session(py, error))
    }
}

#[pymethods]
impl Session {
    /// The statement kept for a text and these declared types, or None.
    #[pyo3(signature = (query, declared = None))]
    fn cached_statement(
        &self,
        py: Python<'_>,
        query: &str,
        declared: Option<Vec<u32>>,
    ) -> PyResult<Option<Statement>> {
        let mut inner = self.lock(py)?;
        let now = inner.since.elapsed();
        Ok(inner
            .core
            .cached_statement(query, &declared.unwrap_or_default(), now)
            .map(Statement::new))
    }

    /// The number of prepared statements kept.
    #[getter]
    fn cached_statements(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.core.cached_statements())
    }

    /// Has the server end each query from now on after this time, unless its session has a shorter
    /// `statement_timeout`; None and 0 end this. The limit travels with the query.
    fn limit_queries(&self, py: Python<'_>, milliseconds: Option<u32>) -> PyResult<()> {
        self.tell(py, |core| core.limit_queries(milliseconds.and_then(NonZeroU32::new)))
    }

    /// Begins to prepare a text; the Completion holds the Statement. `declared` has OIDs of its
    /// parameters' types; the server infers those that are 0 or missing.
    #[pyo3(signature = (query, declared = None))]
    fn prepare(&self, py: Python<'_>, query: &str, declared: Option<Vec<u32>>) -> PyResult<()> {
        self.begin_preparing(py, |core| core.prepare(query, &declared.unwrap_or_default()))
    }

    /// The statement that `prepare_plain` has kept for a text, or None.
    fn cached_plain(
        &self,
        py: Python<'_>,
        query: &str,
        owners: u16,
    ) -> PyResult<Option<Statement>> {
        let mut inner = self.lock(py)?;
        let now = inner.since.elapsed();
        Ok(inner.core.cached_plain(query, owners, now).map(Statement::new))
    }

    /// As `prepare`, for one of the driver's own queries: it ignores users' codecs, but for the
    /// first `owners` columns.
    fn prepare_plain(&self, py: Python<'_>, query: &str, owners: u16) -> PyResult<()> {
        self.begin_preparing(py, |core| core.prepare_plain(query, owners))
    }

    /// Begins to prepare a statement that the caller owns and that the server closes after its last
    /// user drops it; the Completion holds the Statement. If `name` is None, a name is made for it.
    #[pyo3(signature = (query, name, declared = None))]
    fn prepare_owned(
        &self,
        py: Python<'_>,
        query: &str,
        name: Option<&str>,
        declared: Option<Vec<u32>>,
    ) -> PyResult<()> {
        self.begin(py, |core| core.prepare_owned(query, name, &declared.unwrap_or_default()))
    }

    /// Whether the caller's own statement may mean something else than when it was described.
    fn is_outdated(&self, py: Python<'_>, statement: &Statement) -> PyResult<bool> {
        let mut inner = self.lock(py)?;
        let now = inner.since.elapsed();
        Ok(inner.core.is_outdated(&statement.statement, now))
    }

    /// Begins to describe the caller's own statement anew; the Completion holds the Statement to
    /// run from now on. InvalidCachedStatementError if its result has other columns.
    fn describe_again(&self, py: Python<'_>, statement: &Statement) -> PyResult<()> {
        self.begin(py, |core| core.describe_again(&statement.statement))
    }

    /// Begins to prepare a text that is not kept; the Completion holds the Statement. If it is
    /// `plain`, users' codecs are ignored.
    fn describe(&self, py: Python<'_>, query: &str, plain: bool) -> PyResult<()> {
        let conversions =
            if plain { Conversions::Plain { owners: 0 } } else { Conversions::Owners };
        self.begin(py, |core| core.describe(query, conversions))
    }

    /// Begins a query whose Completion holds its rows; `row_limit` 0 fetches all. The rows are of
    /// `record_class`, a subclass of Record; InterfaceError refuses one that makes its instances in
    /// another way. None stands for Record. False if the caller's own statement is
    /// outdated (`is_outdated`).
    #[pyo3(signature = (statement, arguments, row_limit, record_class = None))]
    fn fetch_rows(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
        row_limit: i32,
        record_class: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let sink = self.record_sink(py, &statement.statement, record_class)?;
        self.query(py, statement, arguments, row_limit, sink)
    }

    /// As `fetch_rows`, with the statement kept for a text and these declared types; False if there
    /// is none.
    #[pyo3(signature = (query, arguments, row_limit, record_class = None, declared = None))]
    fn fetch_kept(
        &self,
        py: Python<'_>,
        query: &str,
        arguments: &Bound<'_, PyTuple>,
        row_limit: i32,
        record_class: Option<&Bound<'_, PyAny>>,
        declared: Option<Vec<u32>>,
    ) -> PyResult<bool> {
        parameters::check_count(py, arguments.len())?;
        let Some(statement) = self.cached_statement(py, query, declared)? else { return Ok(false) };
        self.fetch_rows(py, &statement, arguments, row_limit, record_class)
    }

    /// Begins a query whose Completion holds its rows as they came, to be decoded later. They
    /// become rows of `record_class`: as they come if `makes_rows`, otherwise on request.
    #[pyo3(signature = (statement, arguments, record_class, makes_rows))]
    fn hold_rows(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
        record_class: Option<&Bound<'_, PyAny>>,
        makes_rows: bool,
    ) -> PyResult<bool> {
        let maker = self.row_maker(py, &statement.statement, record_class)?;
        let sink = HeldSink::new(py, maker, makes_rows);
        self.query(py, statement, arguments, 0, RowSink::Held(sink))
    }

    /// As `hold_rows`, with the statement kept for a text and these declared types; False if there
    /// is none.
    #[pyo3(signature = (query, arguments, record_class, makes_rows, declared = None))]
    fn hold_kept(
        &self,
        py: Python<'_>,
        query: &str,
        arguments: &Bound<'_, PyTuple>,
        record_class: Option<&Bound<'_, PyAny>>,
        makes_rows: bool,
        declared: Option<Vec<u32>>,
    ) -> PyResult<bool> {
        parameters::check_count(py, arguments.len())?;
        let Some(statement) = self.cached_statement(py, query, declared)? else { return Ok(false) };
        self.hold_rows(py, &statement, arguments, record_class, makes_rows)
    }

    /// Begins a query whose Completion holds its columns, as one Batch; `row_limit` 0 fetches all
    /// rows. The schema's keys are names or positions of columns. False as for `fetch_rows`.
    #[pyo3(signature = (statement, arguments, schema, infinity, row_limit = 0))]
    fn fetch_columns(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
        schema: Option<&Bound<'_, PyDict>>,
        infinity: &Bound<'_, PyAny>,
        row_limit: i32,
    ) -> PyResult<bool> {
        let sink = RowSink::columns(py, &statement.statement, schema, infinity)?;
        self.query(py, statement, arguments, row_limit, sink)
    }

    /// As `fetch_columns`, of all rows, with the statement kept for a text and these declared
    /// types; False if there is none.
    #[pyo3(signature = (query, arguments, schema, infinity, declared = None))]
    fn fetch_columns_kept(
        &self,
        py: Python<'_>,
        query: &str,
        arguments: &Bound<'_, PyTuple>,
        schema: Option<&Bound<'_, PyDict>>,
        infinity: &Bound<'_, PyAny>,
        declared: Option<Vec<u32>>,
    ) -> PyResult<bool> {
        parameters::check_count(py, arguments.len())?;
        let Some(statement) = self.cached_statement(py, query, declared)? else { return Ok(false) };
        self.fetch_columns(py, &statement, arguments, schema, infinity, 0)
    }

    /// As `fetch_columns`, with a Batch for every `batch_rows` rows, while they come.
    #[pyo3(signature = (statement, arguments, schema, infinity, batch_rows, row_limit = 0))]
    #[expect(clippy::too_many_arguments, reason = "the Python method's arguments")]
    fn stream_columns(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
        schema: Option<&Bound<'_, PyDict>>,
        infinity: &Bound<'_, PyAny>,
        batch_rows: usize,
        row_limit: i32,
    ) -> PyResult<()> {
        let columns = &statement.statement.columns;
        let sink = column_sink(py, columns, schema, infinity, Some(batch_rows))?;
        let sink = RowSink::Columns(Box::new(Gathering::of(sink, columns)));
        self.query(py, statement, arguments, row_limit, sink).map(drop)
    }

    /// Begins a query for its command tag only; False as for `fetch_rows`.
    fn execute(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
    ) -> PyResult<bool> {
        self.query(py, statement, arguments, 0, RowSink::Nowhere)
    }

    /// As `execute`, with the statement kept for a text; False if there is none.
    fn execute_kept(
        &self,
        py: Python<'_>,
        query: &str,
        arguments: &Bound<'_, PyTuple>,
    ) -> PyResult<bool> {
        parameters::check_count(py, arguments.len())?;
        let Some(statement) = self.cached_statement(py, query, None)? else { return Ok(false) };
        self.execute(py, &statement, arguments)
    }

    /// Begins a script by the simple protocol; always True.
    fn script(&self, py: Python<'_>, query: &str) -> PyResult<bool> {
        self.begin(py, |core| core.script(query)).map(|()| true)
    }
}

pub(crate) fn column_sink(
    py: Python<'_>,
    columns: &[ResultColumn],
    schema: Option<&Bound<'_, PyDict>>,
    infinity: &Bound<'_, PyAny>,
    batch_rows: Option<usize>,
) -> PyResult<ColumnSink> {
    let options = parameters::decode_options(py, schema, infinity)?;
    let made = match batch_rows {
        Some(batch_rows) => ColumnSink::batched(columns, options, batch_rows),
        None => ColumnSink::whole(columns, options),
    };
    made.map_err(|error| errors::of_schema(py, &error))
}
