//! The sinks that Python can request.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use colonnade_columnar::ResultColumn;
use colonnade_protocol::{DataRows, Format};
use colonnade_session::{ColumnSink, RECEIVE_CAPACITY_BYTES, Sink, SinkError};

use crate::held::HeldSink;
use crate::rows::RecordSink;

/// Less than a tenth of the receive buffer: 600 short rows become records in a third of a
/// millisecond, a wait that is common on an event loop anyway. It costs 4 % more time than reads of
/// 64 KiB.
const RECORDS_READ_BYTES: usize = 24 * 1024;

/// A batch and its columns.
#[derive(Debug)]
pub(crate) struct ResultBatch {
    pub(crate) batch: RecordBatch,
    pub(crate) columns: Arc<[ResultColumn]>,
}

/// The columns of a query: batches while the rows come, or one batch at the end.
pub(crate) struct Gathering {
    sink: ColumnSink,
    columns: Arc<[ResultColumn]>,
    /// The batch of a whole result, once its last row has come.
    whole: Option<RecordBatch>,
}

impl Gathering {
    fn of(sink: ColumnSink, columns: &Arc<[ResultColumn]>) -> Box<Self> {
        Box::new(Self { sink, columns: Arc::clone(columns), whole: None })
    }

    /// The number of rows in the final batch; None if batches came before the end.
    pub(crate) fn whole_rows(&self) -> Option<u64> {
        u64::try_from(self.whole.as_ref()?.num_rows()).ok()
    }

    /// The final batch.
    pub(crate) fn into_whole(self) -> Option<ResultBatch> {
        let columns = self.columns;
        self.whole.map(|batch| ResultBatch { batch, columns })
    }

    fn rows(
        &mut self,
        rows: DataRows<'_>,
        batches: &mut VecDeque<ResultBatch>,
    ) -> Result<(), SinkError> {
        let mut made = VecDeque::new();
        let outcome = self.sink.rows(rows, &mut made);
        let described = |batch| ResultBatch { batch, columns: Arc::clone(&self.columns) };
        batches.extend(made.into_iter().map(described));
        outcome
    }

    fn finish(&mut self, batches: &mut VecDeque<ResultBatch>) -> Result<(), SinkError> {
        if self.sink.is_whole() {
            self.whole = Some(self.sink.finish_whole()?);
            return Ok(());
        }
        let mut made = VecDeque::new();
        self.sink.finish(&mut made)?;
        let described = |batch| ResultBatch { batch, columns: Arc::clone(&self.columns) };
        batches.extend(made.into_iter().map(described));
        Ok(())
    }
}

/// The destination of a query's rows.
pub(crate) enum RowSink {
    /// Columns.
    Columns(Box<Gathering>),
    /// A list of records.
    Records(RecordSink),
    /// Undecided: the rows are kept as they came.
    Held(HeldSink),
    /// None: only the command tag is wanted.
    Nowhere,
}

impl RowSink {
    /// A sink for columns of a result.
    pub(crate) fn columns(sink: ColumnSink, columns: &Arc<[ResultColumn]>) -> Self {
        Self::Columns(Gathering::of(sink, columns))
    }
}

impl Sink for RowSink {
    type Batch = ResultBatch;

    fn formats(&self) -> Option<Vec<Format>> {
        match self {
            Self::Columns(gathering) => Some(gathering.sink.formats()),
            Self::Records(sink) => Some(sink.formats()),
            Self::Held(sink) => Some(sink.formats()),
            Self::Nowhere => None,
        }
    }

    fn is_whole(&self) -> bool {
        match self {
            Self::Columns(gathering) => gathering.sink.is_whole(),
            Self::Records(_) | Self::Held(_) | Self::Nowhere => true,
        }
    }

    fn read_bytes(&self) -> usize {
        match self {
            Self::Records(_) => RECORDS_READ_BYTES,
            Self::Columns(..) | Self::Held(_) | Self::Nowhere => RECEIVE_CAPACITY_BYTES,
        }
    }

    fn renewed(&self, columns: &Arc<[ResultColumn]>) -> Result<Self, SinkError> {
        Ok(match self {
            Self::Columns(gathering) => {
                let renewed = gathering.sink.renewed(columns);
                let sink = renewed.map_err(|error| SinkError::Foreign(Box::new(error)))?;
                Self::columns(sink, columns)
            }
            Self::Records(sink) => Self::Records(sink.renewed(columns)?),
            Self::Held(sink) => Self::Held(sink.renewed(columns)?),
            Self::Nowhere => Self::Nowhere,
        })
    }

    fn rows(
        &mut self,
        rows: DataRows<'_>,
        batches: &mut VecDeque<ResultBatch>,
    ) -> Result<(), SinkError> {
        match self {
            Self::Columns(gathering) => gathering.rows(rows, batches),
            Self::Records(sink) => sink.rows(rows),
            Self::Held(sink) => sink.rows(rows),
            Self::Nowhere => Ok(()),
        }
    }

    fn finish(&mut self, batches: &mut VecDeque<ResultBatch>) -> Result<(), SinkError> {
        match self {
            Self::Columns(gathering) => gathering.finish(batches),
            Self::Records(_) | Self::Held(_) | Self::Nowhere => Ok(()),
        }
    }
}
