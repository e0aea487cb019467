//! The interface of a type: one column of one block of rows goes in, one Arrow array comes out.

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use colonnade_protocol::Span;

use crate::error::Reason;

/// The size from which a buffer's successor is reserved at once: a smaller one grows in a few
/// steps, and most results of queries are small and have no successor.
const LARGE_BUFFER_BYTES: usize = 256;

/// One column of one scanned block of rows.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    /// The run of rows that `spans` index.
    bytes: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Fields<'a> {
    /// `bytes` must be the run ([`colonnade_protocol::DataRows::bytes`]) whose scan gave `spans`.
    pub fn new(bytes: &'a [u8], spans: &'a [Span]) -> Self {
        Self { bytes, spans }
    }

    /// The number of rows in the block.
    #[inline]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether the block has no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The values, `None` for NULL.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&'a [u8]>> + use<'a> {
        let bytes = self.bytes;
        self.spans.iter().map(move |span| span.slice(bytes))
    }

    /// The bytes that contain the values, and the position of each; for copying several values at a
    /// time.
    #[inline]
    pub(crate) fn parts(&self) -> (&'a [u8], &'a [Span]) {
        (self.bytes, self.spans)
    }

    /// The total size of the values in bytes.
    #[inline]
    pub fn byte_len(&self) -> usize {
        self.spans.iter().map(|span| span.len()).sum()
    }

    /// One row of the block as a block of its own.
    pub fn row(&self, row: usize) -> Self {
        Self { bytes: self.bytes, spans: self.spans.get(row..row + 1).unwrap_or(&[]) }
    }

    /// The rows with a value, as bitmap words of up to 64 rows: (bits, rows).
    pub(crate) fn valid_words(&self) -> impl Iterator<Item = (u64, usize)> {
        self.spans.chunks(64).map(|rows| {
            let mut bits = 0_u64;
            for (row, span) in rows.iter().enumerate() {
                bits |= u64::from(!span.is_null()) << row;
            }
            (bits, rows.len())
        })
    }
}

/// Builds the Arrow array of one column, a block of rows at a time.
pub trait ColumnBuilder: Send + Sync {
    /// Appends a block. An error names the block's first faulty row, so that the way rows are split
    /// into blocks does not change the error; after an error the builder must not be used.
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)>;

    /// Appends `count` adjacent cells, each preceded by its length, with nothing else in `cells`.
    /// Returns false, and appends nothing, if the builder cannot take them at once.
    fn append_cells(&mut self, _cells: &[u8], _count: usize) -> bool {
        false
    }

    /// The array of all rows so far, without another pass over the values; leaves the builder
    /// empty. From the first call on, the Arrow type is fixed.
    fn finish(&mut self) -> ArrayRef;

    /// The Arrow type, as far as it is known.
    fn data_type(&self) -> DataType;

    /// Bytes used by values, offsets and validity.
    fn nbytes(&self) -> usize;
}

/// Takes a finished buffer out of its builder. A large one leaves an empty one with the same
/// capacity: the next batch of a stream is about as large and need not grow step by step. Capacity
/// that is not written to takes no memory.
pub(crate) fn take_buffer<T>(values: &mut Vec<T>) -> Vec<T> {
    let is_large = size_of_val(values.as_slice()) >= LARGE_BUFFER_BYTES;
    let next = if is_large { Vec::with_capacity(values.len()) } else { Vec::new() };
    std::mem::replace(values, next)
}
