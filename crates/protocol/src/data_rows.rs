//! The cursor over a run of rows, and the spans that give the position of each value.
//!
//! This is the hottest code of the crate: it visits every value of every result once. It checks all
//! lengths, so that later readers of the values can trust the spans, and it writes the spans column
//! by column, so that a decoder reads one column's values one after another.

use std::ops::Range;

use crate::error::{Error, RemoteError, RowFault};
use crate::frame::HEADER_LEN;

/// The size of a row before its first value: tag, length, column count.
const ROW_HEADER_LEN: usize = HEADER_LEN + 2;

/// The size of the length in front of each value.
const VALUE_HEADER_LEN: usize = 4;

/// The number of spans in a 64-byte cache line.
const SPANS_PER_LINE: usize = 64 / size_of::<Span>();

/// The position of one value in [`DataRows::bytes`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Span {
    /// Offset of the value's first byte; for a NULL, where it would be.
    start: u32,
    /// Length of the value; `u32::MAX`, which no value can have, means NULL.
    len: u32,
}

impl Span {
    /// The span of a NULL.
    pub const NULL: Self = Self { start: 0, len: u32::MAX };

    /// The span of `len` bytes from `start` on. It must be part of a value that was scanned, and so
    /// lies in the same run.
    ///
    /// An offset beyond 4 GiB, which no run has, gives the span of a NULL.
    #[inline]
    pub const fn new(start: usize, len: usize) -> Self {
        if start > u32::MAX as usize || len >= u32::MAX as usize {
            return Self::NULL;
        }
        Self { start: start as u32, len: len as u32 }
    }

    /// Whether the value is NULL, which differs from an empty value.
    #[inline]
    pub const fn is_null(self) -> bool {
        self.len == u32::MAX
    }

    /// Offset of the value's first byte.
    #[inline]
    pub const fn start(self) -> usize {
        self.start as usize
    }

    /// Length of the value in bytes; 0 for NULL.
    #[inline]
    pub const fn len(self) -> usize {
        if self.is_null() { 0 } else { self.len as usize }
    }

    /// Whether the value has no bytes: it is empty or NULL.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The offsets of the value's bytes; empty for NULL.
    #[inline]
    pub const fn range(self) -> Range<usize> {
        self.start()..self.start() + self.len()
    }

    /// The value's bytes, `None` for NULL. `bytes` must be the run that was scanned; another slice
    /// gives other bytes, or none if it is too short.
    #[inline]
    pub fn slice(self, bytes: &[u8]) -> Option<&[u8]> {
        if self.is_null() { None } else { Some(bytes.get(self.range()).unwrap_or(&[])) }
    }
}

/// The spans of one scanned block of rows, column by column. Meant to be reused: a scan overwrites
/// it and keeps its memory.
#[derive(Clone, Default, Debug)]
pub struct Spans {
    /// Column `c` takes `spans[c * stride..][..rows]`; the spans in between are stale.
    spans: Vec<Span>,
    rows: usize,
    columns: usize,
    /// Always an odd number of cache lines, see [`Spans::prepare`].
    stride: usize,
}

impl Spans {
    /// Empty scratch; the first scan allocates.
    pub const fn new() -> Self {
        Self { spans: Vec::new(), rows: 0, columns: 0, stride: 0 }
    }

    /// The number of rows in the last scan.
    #[inline]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns in the last scan.
    #[inline]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// The spans of column `index`, one per row; empty if there is no such column.
    #[inline]
    pub fn column(&self, index: usize) -> &[Span] {
        if index >= self.columns {
            return &[];
        }
        let start = index * self.stride;
        self.spans.get(start..start + self.rows).unwrap_or(&[])
    }

    /// Makes room for `rows` rows of `columns` columns.
    ///
    /// A row writes one span to each column, `stride` apart. With a stride that is a power of two
    /// all those writes would fall into the same few sets of the first-level cache and evict each
    /// other; an odd number of cache lines spreads them over all sets.
    fn prepare(&mut self, columns: usize, rows: usize) {
        let lines = rows.div_ceil(SPANS_PER_LINE) | 1;
        self.stride = lines * SPANS_PER_LINE;
        self.columns = columns;
        self.rows = 0;
        let needed = columns.saturating_mul(self.stride);
        if self.spans.len() < needed {
            self.spans.resize(needed, Span::NULL);
        }
    }
}

