//! The sinks that Python can ask for.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use colonnade_columnar::ResultColumn;
use colonnade_protocol::{DataRows, Format};
use colonnade_session::{ColumnSink, RECEIVE_CAPACITY_BYTES, Sink, SinkError};

use crate::held::HeldSink;
use crate::rows::RecordSink;

/// Less than a tenth of the receive buffer, of which short rows make 600 records in a third of a
/// millisecond: about as long as others on an event loop wait anyway. It costs 4 % more than 64 KiB
/// at a time.
const RECORDS_READ_BYTES: usize = 24 * 1024;

/// A batch, and what its columns are.
#[derive(Debug)]
pub(crate) struct ResultBatch {
    pub(crate) batch: RecordBatch,
    pub(crate) columns: Arc<[ResultColumn]>,
}

/// Where the rows of a query go.
pub(crate) enum RowSink {
    /// Into columns: one batch, or one after the other.
    Columns(Box<ColumnSink>, Arc<[ResultColumn]>),
    /// Into a list of records.
    Records(RecordSink),
    /// Nowhere yet: they are kept as they came.
    Held(HeldSink),
    /// Nowhere: only the command tag is wanted.
    Nowhere,
}

impl Sink for RowSink {
    type Batch = ResultBatch;

    fn formats(&self) -> Option<Vec<Format>> {
        match self {
            Self::Columns(sink, _) => Some(sink.formats()),
            Self::Records(sink) => Some(sink.formats()),
            Self::Held(sink) => Some(sink.formats()),
            Self::Nowhere => None,
        }
    }

    fn is_whole(&self) -> bool {
        match self {
            Self::Columns(sink, _) => sink.is_whole(),
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
            Self::Columns(sink, _) => {
                let sink =
                    sink.renewed(columns).map_err(|error| SinkError::Foreign(Box::new(error)))?;
                Self::Columns(Box::new(sink), Arc::clone(columns))
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
            Self::Columns(sink, columns) => {
                handed_over(columns, batches, |made| sink.rows(rows, made))
            }
            Self::Records(sink) => sink.rows(rows),
            Self::Held(sink) => sink.rows(rows),
            Self::Nowhere => Ok(()),
        }
    }

    fn finish(&mut self, batches: &mut VecDeque<ResultBatch>) -> Result<(), SinkError> {
        match self {
            Self::Columns(sink, columns) => handed_over(columns, batches, |made| sink.finish(made)),
            Self::Records(_) | Self::Held(_) | Self::Nowhere => Ok(()),
        }
    }
}

/// Says of each batch that is made what its columns are.
fn handed_over(
    columns: &Arc<[ResultColumn]>,
    batches: &mut VecDeque<ResultBatch>,
    make: impl FnOnce(&mut VecDeque<RecordBatch>) -> Result<(), SinkError>,
) -> Result<(), SinkError> {
    let mut made = VecDeque::new();
    let outcome = make(&mut made);
    let described = |batch| ResultBatch { batch, columns: Arc::clone(columns) };
    batches.extend(made.into_iter().map(described));
    outcome
}
