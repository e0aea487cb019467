//! The layout of nested values: counts, OIDs, and cells, each a length and its bytes.

use colonnade_protocol::{Oid, Span};

use crate::error::LayoutFault;

/// PostgreSQL's limit on an array's dimensions.
pub(super) const DIMENSIONS_MAX: usize = 6;

/// Reads the layout of one value, which is part of a longer run of bytes. It returns positions in
/// that run, so that parts of values can be used like values.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// The next byte; at most `end`.
    position: usize,
    /// The end of the value; at most the length of `bytes`.
    end: usize,
}

impl<'a> Cursor<'a> {
    /// Reads the value at a span of a run; a NULL is empty.
    pub(super) fn new(bytes: &'a [u8], span: Span) -> Self {
        let end = (span.start() + span.len()).min(bytes.len());
        Self { bytes, position: span.start().min(end), end }
    }

    /// Reads a value by itself.
    pub(super) fn whole(raw: &'a [u8]) -> Self {
        Self { bytes: raw, position: 0, end: raw.len() }
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], LayoutFault> {
        let rest = self.bytes.get(self.position..self.end).unwrap_or(&[]);
        let taken = rest.first_chunk::<N>().ok_or(LayoutFault::Truncated)?;
        self.position += N;
        Ok(*taken)
    }

    /// `count` runs of `N` bytes.
    #[inline]
    fn chunks<const N: usize>(&mut self, count: usize) -> Result<&'a [[u8; N]], LayoutFault> {
        let (chunks, _) = self.rest().as_chunks::<N>();
        let taken = chunks.get(..count).ok_or(LayoutFault::Truncated)?;
        self.position += count * N;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, LayoutFault> {
        self.take::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(super) fn int(&mut self) -> Result<i32, LayoutFault> {
        self.take().map(i32::from_be_bytes)
    }

    #[inline]
    pub(super) fn oid(&mut self) -> Result<Oid, LayoutFault> {
        self.take().map(Oid::from_be_bytes)
    }

    /// A cell: the position of its bytes in the run.
    #[inline]
    pub(super) fn cell(&mut self) -> Result<Span, LayoutFault> {
        let length = self.int()?;
        self.behind_length(length)
    }

    /// A cell preceded by the OID of its type.
    #[inline]
    pub(super) fn typed_cell(&mut self) -> Result<(Oid, Span), LayoutFault> {
        let [o0, o1, o2, o3, l0, l1, l2, l3] = self.take()?;
        let cell = self.behind_length(i32::from_be_bytes([l0, l1, l2, l3]))?;
        Ok((Oid::from_be_bytes([o0, o1, o2, o3]), cell))
    }

    #[inline]
    fn behind_length(&mut self, length: i32) -> Result<Span, LayoutFault> {
        if length == -1 {
            return Ok(Span::NULL);
        }
        let length = usize::try_from(length).map_err(|_| LayoutFault::Truncated)?;
        if length > self.left() {
            return Err(LayoutFault::Truncated);
        }
        let span = Span::new(self.position, length);
        self.position += length;
        Ok(span)
    }

    /// Pushes `count` cells. Cells of one width, as in most arrays, are checked and recorded
    /// without a branch per cell.
    #[inline]
    pub(super) fn cells(&mut self, count: usize, cells: &mut Vec<Span>) -> Result<(), LayoutFault> {
        let rest = self.rest();
        let are_alike = match width_of_cells(rest, count) {
            Some(1) => push_alike::<5>(rest, self.position, cells),
            Some(2) => push_alike::<6>(rest, self.position, cells),
            Some(4) => push_alike::<8>(rest, self.position, cells),
            Some(8) => push_alike::<12>(rest, self.position, cells),
            Some(16) => push_alike::<20>(rest, self.position, cells),
            _ => false,
        };
        if are_alike {
            self.position = self.end;
            return Ok(());
        }
        cells.reserve(count);
        for _ in 0..count {
            cells.push(self.cell()?);
        }
        Ok(())
    }

    /// The remaining bytes.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.position..self.end).unwrap_or(&[])
    }

