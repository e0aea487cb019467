//! Where the rows of a query go.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use colonnade_columnar::{
    AppendError, BatchBuilder, DecodeError, DecodeOptions, ResultColumn, SchemaError,
};
use colonnade_protocol::{DataRows, Error as ProtocolError, Format};

use crate::RECEIVE_CAPACITY_BYTES;

/// Takes the rows of one query as runs, straight from the receive buffer.
///
/// A run is borrowed for the call only. A sink keeps its rows until it is handed back with the
/// exchange's completion; a streaming sink pushes finished batches as it goes.
pub trait Sink: Send + Sized + 'static {
    /// The batch that a streaming sink delivers while the query still runs.
    type Batch: Send + fmt::Debug;

    /// The requested format of each column; `None` for the format of the column's type.
    fn formats(&self) -> Option<Vec<Format>> {
        None
    }

    /// Whether the sink delivers nothing before every row has come, so that [`Sink::renewed`] can
    /// replace it.
    fn is_whole(&self) -> bool {
        false
    }

    /// The desired size of one read of the socket: its rows are decoded in one step, during which
    /// nothing else runs on an event loop.
    fn read_bytes(&self) -> usize {
        RECEIVE_CAPACITY_BYTES
    }

    /// An empty sink for the same rows, with refined columns.
    ///
    /// # Errors
    /// A request that these columns cannot fulfil.
    fn renewed(&self, columns: &Arc<[ResultColumn]>) -> Result<Self, SinkError>;

    /// Takes a run of rows.
    ///
    /// # Errors
    /// The first error ends the query: later rows are read and discarded.
    fn rows(
        &mut self,
        rows: DataRows<'_>,
        batches: &mut VecDeque<Self::Batch>,
    ) -> Result<(), SinkError>;

    /// Called when the server has sent every row.
    ///
    /// # Errors
    /// As for [`Sink::rows`].
    fn finish(&mut self, batches: &mut VecDeque<Self::Batch>) -> Result<(), SinkError>;
}

/// Why a sink refused a run of rows.
#[derive(Debug)]
pub enum SinkError {
    /// The bytes are not rows: the session cannot go on.
    Protocol(ProtocolError),
    /// A value has no representation in its column.
    Decode(DecodeError),
    /// A reason of the sink's own.
    Foreign(Box<dyn std::error::Error + Send + Sync>),
}

impl From<AppendError> for SinkError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Protocol(error) => Self::Protocol(error),
            AppendError::Decode(error) => Self::Decode(error),
        }
    }
}

impl From<DecodeError> for SinkError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

/// Collects rows in columns: one batch for all, or a batch for every `batch_rows` rows.
pub struct ColumnSink {
    builder: BatchBuilder,
    options: DecodeOptions,
    batch_rows: usize,
    batches_made: u64,
}

impl ColumnSink {
    /// A sink whose one batch holds the whole result.
    ///
    /// # Errors
    /// Options that do not fit the columns.
    pub fn whole(columns: &[ResultColumn], options: DecodeOptions) -> Result<Self, SchemaError> {
        Self::batched(columns, options, usize::MAX)
    }

    /// A sink that delivers a batch after every `batch_rows` rows.
    ///
    /// # Errors
    /// Options that do not fit the columns.
    pub fn batched(
        columns: &[ResultColumn],
        options: DecodeOptions,
        batch_rows: usize,
    ) -> Result<Self, SchemaError> {
        let options = DecodeOptions { is_stream: batch_rows != usize::MAX, ..options };
        let builder = BatchBuilder::new(columns, &options)?;
        Ok(Self { builder, options, batch_rows: batch_rows.max(1), batches_made: 0 })
    }

    /// As [`Sink::is_whole`].
    pub fn is_whole(&self) -> bool {
        self.batch_rows == usize::MAX
    }

    /// As [`Sink::renewed`].
    ///
    /// # Errors
    /// Options that do not fit the columns.
    pub fn renewed(&self, columns: &[ResultColumn]) -> Result<Self, SchemaError> {
        Self::batched(columns, self.options.clone(), self.batch_rows)
    }

    /// As [`Sink::formats`].
    pub fn formats(&self) -> Vec<Format> {
        self.builder.formats()
    }

    /// Takes a run of rows, as [`Sink::rows`] does.
    ///
    /// # Errors
    /// Rows that break the protocol, or a value without a representation in its column.
    pub fn rows(
        &mut self,
        mut rows: DataRows<'_>,
        batches: &mut VecDeque<RecordBatch>,
    ) -> Result<(), SinkError> {
        while !rows.is_empty() {
            self.builder.append(&mut rows, self.batch_rows)?;
            if self.builder.rows() >= self.batch_rows {
                self.push_batch(batches)?;
            }
        }
        Ok(())
    }

    /// Delivers the remaining rows. A result without rows gives one empty batch, because its
    /// columns have names and types too.
    ///
    /// # Errors
    /// As for [`ColumnSink::rows`].
    pub fn finish(&mut self, batches: &mut VecDeque<RecordBatch>) -> Result<(), SinkError> {
        if self.builder.rows() > 0 || self.batches_made == 0 {
            self.push_batch(batches)?;
        }
        Ok(())
    }

    /// The whole result: all rows since the last batch, or none.
    ///
    /// # Errors
    /// As for [`ColumnSink::rows`].
    pub fn finish_whole(&mut self) -> Result<RecordBatch, SinkError> {
        Ok(self.builder.finish()?)
    }

    fn push_batch(&mut self, batches: &mut VecDeque<RecordBatch>) -> Result<(), SinkError> {
        batches.push_back(self.builder.finish()?);
        self.batches_made += 1;
        Ok(())
    }
}

impl fmt::Debug for ColumnSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ColumnSink {{ rows: {}, batch_rows: {} }}", self.builder.rows(), self.batch_rows)
    }
}
