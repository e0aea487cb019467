//! Rows kept as they came until their owner claims them as rows or as columns. They are copied
//! once, from the receive buffer into chunks of memory; a chunk is freed once it is decoded.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::RecordBatch;
use colonnade_columnar::ResultColumn;
use colonnade_protocol::{DataRows, Format, Frame, next_frame};

use crate::{ColumnSink, Error, SinkError};

/// The room of each chunk after the first, unless a single run of rows is larger. The first one is
/// as large as its run.
const CHUNK_BYTES: usize = 1024 * 1024;

/// The tag of a message, which its length field does not count.
const TAG_BYTES: usize = 1;
const LENGTH_BYTES: usize = 4;

/// Rows as they came; the first ones may be taken already.
#[derive(Default)]
pub struct ReceivedRows {
    /// Runs of whole messages.
    chunks: VecDeque<Vec<u8>>,
    /// The bytes of the first chunk already taken.
    position: usize,
    row_count: u64,
    taken: u64,
    /// Columns were made of some rows, and then a value did not fit its column.
    is_lost: bool,
}

impl ReceivedRows {
    /// Copies a run of rows.
    pub fn push(&mut self, rows: &DataRows<'_>) {
        let bytes = rows.rest();
        self.row_count += first_rows(bytes, u64::MAX).1;
        match self.chunks.back_mut() {
            Some(chunk) if chunk.len() + bytes.len() <= CHUNK_BYTES => {
                chunk.extend_from_slice(bytes);
            }
            last => {
                let is_first = last.is_none();
                let room = if is_first { bytes.len() } else { CHUNK_BYTES.max(bytes.len()) };
                let mut chunk = Vec::with_capacity(room);
                chunk.extend_from_slice(bytes);
                self.chunks.push_back(chunk);
            }
        }
    }

    /// The number of rows, with those taken.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// The number of rows taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// The number of remaining rows.
    pub fn left(&self) -> u64 {
        self.row_count - self.taken
    }

    /// Whether rows are lost, because making columns of them failed.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Takes up to `limit` rows, run by run. After an error the rows stay where they are.
    ///
    /// # Errors
    /// The first error of `take`.
    pub fn take(
        &mut self,
        limit: u64,
        mut take: impl FnMut(DataRows<'_>) -> Result<(), SinkError>,
    ) -> Result<(), Error> {
        let (mut wanted, mut runs) = (limit, Vec::new());
        let mut position = self.position;
        for chunk in &self.chunks {
            if wanted == 0 {
                break;
            }
            let (bytes, rows) = first_rows(chunk.get(position..).unwrap_or_default(), wanted);
            feed(bytes, &mut take)?;
            runs.push((rows, bytes.len()));
            wanted -= rows;
            position = 0;
        }
        for (rows, bytes) in runs {
            self.advance(rows, bytes);
        }
        Ok(())
    }

    /// Counts up to `limit` rows as taken that their owner has from elsewhere; returns which. Their
    /// bytes stay until [`ReceivedRows::catch_up`].
    pub fn count_taken(&mut self, limit: u64) -> Range<u64> {
        let start = self.taken;
        self.taken += limit.min(self.left());
        start..self.taken
    }

    /// Drops the bytes of rows that were only counted as taken.
    pub fn catch_up(&mut self) {
        let taken = std::mem::take(&mut self.taken);
        while self.taken < taken {
            let (bytes, rows) = self.next_run(taken - self.taken);
            if rows == 0 {
                return;
            }
            let length = bytes.len();
            self.advance(rows, length);
        }
    }

    /// All remaining rows as columns; frees their memory on the way.
    ///
    /// # Errors
    /// A value that does not fit its column: then all rows are lost.
    pub fn take_columns(&mut self, sink: &mut ColumnSink) -> Result<RecordBatch, Error> {
        let filled = self.fill(sink);
        if filled.is_err() {
            self.chunks.clear();
            self.taken = self.row_count;
            self.is_lost = true;
        }
        filled
    }

    fn fill(&mut self, sink: &mut ColumnSink) -> Result<RecordBatch, Error> {
        let mut batches = VecDeque::new();
        while self.taken < self.row_count {
            let (bytes, rows) = self.next_run(u64::MAX);
            if rows == 0 {
                break;
            }
            let length = bytes.len();
            feed(bytes, &mut |run| sink.rows(run, &mut batches))?;
            self.advance(rows, length);
        }
        sink.finish(&mut batches)?;
        batches.pop_front().ok_or(Error::Closed)
    }

    /// The bytes of up to `limit_rows` rows of the first chunk, and their number.
    fn next_run(&self, limit_rows: u64) -> (&[u8], u64) {
        let Some(chunk) = self.chunks.front() else { return (&[], 0) };
        first_rows(chunk.get(self.position..).unwrap_or_default(), limit_rows)
    }

    /// Removes rows that span this many bytes of the first chunk.
    fn advance(&mut self, rows: u64, bytes: usize) {
        self.taken += rows;
        self.position += bytes;
        if self.chunks.front().is_some_and(|chunk| self.position >= chunk.len()) {
            self.chunks.pop_front();
            self.position = 0;
        }
    }
}

/// Checks that rows which were asked for in some formats can become what a sink wants.
///
/// # Errors
/// [`Error::BoundFormat`] with the first column that has another format.
pub fn check_formats(
    columns: &[ResultColumn],
    asked: &[Format],
    wanted: &[Format],
) -> Result<(), Error> {
    let Some(place) = wanted.iter().zip(asked).position(|(wanted, asked)| wanted != asked) else {
        return Ok(());
    };
    let column = columns.get(place).map(|column| column.name.to_string());
    Err(Error::BoundFormat { column: column.unwrap_or_default() })
}

/// The bytes of up to `limit` messages of a run, and their number.
fn first_rows(bytes: &[u8], limit: u64) -> (&[u8], u64) {
    let (mut rows, mut end) = (0, 0);
    while rows < limit {
        let Some(length) = message_bytes(bytes, end) else { break };
        end += length;
        rows += 1;
    }
    (bytes.get(..end).unwrap_or_default(), rows)
}

/// The length of the message at a position.
fn message_bytes(bytes: &[u8], position: usize) -> Option<usize> {
    let start = position + TAG_BYTES;
    let length: [u8; LENGTH_BYTES] = bytes.get(start..start + LENGTH_BYTES)?.try_into().ok()?;
    Some(TAG_BYTES + u32::from_be_bytes(length) as usize)
}

/// Passes a run of whole messages to a sink.
fn feed(
    mut bytes: &[u8],
    take: &mut impl FnMut(DataRows<'_>) -> Result<(), SinkError>,
) -> Result<(), Error> {
    while let Some((Frame::DataRows(rows), length)) = next_frame(bytes)? {
        take(rows)?;
        bytes = bytes.get(length..).unwrap_or_default();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
