//! Batches that Python fetches while another library reads them.

use std::collections::VecDeque;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use colonnade_columnar::StringLayout;
use pyo3::prelude::*;

use super::Batch;

/// Batches of one schema, fetched from Python on request.
pub(super) struct Reader {
    /// `None` after the last batch and after an error.
    next_batch: Option<Py<PyAny>>,
    /// The chunks of the last batch that are still to be read.
    chunks: VecDeque<RecordBatch>,
    schema: SchemaRef,
    layout: StringLayout,
    wanted: Option<Schema>,
}

impl Reader {
    pub(super) fn new(
        next_batch: Py<PyAny>,
        schema: SchemaRef,
        layout: StringLayout,
        wanted: Option<Schema>,
    ) -> Self {
        Self { next_batch: Some(next_batch), chunks: VecDeque::new(), schema, layout, wanted }
    }

    /// The chunks of the next batch, at least one; None after the last batch.
    fn fetched(
        &self,
        py: Python<'_>,
        next_batch: &Py<PyAny>,
    ) -> Result<Option<VecDeque<RecordBatch>>, ArrowError> {
        let batch = next_batch.call0(py).map_err(|error| of_python(py, &error))?;
        if batch.is_none(py) {
            return Ok(None);
        }
        let batch = batch.bind(py).cast::<Batch>().map_err(|error| failure(&error.to_string()))?;
        let chunks = batch.get().table.exported(self.layout, self.wanted.as_ref())?;
        if chunks.iter().all(|chunk| *chunk.schema_ref() == self.schema) {
            return Ok(Some(chunks.into()));
        }
        Err(failure("a batch has other columns or types than the first one"))
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(chunk) = self.chunks.pop_front() {
            return Some(Ok(chunk));
        }
        let next_batch = self.next_batch.take()?;
        let fetched = Python::try_attach(|py| {
            let fetched = self.fetched(py, &next_batch);
            if let Ok(Some(_)) = fetched {
                self.next_batch = Some(next_batch);
            }
            fetched
        });
        match fetched {
            Some(Ok(chunks)) => {
                self.chunks = chunks?;
                self.chunks.pop_front().map(Ok)
            }
            Some(Err(error)) => Some(Err(error)),
            None => Some(Err(failure("the interpreter is shutting down"))),
        }
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

/// Only the exception's class and text reach the consumer.
fn of_python(py: Python<'_>, error: &PyErr) -> ArrowError {
    let name =
        error.get_type(py).name().map_or_else(|_| "error".to_owned(), |name| name.to_string());
    failure(&format!("{name}: {}", error.value(py)))
}

/// Without NUL: the text becomes a C string.
fn failure(text: &str) -> ArrowError {
    ArrowError::ExternalError(text.replace('\0', "\\0").into())
}