/// A cursor over whole `DataRow` frames, or over whole `CopyData` frames, of which it reads only
/// the bodies. Cheap to clone; scanning moves it forward.
#[derive(Clone, Debug)]
pub struct DataRows<'a> {
    /// The run: whole frames, all with the same tag and a length of at least 4; below 4 GiB.
    bytes: &'a [u8],
    /// The start of the first frame not scanned yet.
    position: usize,
    /// The number of frames from `position` on.
    left: usize,
    /// The number of frames before `position`.
    scanned: usize,
}

impl<'a> DataRows<'a> {
    /// `bytes` must hold exactly `rows` whole frames.
    pub(crate) const fn new(bytes: &'a [u8], rows: usize) -> Self {
        Self { bytes, position: 0, left: rows, scanned: 0 }
    }

    /// Whether every row has been scanned.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// The number of rows not scanned yet.
    #[inline]
    pub const fn row_count(&self) -> usize {
        self.left
    }

    /// The whole run, scanned or not; the spans of every scan refer to it.
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The frames that have not been scanned yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or(&[])
    }

    /// The body of the next frame, which is then skipped; `None` if there are none left.
    pub fn next_body(&mut self) -> Option<&'a [u8]> {
        if self.left == 0 {
            return None;
        }
        let rest = self.bytes.get(self.position..)?;
        let &[_, a, b, c, d] = rest.first_chunk::<HEADER_LEN>()?;
        let end = 1 + u32::from_be_bytes([a, b, c, d]) as usize;
        let body = rest.get(HEADER_LEN..end)?;
        self.position += end;
        self.left -= 1;
        self.scanned += 1;
        Some(body)
    }

    /// Scans up to `max_rows` rows from the front into `spans` and returns the number of rows
    /// scanned; 0 if there are none left.
    ///
    /// Every row must have `columns` columns, each with a length of -1 (NULL) or one that fits, and
    /// nothing after the last. A scan stops before a row that does not; if that is the first one,
    /// it is a [`RemoteError::Row`] with its index in the run, `spans` is empty and the cursor does
    /// not move. So the rows before a fault are the same however the bytes were split.
    ///
    /// `max_rows` is the caller's choice of locality: the spans of a block should stay in a near
    /// cache until every column has been decoded. `spans` takes memory in proportion to the bytes
    /// of the run, even if `columns` comes from a hostile row description.
    pub fn scan(
        &mut self,
        columns: usize,
        max_rows: usize,
        spans: &mut Spans,
    ) -> Result<usize, Error> {
        spans.rows = 0;
        if self.left == 0 || max_rows == 0 {
            return Ok(0);
        }
        if columns > usize::from(u16::MAX) {
            // No row can have this many columns: the first one is faulty, and no space is reserved
            // for it.
            return Err(self.fault(diagnose(self.bytes, self.position, columns)));
        }
        let rest = self.bytes.get(self.position..).unwrap_or(&[]);
        // At most one row more than these bytes can hold with this many columns, so that a row with
        // too few columns is still examined and refused.
        let row_len_min = ROW_HEADER_LEN.saturating_add(columns.saturating_mul(VALUE_HEADER_LEN));
        let block = self.left.min(max_rows).min(rest.len() / row_len_min + 1);
        spans.prepare(columns, block);

        let (bytes, stride) = (self.bytes, spans.stride);
        let slots = spans.spans.get_mut(..columns * stride).unwrap_or_default();
        let start = (0, self.position);
        let pairs = scan_rows::<2>(bytes, start, columns, block, slots, stride);
        // An odd row is left over, or a pair with a fault; this finds the faulty row of the pair.
        let (done, position) = scan_rows::<1>(bytes, pairs, columns, block, slots, stride);
        if done == 0 {
            return Err(self.fault(diagnose(bytes, position, columns)));
        }
        self.position = position;
        self.left -= done;
        self.scanned += done;
        spans.rows = done;
        Ok(done)
    }

    #[cold]
    fn fault(&self, fault: RowFault) -> Error {
        RemoteError::Row { row: self.scanned, fault }.into()
    }
}

// The scan adds lengths below 4 GiB to offsets below 4 GiB and relies on the sum not to wrap.
const _: () = assert!(usize::BITS >= 64, "the row scan needs 64-bit offsets");

