//! Shared by the encoders: writing a cell in its place, and cells that are made once and copied.

use std::ops::Range;

use arrow_array::Array;
use arrow_buffer::NullBuffer;

use super::ColumnEncoder;
use crate::error::EncodeError;

/// The size of a cell's length field.
pub(super) const LENGTH_BYTES: usize = 4;

/// The length field of a NULL.
pub(super) const NULL_LENGTH: [u8; LENGTH_BYTES] = (-1_i32).to_be_bytes();

/// PostgreSQL's limit on the size of a value.
const TOO_LONG: usize = 1 << 30;

/// The rows that are NULL; `None` if there are none.
pub(super) fn nulls_of(array: &dyn Array) -> Option<NullBuffer> {
    array.logical_nulls().filter(|nulls| nulls.null_count() > 0)
}

/// Whether a row is NULL.
#[inline]
pub(super) fn is_null(nulls: Option<&NullBuffer>, row: usize) -> bool {
    nulls.is_some_and(|nulls| nulls.is_null(row))
}

/// The length of a value, if PostgreSQL accepts that length.
#[inline]
pub(super) fn checked_length(bytes: usize) -> Result<usize, EncodeError> {
    if bytes >= TOO_LONG { Err(EncodeError::TooLong { bytes }) } else { Ok(bytes) }
}

/// Writes the cell of a fixed-width value, and returns the position after it. The space has been
/// measured: it lies in `out`.
#[inline(always)]
pub(super) fn put_fixed<const WIDTH: usize>(
    out: &mut [u8],
    at: usize,
    bytes: [u8; WIDTH],
) -> usize {
    let end = at + LENGTH_BYTES + WIDTH;
    if let Some((length, value)) =
        out.get_mut(at..end).and_then(<[u8]>::split_first_chunk_mut::<LENGTH_BYTES>)
    {
        *length = (WIDTH as u32).to_be_bytes();
        value.copy_from_slice(&bytes);
    }
    end
}

/// Writes a NULL cell, and returns the position after it.
#[inline(always)]
pub(super) fn put_null(out: &mut [u8], at: usize) -> usize {
    if let Some(slot) = out.get_mut(at..at + LENGTH_BYTES) {
        slot.copy_from_slice(&NULL_LENGTH);
    }
    at + LENGTH_BYTES
}

/// Writes bytes as they are, and returns the position after them.
#[inline(always)]
pub(super) fn put_bytes(out: &mut [u8], at: usize, bytes: &[u8]) -> usize {
    let end = at + bytes.len();
    if let Some(slot) = out.get_mut(at..end) {
        copy(slot, bytes);
    }
    end
}

/// Copies between slices of one length. Most values are short, and a call of `memcpy` for each of
/// them costs more than its bytes: two copies of fixed size, which may overlap, do the same.
#[inline(always)]
fn copy(slot: &mut [u8], bytes: &[u8]) {
    match bytes.len() {
        0..4 => slot.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = *byte),
        4..8 => copy_ends::<4>(slot, bytes),
        8..16 => copy_ends::<8>(slot, bytes),
        16..=32 => copy_ends::<16>(slot, bytes),
        _ => slot.copy_from_slice(bytes),
    }
}

#[inline(always)]
fn copy_ends<const N: usize>(slot: &mut [u8], bytes: &[u8]) {
    if let (Some(slot), Some(bytes)) = (slot.first_chunk_mut::<N>(), bytes.first_chunk::<N>()) {
        *slot = *bytes;
    }
    if let (Some(slot), Some(bytes)) = (slot.last_chunk_mut::<N>(), bytes.last_chunk::<N>()) {
        *slot = *bytes;
    }
}

/// Appends the cell of NULL.
pub(super) fn push_null(out: &mut Vec<u8>) {
    out.extend_from_slice(&NULL_LENGTH);
}

/// Appends a cell whose bytes `push` appends; after an error nothing is appended.
#[inline]
pub(super) fn push_with(
    out: &mut Vec<u8>,
    push: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    let pushed = push(out).and_then(|()| checked_length(out.len() - start - LENGTH_BYTES));
    match pushed {
        Ok(length) => {
            if let Some(slot) = out.get_mut(start..start + LENGTH_BYTES) {
                // Below 2^30, as just checked.
                slot.copy_from_slice(&(length as u32).to_be_bytes());
            }
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

/// Appends the bytes of one value.
pub(super) trait PushValue: Send + Sync + 'static {
    /// Appends the bytes of a row that is not NULL.
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

/// Encodes values whose size is not known in advance: the cells are made when they are measured,
/// and copied once their places are known.
pub(super) struct MadeCells<P> {
    values: P,
    nulls: Option<NullBuffer>,
    /// The cells of the rows measured last.
    cells: Vec<u8>,
    /// The end of each of these cells.
    ends: Vec<usize>,
}

impl<P: PushValue> MadeCells<P> {
    pub(super) fn boxed(values: P, nulls: Option<NullBuffer>) -> Box<dyn ColumnEncoder> {
        Box::new(Self { values, nulls, cells: Vec::new(), ends: Vec::new() })
    }
}

/// Appends the cell of one row.
#[inline]
fn push_row<P: PushValue>(
    values: &P,
    nulls: Option<&NullBuffer>,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    if is_null(nulls, row) {
        push_null(out);
        return Ok(());
    }
    push_with(out, |out| values.push(row, out))
}

impl<P: PushValue> ColumnEncoder for MadeCells<P> {
    fn measure(
        &mut self,
        rows: Range<usize>,
        sizes: &mut [usize],
    ) -> Result<(), (usize, EncodeError)> {
        self.cells.clear();
        self.ends.clear();
        for (place, (row, size)) in rows.zip(sizes).enumerate() {
            let start = self.cells.len();
            push_row(&self.values, self.nulls.as_ref(), row, &mut self.cells)
                .map_err(|error| (place, error))?;
            self.ends.push(self.cells.len());
            *size += self.cells.len() - start;
        }
        Ok(())
    }

    fn write(&mut self, out: &mut [u8], cursors: &mut [usize]) {
        let mut start = 0;
        for (cursor, end) in cursors.iter_mut().zip(&self.ends) {
            *cursor = put_bytes(out, *cursor, self.cells.get(start..*end).unwrap_or(&[]));
            start = *end;
        }
    }

    fn push_cell(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        push_row(&self.values, self.nulls.as_ref(), row, out)
    }
}

/// A column of NULLs.
pub(super) struct AllNull;

impl ColumnEncoder for AllNull {
    fn measure(
        &mut self,
        _rows: Range<usize>,
        sizes: &mut [usize],
    ) -> Result<(), (usize, EncodeError)> {
        sizes.iter_mut().for_each(|size| *size += LENGTH_BYTES);
        Ok(())
    }

    fn write(&mut self, out: &mut [u8], cursors: &mut [usize]) {
        for cursor in cursors {
            *cursor = put_null(out, *cursor);
        }
    }

    fn push_cell(&self, _row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        push_null(out);
        Ok(())
    }
}
