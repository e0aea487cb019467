//! The columns of a query, with their types.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use colonnade_columnar::{ResultColumn, SchemaError};
use colonnade_protocol::{DataRows, Format};

use crate::{ColumnSink, SinkError};

/// A batch and its columns.
#[derive(Debug)]
pub struct ResultBatch {
    /// The batch.
    pub batch: RecordBatch,
    /// Its columns.
    pub columns: Arc<[ResultColumn]>,
}

/// The columns of a query: batches while the rows come, or one batch at the end.
pub struct Gathering {
    sink: ColumnSink,
    columns: Arc<[ResultColumn]>,
    /// The batch of a whole result, once its last row has come.
    whole: Option<RecordBatch>,
}

impl Gathering {
    /// The columns that a sink makes.
    pub fn of(sink: ColumnSink, columns: &Arc<[ResultColumn]>) -> Self {
        Self { sink, columns: Arc::clone(columns), whole: None }
    }

    /// The number of rows in the final batch; None if batches came before the end.
    pub fn whole_rows(&self) -> Option<u64> {
        u64::try_from(self.whole.as_ref()?.num_rows()).ok()
    }

    /// The final batch.
    pub fn into_whole(self) -> Option<ResultBatch> {
        let columns = self.columns;
        self.whole.map(|batch| ResultBatch { batch, columns })
    }

    /// As [`ColumnSink::formats`].
    pub fn formats(&self) -> Vec<Format> {
        self.sink.formats()
    }

    /// As [`ColumnSink::is_whole`].
    pub fn is_whole(&self) -> bool {
        self.sink.is_whole()
    }

    /// As [`ColumnSink::renewed`].
    ///
    /// # Errors
    /// Options that do not fit the columns.
    pub fn renewed(&self, columns: &Arc<[ResultColumn]>) -> Result<Self, SchemaError> {
        Ok(Self::of(self.sink.renewed(columns)?, columns))
    }

    /// As [`ColumnSink::rows`].
    ///
    /// # Errors
    /// Rows that break the protocol, or a value without a representation in its column.
    pub fn rows(
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

    /// Called when the server has sent every row.
    ///
    /// # Errors
    /// As for [`Gathering::rows`].
    pub fn finish(&mut self, batches: &mut VecDeque<ResultBatch>) -> Result<(), SinkError> {
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

#[cfg(test)]
mod tests {
    use colonnade_columnar::{DecodeOptions, Types};
    use colonnade_protocol::{Frame, next_frame};

    use super::*;

    /// Two rows of a NULL each.
    const ROWS: [u8; 22] =
        [b'D', 0, 0, 0, 10, 0, 1, 255, 255, 255, 255, b'D', 0, 0, 0, 10, 0, 1, 255, 255, 255, 255];

    fn columns() -> Arc<[ResultColumn]> {
        [ResultColumn::new("n", Types::default().find(23).unwrap(), -1)].into()
    }

    fn gathered(batch_rows: usize) -> (Gathering, VecDeque<ResultBatch>) {
        let columns = columns();
        let sink = ColumnSink::batched(&columns, DecodeOptions::default(), batch_rows).unwrap();
        let mut gathering = Gathering::of(sink, &columns);
        let mut batches = VecDeque::new();
        let Ok(Some((Frame::DataRows(rows), _))) = next_frame(&ROWS) else {
            panic!("they are rows");
        };
        gathering.rows(rows, &mut batches).unwrap();
        gathering.finish(&mut batches).unwrap();
        (gathering, batches)
    }

    #[test]
    fn a_whole_result_is_handed_over_at_the_end() {
        let (gathering, batches) = gathered(usize::MAX);
        assert!(gathering.is_whole() && batches.is_empty());
        assert_eq!(gathering.whole_rows(), Some(2));
        let whole = gathering.into_whole().unwrap();
        assert_eq!((whole.batch.num_rows(), whole.columns.len()), (2, 1));
    }

    #[test]
    fn a_stream_has_its_batches_before_the_end() {
        let (gathering, batches) = gathered(1);
        assert_eq!(batches.iter().map(|made| made.batch.num_rows()).collect::<Vec<_>>(), [1, 1]);
        assert_eq!(gathering.whole_rows(), None);
        assert!(gathering.into_whole().is_none());
    }

    #[test]
    fn a_renewed_one_has_no_rows() {
        let (gathering, _) = gathered(usize::MAX);
        let renewed = gathering.renewed(&columns()).unwrap();
        assert_eq!(renewed.formats(), gathering.formats());
        assert!(renewed.into_whole().is_none());
    }
}
