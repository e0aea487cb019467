//! Portals: statements that return their rows in pieces.

use std::sync::Arc;

use colonnade_protocol::frontend::EncodedParams;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::Session;
use super::query::column_sink;
use crate::parameters;
use crate::parameters::Taken;
use crate::session::sink::RowSink;
use crate::session::statement::{Portal, Statement};

impl Session {
    fn encoded(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
    ) -> PyResult<EncodedParams> {
        let codecs = Arc::clone(&self.lock(py)?.codecs);
        parameters::encode(py, &Taken::by(&statement.statement), &codecs, arguments)
    }

    fn open(
        &self,
        py: Python<'_>,
        statement: &Statement,
        encoded: &EncodedParams,
        row_limit: i32,
        sink: RowSink,
    ) -> PyResult<Portal> {
        let statement = Arc::clone(&statement.statement);
        self.run(py, |core| core.open(statement, encoded, row_limit, sink)).map(Portal)
    }

    fn more(&self, py: Python<'_>, portal: &Portal, row_limit: i32, sink: RowSink) -> PyResult<()> {
        self.run(py, |core| core.more_rows(Arc::clone(&portal.0), row_limit, sink))
    }
}

#[pymethods]
impl Session {
    /// Begins to bind a statement to its arguments; the portal exists once the exchange has ended
    /// well. Its rows come in the formats for columns of this schema, or without a schema in those
    /// for rows.
    #[pyo3(signature = (statement, arguments, schema = None))]
    fn bind(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
        schema: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Portal> {
        let encoded = self.encoded(py, statement, arguments)?;
        let statement = Arc::clone(&statement.statement);
        let sink = |schema| {
            let columns = &statement.columns;
            column_sink(py, columns, Some(&schema), intern!(py, "raise").as_any(), None)
        };
        let formats = schema.map(sink).transpose()?.map(|sink| sink.formats());
        self.run(py, |core| core.bind(statement, &encoded, formats)).map(Portal)
    }

    /// As `bind`, and fetches the first rows; the Completion holds them as `record_class`.
    #[pyo3(signature = (statement, arguments, row_limit, record_class = None))]
    fn open_rows(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
        row_limit: i32,
        record_class: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Portal> {
        let encoded = self.encoded(py, statement, arguments)?;
        let sink = self.record_sink(py, &statement.statement, record_class)?;
        self.open(py, statement, &encoded, row_limit, sink)
    }

    /// As `open_rows`, with the first rows as one Batch.
    fn open_batches(
        &self,
        py: Python<'_>,
        statement: &Statement,
        arguments: &Bound<'_, PyTuple>,
        row_limit: i32,
        schema: Option<Bound<'_, PyDict>>,
        infinity: &Bound<'_, PyAny>,
    ) -> PyResult<Portal> {
        let encoded = self.encoded(py, statement, arguments)?;
        let sink = RowSink::columns(py, &statement.statement, schema.as_ref(), infinity)?;
        self.open(py, statement, &encoded, row_limit, sink)
    }

    /// Begins to fetch a portal's next rows; the Completion holds them.
    #[pyo3(signature = (portal, row_limit, record_class = None))]
    fn more_rows(
        &self,
        py: Python<'_>,
        portal: &Portal,
        row_limit: i32,
        record_class: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let sink = self.record_sink(py, &portal.0.statement, record_class)?;
        self.more(py, portal, row_limit, sink)
    }

    /// Begins to fetch a portal's next rows, as one Batch.
    fn more_batches(
        &self,
        py: Python<'_>,
        portal: &Portal,
        row_limit: i32,
        schema: Option<Bound<'_, PyDict>>,
        infinity: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let sink = RowSink::columns(py, &portal.0.statement, schema.as_ref(), infinity)?;
        self.more(py, portal, row_limit, sink)
    }
}
