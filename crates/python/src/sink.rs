//! The sinks that Python can ask for.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use colonnade_protocol::{DataRows, Format};
use colonnade_session::{ColumnSink, Sink, SinkError};

use crate::rows::RecordSink;

/// Where the rows of a query go.
pub(crate) enum RowSink {
    /// Into columns: one batch, or one after the other.
    Columns(Box<ColumnSink>),
    /// Into a list of records.
    Records(RecordSink),
    /// Nowhere: only the command tag is wanted.
    Nowhere,
}

impl Sink for RowSink {
    type Batch = RecordBatch;

    fn formats(&self) -> Option<Vec<Format>> {
        match self {
            Self::Columns(sink) => Some(sink.formats()),
            Self::Records(_) | Self::Nowhere => None,
        }
    }

    fn rows(
        &mut self,
        rows: DataRows<'_>,
        batches: &mut VecDeque<RecordBatch>,
    ) -> Result<(), SinkError> {
        match self {
            Self::Columns(sink) => sink.rows(rows, batches),
            Self::Records(sink) => sink.rows(rows),
            Self::Nowhere => Ok(()),
        }
    }

    fn finish(&mut self, batches: &mut VecDeque<RecordBatch>) -> Result<(), SinkError> {
        match self {
            Self::Columns(sink) => sink.finish(batches),
            Self::Records(_) | Self::Nowhere => Ok(()),
        }
    }
}