/// Scans rows, `LANES` at a time, until fewer than that are left of `rows` or one has a fault.
/// `from` and the result are the next row and the start of its frame.
///
/// Not inlined: by itself, all of its state fits in registers, which saves a quarter of its time.
#[inline(never)]
fn scan_rows<const LANES: usize>(
    bytes: &[u8],
    from: (usize, usize),
    columns: usize,
    rows: usize,
    spans: &mut [Span],
    stride: usize,
) -> (usize, usize) {
    let (mut row, mut position) = from;
    while row + LANES <= rows {
        match scan_lanes::<LANES>(bytes, position, columns, spans, stride, row) {
            Some(next) => position = next,
            None => break,
        }
        row += LANES;
    }
    (row, position)
}

/// Scans `LANES` adjacent rows from `start`, writes their spans as the rows from `row` on and
/// returns the start of the next frame; `None` if any of them has a fault.
///
/// The start of a value depends on all lengths before it in its row, so a single row is a chain of
/// loads, each waiting for the previous one. Two rows side by side are two chains that the
/// processor follows in parallel: we measured 1.5 ns instead of 2.6 ns per value, and with NULLs
/// mixed in 1.5 ns instead of 4.4 ns. Three and four lanes run out of registers and are slower
/// again.
///
/// Values are not checked against the end of their row one by one. Offsets only grow, so a row
/// whose last offset is exactly its end has none beyond it; a length that is neither -1 nor
/// plausible makes the offset overshoot for good.
///
/// `spans` is whole columns of `stride`, which is not 0.
#[inline(always)]
fn scan_lanes<const LANES: usize>(
    bytes: &[u8],
    start: usize,
    columns: usize,
    spans: &mut [Span],
    stride: usize,
    row: usize,
) -> Option<usize> {
    let mut next = start;
    let mut positions = [0; LANES];
    let mut ends = [0; LANES];
    for (position, end) in positions.iter_mut().zip(&mut ends) {
        let &[_, a, b, c, d, high, low] = bytes.get(next..)?.first_chunk::<ROW_HEADER_LEN>()?;
        if usize::from(u16::from_be_bytes([high, low])) != columns {
            return None;
        }
        *position = next + ROW_HEADER_LEN;
        next += 1 + u32::from_be_bytes([a, b, c, d]) as usize;
        *end = next;
    }
    // `chunks_exact_mut` would do, but divides once per call.
    let mut rest = spans;
    while let Some((column, others)) = rest.split_at_mut_checked(stride) {
        rest = others;
        let slots = column.get_mut(row..)?.first_chunk_mut::<LANES>()?;
        for (position, slot) in positions.iter_mut().zip(slots) {
            let header_end = position.wrapping_add(VALUE_HEADER_LEN);
            let &[a, b, c, d] = bytes.get(*position..header_end)? else { return None };
            let len = u32::from_be_bytes([a, b, c, d]);
            // Truncated only in a row that is refused below.
            *slot = Span { start: header_end as u32, len };
            *position = header_end + if len == u32::MAX { 0 } else { len as usize };
        }
    }
    (positions == ends).then_some(next)
}

/// The fault of the row at `position`, which `scan_lanes` refused.
#[cold]
fn diagnose(bytes: &[u8], position: usize, columns: usize) -> RowFault {
    let frame = bytes.get(position..).unwrap_or(&[]);
    let Some(&[_, a, b, c, d, high, low]) = frame.first_chunk::<ROW_HEADER_LEN>() else {
        return RowFault::NoColumnCount;
    };
    let end = 1 + u32::from_be_bytes([a, b, c, d]) as usize;
    // A length below 6 has no room for the column count; it makes this range run backwards.
    let Some(mut rest) = frame.get(ROW_HEADER_LEN..end) else { return RowFault::NoColumnCount };
    let found = usize::from(u16::from_be_bytes([high, low]));
    if found != columns {
        return RowFault::ColumnCount { expected: columns, found };
    }
    for column in 0..columns {
        let Some((length, values)) = rest.split_first_chunk::<VALUE_HEADER_LEN>() else {
            return RowFault::NoLength { column };
        };
        let length = i32::from_be_bytes(*length);
        let taken = if length == -1 { Some(0) } else { usize::try_from(length).ok() };
        rest = match taken.and_then(|taken| values.get(taken..)) {
            Some(rest) => rest,
            None => return RowFault::Length { column, length, left: values.len() },
        };
    }
    RowFault::Trailing { count: rest.len() }
}