    /// The number of remaining bytes.
    #[inline]
    pub(super) fn left(&self) -> usize {
        self.end - self.position
    }

    /// Requires that nothing is left.
    pub(super) fn finish(&self) -> Result<(), LayoutFault> {
        match self.left() {
            0 => Ok(()),
            left => Err(LayoutFault::Trailing(left)),
        }
    }
}

/// The size of a cell's length field.
const LENGTH: usize = 4;

/// The width of all cells, if `count` cells of the first one's width take exactly these bytes.
#[inline]
pub(super) fn width_of_cells(bytes: &[u8], count: usize) -> Option<usize> {
    let first = bytes.first_chunk::<LENGTH>()?;
    let width = usize::try_from(i32::from_be_bytes(*first)).ok()?;
    (count.checked_mul(LENGTH + width)? == bytes.len()).then_some(width)
}

/// Whether all cells, `STRIDE` bytes each with their lengths, have the length of the first.
#[inline]
pub(super) fn are_alike<const STRIDE: usize>(cells: &[[u8; STRIDE]]) -> bool {
    let width = ((STRIDE - LENGTH) as u32).to_be_bytes();
    // Without an early exit, so that many are compared at a time.
    cells.iter().fold(true, |alike, cell| alike & cell.starts_with(&width))
}

/// Pushes the spans of cells that start at `start` in their run, if all have the same width.
#[inline]
fn push_alike<const STRIDE: usize>(bytes: &[u8], start: usize, cells: &mut Vec<Span>) -> bool {
    let (chunks, _) = bytes.as_chunks::<STRIDE>();
    if !are_alike(chunks) {
        return false;
    }
    let span = |index| Span::new(start + index * STRIDE + LENGTH, STRIDE - LENGTH);
    cells.extend((0..chunks.len()).map(span));
    true
}

/// The header of an array: its dimensions and its element type.
pub(super) struct ArrayHead<'a> {
    /// For each dimension, outermost first, its length, which is checked, and its lower bound. They
    /// stay as they came: few callers ask for them, and this runs for every array of a column.
    dimensions: &'a [[u8; 8]],
    /// The product of the dimensions; not more cells than the value's bytes can hold.
    pub(super) count: usize,
    pub(super) element: Oid,
}

impl<'a> ArrayHead<'a> {
    /// Reads the header. An array without elements has no dimensions, whatever it claims.
    #[inline]
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, LayoutFault> {
        let claimed = cursor.int()?;
        let dimensions = usize::try_from(claimed)
            .ok()
            .filter(|count| *count <= DIMENSIONS_MAX)
            .ok_or(LayoutFault::DimensionCount(claimed))?;
        let _has_nulls = cursor.int()?;
        let element = cursor.oid()?;
        let dimensions = cursor.chunks(dimensions)?;
        let mut count = usize::from(!dimensions.is_empty());
        for dimension in dimensions {
            let claimed = length_of(dimension);
            let length =
                usize::try_from(claimed).map_err(|_| LayoutFault::DimensionLength(claimed))?;
            count = count.saturating_mul(length);
        }
        // A cell's length takes at least four bytes.
        if count > cursor.left() / 4 {
            return Err(LayoutFault::Truncated);
        }
        let dimensions = if count == 0 { &[] } else { dimensions };
        Ok(Self { dimensions, count, element })
    }

    /// The length of each dimension, outermost first.
    #[inline]
    pub(super) fn lengths(&self) -> impl ExactSizeIterator<Item = usize> + use<'a> {
        // `read` has refused negative ones.
        self.dimensions.iter().map(|dimension| usize::try_from(length_of(dimension)).unwrap_or(0))
    }

    /// The index of the first element of each dimension.
    pub(super) fn lower_bounds(&self) -> impl ExactSizeIterator<Item = i32> + use<'a> {
        self.dimensions.iter().map(|[.., a, b, c, d]| i32::from_be_bytes([*a, *b, *c, *d]))
    }
}

#[inline]
fn length_of([a, b, c, d, ..]: &[u8; 8]) -> i32 {
    i32::from_be_bytes([*a, *b, *c, *d])
}
