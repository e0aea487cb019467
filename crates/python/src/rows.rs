//! Rows by the same road as columns: spans of a run become records.

use std::sync::Arc;

use colonnade_columnar::{DecodeError, ResultColumn};
use colonnade_protocol::{DataRows, Span, Spans};
use colonnade_session::SinkError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::codecs::Codecs;
use crate::errors;
use crate::record::{RecordClass, RecordNames, UnfinishedRecord};
use crate::values::{Maker, ValueError};

/// Rows scanned at a time: their spans stay in the processor's cache.
const BLOCK_ROWS: usize = 128;

/// Gathers rows as a list of records.
pub(crate) struct RecordSink {
    class: RecordClass,
    names: Py<RecordNames>,
    columns: Arc<[ResultColumn]>,
    /// What makes the objects of each column.
    makers: Vec<Maker>,
    codecs: Arc<Codecs>,
    spans: Spans,
    /// Rows made so far; numbers the row in an error.
    row_count: u64,
    records: Py<PyList>,
}

impl RecordSink {
    pub(crate) fn new(
        py: Python<'_>,
        columns: Arc<[ResultColumn]>,
        codecs: Arc<Codecs>,
        class: RecordClass,
    ) -> PyResult<Self> {
        let names = columns.iter().map(|column| column.name.as_str());
        let makers = columns.iter().map(|column| Maker::new(py, &column.pg_type));
        let makers = makers.collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            class,
            names: RecordNames::new(py, names, makers.iter().all(Maker::is_atomic))?,
            makers,
            codecs,
            columns,
            spans: Spans::new(),
            row_count: 0,
            records: PyList::empty(py).unbind(),
        })
    }

    /// An empty one, of whose columns more is known.
    pub(crate) fn renewed(&self, columns: &Arc<[ResultColumn]>) -> Result<Self, SinkError> {
        Python::attach(|py| {
            let (columns, codecs) = (Arc::clone(columns), Arc::clone(&self.codecs));
            Self::new(py, columns, codecs, self.class.clone_ref(py))
                .map_err(|error| SinkError::Foreign(Box::new(error)))
        })
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
                .scan(self.columns.len(), BLOCK_ROWS, &mut spans)
                .map_err(SinkError::Protocol)?;
            if count == 0 {
                break;
            }
            let columns: Vec<&[Span]> =
                (0..self.columns.len()).map(|index| spans.column(index)).collect();
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
        let foreign = |error| SinkError::Foreign(Box::new(error));
        let mut record = UnfinishedRecord::new(py, &self.class, &self.names).map_err(foreign)?;
        let described = self.columns.iter().zip(&self.makers);
        for (index, (spans, (column, maker))) in columns.iter().zip(described).enumerate() {
            let value = match spans.get(row).and_then(|span| span.slice(bytes)) {
                None => py.None(),
                Some(raw) => match column.pg_type.value(raw) {
                    Ok(value) => maker.make(py, &self.codecs, value),
                    Err(reason) => Err(ValueError::Decode(reason)),
                }
                .map_err(|error| self.refuse(py, index, error))?,
            };
            record.push(value);
        }
        self.records.bind(py).append(record.finish()).map_err(foreign)?;
        self.row_count += 1;
        Ok(())
    }

    fn refuse(&self, py: Python<'_>, column: usize, error: ValueError) -> SinkError {
        let described = self.columns.get(column);
        let name = described.map_or("", |column| column.name.as_str());
        let type_name = described.map_or("", |column| column.pg_type.name.as_str());
        match error {
            ValueError::Python(error) => SinkError::Foreign(Box::new(error)),
            ValueError::OutOfRange(reason) => {
                let error = errors::decode(py, name, type_name, self.row_count, &reason);
                SinkError::Foreign(Box::new(error))
            }
            ValueError::Decode(reason) => SinkError::Decode(DecodeError {
                column: name.to_owned(),
                type_name: type_name.to_owned(),
                row: self.row_count,
                reason,
            }),
        }
    }
}
