//! Rows by the same road as columns: spans of a run become records.

use std::sync::Arc;

use colonnade_columnar::{DecodeError, Reason, Value, row_value, type_name};
use colonnade_protocol::backend::Field;
use colonnade_protocol::{DataRows, Span, Spans};
use colonnade_session::SinkError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors;
use crate::record::{Record, RecordNames};
use crate::values::{self, ValueError};

/// Rows scanned at a time: their spans stay in the processor's cache.
const BLOCK_ROWS: usize = 128;

type RowValue = fn(&[u8]) -> Result<Value<'_>, Reason>;

/// Gathers rows as a list of records.
pub(crate) struct RecordSink {
    names: Arc<RecordNames>,
    fields: Arc<[Field]>,
    decoders: Vec<RowValue>,
    spans: Spans,
    /// Rows made so far; numbers the row in an error.
    row_count: u64,
    records: Py<PyList>,
}

impl RecordSink {
    pub(crate) fn new(py: Python<'_>, fields: Arc<[Field]>) -> Self {
        Self {
            names: Arc::new(RecordNames::new(py, &fields)),
            decoders: fields.iter().map(|field| row_value(field.type_oid)).collect(),
            fields,
            spans: Spans::new(),
            row_count: 0,
            records: PyList::empty(py).unbind(),
        }
    }

    pub(crate) fn into_records(self) -> Py<PyList> {
        self.records
    }

    pub(crate) fn rows(&mut self, rows: DataRows<'_>) -> Result<(), SinkError> {
        Python::attach(|py| self.append(py, rows))
    }

    fn append(&mut self, py: Python<'_>, mut rows: DataRows<'_>) -> Result<(), SinkError> {
        let bytes = rows.bytes();
        let mut spans = std::mem::take(&mut self.spans);
        loop {
            let count = rows
                .scan(self.decoders.len(), BLOCK_ROWS, &mut spans)
                .map_err(SinkError::Protocol)?;
            if count == 0 {
                break;
            }
            let columns: Vec<&[Span]> =
                (0..self.decoders.len()).map(|index| spans.column(index)).collect();
            for row in 0..count {
                self.append_row(py, bytes, &columns, row)?;
            }
        }
        self.spans = spans;
        Ok(())
    }

    fn append_row(
        &mut self,
        py: Python<'_>,
        bytes: &[u8],
        columns: &[&[Span]],
        row: usize,
    ) -> Result<(), SinkError> {
        let mut row_values = Vec::with_capacity(columns.len());
        for (index, (spans, decode)) in columns.iter().zip(&self.decoders).enumerate() {
            let value = match spans.get(row).and_then(|span| span.slice(bytes)) {
                None => py.None(),
                Some(field) => decode(field)
                    .map_err(ValueError::Decode)
                    .and_then(|value| values::to_python(py, value))
                    .map_err(|error| self.refuse(py, index, error))?,
            };
            row_values.push(value);
        }
        Record::make(py, Arc::clone(&self.names), row_values)
            .and_then(|record| self.records.bind(py).append(record))
            .map_err(|error| SinkError::Foreign(Box::new(error)))?;
        self.row_count += 1;
        Ok(())
    }

    fn refuse(&self, py: Python<'_>, column: usize, error: ValueError) -> SinkError {
        match error {
            ValueError::Python(error) => SinkError::Foreign(Box::new(error)),
            ValueError::OutOfRange(reason) => {
                let field = self.fields.get(column);
                let name = field.map_or("", |f| f.name.as_str());
                let type_name = field.map(|f| type_name(f.type_oid)).unwrap_or_default();
                let error = errors::decode(py, name, &type_name, self.row_count, &reason);
                SinkError::Foreign(Box::new(error))
            }
            ValueError::Decode(reason) => {
                let field = self.fields.get(column);
                SinkError::Decode(DecodeError {
                    column: field.map(|f| f.name.clone()).unwrap_or_default(),
                    type_name: field
                        .map(|f| type_name(f.type_oid).into_owned())
                        .unwrap_or_default(),
                    row: self.row_count,
                    reason,
                })
            }
        }
    }
}
