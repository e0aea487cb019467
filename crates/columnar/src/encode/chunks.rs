//! The data of a COPY in chunks, from batches of one source after another.

use std::fmt;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::{CastError, CellError, EncodeOptions, RowEncoder, TargetColumn};

/// Batches in order.
pub trait BatchSource {
    /// The reason why there is no next batch.
    type Error;

    /// The next batch; None after the last one.
    ///
    /// # Errors
    /// The batch is invalid, or its producer failed.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Self::Error>;
}

/// The reason why no chunk was made.
#[derive(Debug)]
pub enum ChunkError<E> {
    /// A batch has other types than its source said.
    Cast(CastError),
    /// A value cannot be written.
    Cell(Box<CellError>),
    /// The source has failed.
    Source(E),
    /// The previous chunk failed.
    Before,
}

impl<E> From<Box<CellError>> for ChunkError<E> {
    fn from(error: Box<CellError>) -> Self {
        Self::Cell(error)
    }
}

impl<E: fmt::Display> fmt::Display for ChunkError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cast(error) => error.fmt(f),
            Self::Cell(error) => error.fmt(f),
            Self::Source(error) => error.fmt(f),
            Self::Before => f.write_str("the previous chunk failed; abort the COPY"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for ChunkError<E> {}

/// Writes the data of a COPY in chunks.
pub struct CopyChunks<S> {
    /// `None` once the source is exhausted, and before the first one.
    source: Option<S>,
    /// Whether another source will follow.
    more: bool,
    targets: Vec<TargetColumn>,
    options: EncodeOptions,
    /// The batch being written.
    rows: Option<RowEncoder>,
    /// The number of rows in the batches before it.
    rows_before: u64,
    progress: Progress,
}

/// The progress of a COPY.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Before,
    Within,
    Ended,
    /// An error or a panic interrupted it.
    Failed,
}

impl<S: BatchSource> CopyChunks<S> {
    /// With `more`, the data goes on after a source, until [`CopyChunks::finish`].
    pub fn new(options: EncodeOptions, more: bool) -> Self {
        Self {
            source: None,
            more,
            targets: Vec::new(),
            options,
            rows: None,
            rows_before: 0,
            progress: Progress::Before,
        }
    }

    /// Whether the source has no more batches, so that another one can follow.
    pub fn is_exhausted(&self) -> bool {
        self.source.is_none()
    }

    /// Checks that columns of these types can be written to the targets.
    ///
    /// # Errors
    /// There is no cast, or a column is missing.
    pub fn check(&self, schema: &SchemaRef, targets: &[TargetColumn]) -> Result<(), CastError> {
        let empty = RecordBatch::new_empty(SchemaRef::clone(schema));
        RowEncoder::new(targets, &empty, &self.options, 0).map(drop)
    }

    /// Goes on with a source whose columns were checked.
    pub fn take(&mut self, source: S, targets: Vec<TargetColumn>) {
        self.source = Some(source);
        self.targets = targets;
    }

    /// Ends the data: the next chunk is the last one.
    pub fn finish(&mut self) {
        self.more = false;
    }

    /// The number of rows in the chunks so far.
    pub fn rows_done(&self) -> u64 {
        self.rows_before + self.rows.as_ref().map_or(0, |rows| rows.rows_done() as u64)
    }

    /// Appends a chunk of about `limit_bytes`; `false` if this source is exhausted.
    ///
    /// # Errors
    /// A batch or a value that cannot be written. No chunk follows.
    pub fn append(
        &mut self,
        chunk: &mut Vec<u8>,
        limit_bytes: usize,
    ) -> Result<bool, ChunkError<S::Error>> {
        let start = chunk.len();
        match self.progress {
            Progress::Before => RowEncoder::header(chunk),
            Progress::Within => {}
            Progress::Ended => return Ok(false),
            Progress::Failed => return Err(ChunkError::Before),
        }
        self.progress = Progress::Failed;
        loop {
            let room = (start + limit_bytes).saturating_sub(chunk.len());
            if room == 0 {
                break;
            }
            if let Some(rows) = &mut self.rows {
                if !rows.append(chunk, room)? {
                    self.rows_before += rows.rows_done() as u64;
                    self.rows = None;
                }
            } else if let Some(batch) = self.next_batch()? {
                self.rows = Some(self.row_encoder(&batch).map_err(ChunkError::Cast)?);
            } else {
                self.source = None;
                if !self.more {
                    RowEncoder::trailer(chunk);
                    self.progress = Progress::Ended;
                    return Ok(true);
                }
                break;
            }
        }
        self.progress = Progress::Within;
        Ok(chunk.len() > start)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ChunkError<S::Error>> {
        match &mut self.source {
            Some(source) => source.next_batch().map_err(ChunkError::Source),
            None => Ok(None),
        }
    }

    fn row_encoder(&self, batch: &RecordBatch) -> Result<RowEncoder, CastError> {
        RowEncoder::new(&self.targets, batch, &self.options, self.rows_before)
    }
}

#[cfg(test)]
mod tests;
