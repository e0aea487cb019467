//! Rows decoded like columns: spans of a run become records, column by column, a block of rows at a
//! time.

mod plan;

use std::sync::Arc;

use colonnade_columnar::{DecodeError, ResultColumn};
use colonnade_protocol::{DataRows, Format, Spans};
use colonnade_session::SinkError;
use pyo3::prelude::*;
use pyo3::types::PyList;

pub(crate) use self::plan::{RowMaker, RowPlan};
use crate::errors;
use crate::record::RecordBlock;
use crate::values::{Cells, ValueError};

/// Rows decoded at a time: their spans and records stay in the processor's cache.
const BLOCK_ROWS: usize = 64;

/// Less than a tenth of the receive buffer: 600 short rows become records in a third of a
/// millisecond, a wait that is common on an event loop anyway. It costs 4 % more time than reads of
/// 64 KiB.
const READ_BYTES_MIN: usize = 24 * 1024;

/// The most that a read may bring, because the rows that it brings may be shorter than the last
/// ones.
const READ_BYTES_MAX: usize = 128 * 1024;

/// The rows and values of a read of short rows.
const READ_OBJECTS: usize = 2_500;

/// Collects rows as a list of records.
pub(crate) struct RecordSink {
    maker: RowMaker,
    spans: Spans,
    /// The number of rows decoded so far; numbers the row in an error.
    row_count: u64,
    /// The desired size of the next read.
    read_bytes: usize,
    records: Py<PyList>,
}

impl RecordSink {
    pub(crate) fn new(py: Python<'_>, maker: RowMaker) -> Self {
        let records = PyList::empty(py).unbind();
        Self { maker, spans: Spans::new(), row_count: 0, read_bytes: READ_BYTES_MIN, records }
    }

    /// The format to request for each column.
    pub(crate) fn formats(&self) -> Vec<Format> {
        self.maker.plan.formats()
    }

    /// An empty sink with refined columns.
    pub(crate) fn renewed(&self, columns: &Arc<[ResultColumn]>) -> Result<Self, SinkError> {
        Python::attach(|py| Ok(Self::new(py, self.maker.renewed(py, columns)?)))
    }

    /// The columns of the result.
    pub(crate) fn columns(&self) -> &Arc<[ResultColumn]> {
        &self.maker.columns
    }

    /// The same sink for rows that follow `row_count` others.
    pub(crate) fn behind(mut self, row_count: u64) -> Self {
        self.row_count = row_count;
        self
    }

    /// The number of records.
    pub(crate) fn len(&self, py: Python<'_>) -> usize {
        self.records.bind(py).len()
    }

    /// The desired size of the next read: its rows become records in one step.
    pub(crate) fn read_bytes(&self) -> usize {
        self.read_bytes
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
        let RowMaker { columns, plan, codecs, class } = &self.maker;
        let mut block = RecordBlock::new(py, class, &plan.names);
        let first_row = self.row_count;
        loop {
            let scanned = rows.scan(columns.len(), BLOCK_ROWS, &mut spans);
            let count = scanned.map_err(SinkError::Protocol)?;
            if count == 0 {
                break;
            }
            block.begin(count).map_err(foreign)?;
            for (index, column) in plan.columns.iter().enumerate() {
                let cells = Cells { bytes, spans: spans.column(index), pg_type: &column.pg_type };
                let filled = column.maker.fill(py, codecs, &cells, &mut block);
                filled.map_err(|(row, error)| self.refuse(py, index, row, error))?;
            }
            block.finish_into(self.records.bind(py)).map_err(foreign)?;
            self.row_count += count as u64;
        }
        self.spans = spans;
        if self.maker.plan.is_even {
            let rows = (self.row_count - first_row) as usize;
            self.read_bytes = read_bytes(bytes.len(), rows * (1 + self.maker.columns.len()));
        }
        Ok(())
    }

    fn refuse(&self, py: Python<'_>, column: usize, row: usize, error: ValueError) -> SinkError {
        let described = self.maker.columns.get(column);
        let name = described.map_or("", |column| &*column.name);
        let type_name = described.map_or("", |column| column.pg_type.name.as_str());
        let row = self.row_count + row as u64;
        match error {
            ValueError::Python(error) => foreign(error),
            ValueError::OutOfRange(reason) => {
                foreign(errors::decode(py, name, type_name, row, &reason))
            }
            ValueError::Decode(reason) => SinkError::Decode(DecodeError {
                column: name.to_owned(),
                type_name: type_name.to_owned(),
                row,
                reason,
            }),
        }
    }
}

/// The size of a read of as much work as one of short rows, after one that brought `objects` rows
/// and values in `bytes`.
fn read_bytes(bytes: usize, objects: usize) -> usize {
    let bytes = bytes.saturating_mul(READ_OBJECTS) / objects.max(1);
    bytes.clamp(READ_BYTES_MIN, READ_BYTES_MAX)
}

fn foreign(error: PyErr) -> SinkError {
    SinkError::Foreign(Box::new(error))
}
