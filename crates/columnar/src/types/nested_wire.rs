//! The frames around values within values: counts, OIDs, and cells, each a length and its bytes.

use colonnade_protocol::{Oid, Span};

use crate::nested_fault::NestedFault;

/// Dimensions that an array of PostgreSQL's can have.
pub(super) const DIMENSIONS_MAX: usize = 6;

/// Reads the frame of one value, which is a part of a longer run of bytes. What it answers are
/// places in that run, so that parts of values can go where values go.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// The next byte; at most `end`.
    position: usize,
    /// Behind the value's last byte; at most the length of `bytes`.
    end: usize,
}

impl<'a> Cursor<'a> {
    /// Over the value at a span of a run; over nothing for a NULL.
    pub(super) fn new(bytes: &'a [u8], span: Span) -> Self {
        let end = (span.start() + span.len()).min(bytes.len());
        Self { bytes, position: span.start().min(end), end }
    }

    /// Over a value by itself.
    pub(super) fn whole(raw: &'a [u8]) -> Self {
        Self { bytes: raw, position: 0, end: raw.len() }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], NestedFault> {
        let rest = self.bytes.get(self.position..self.end).unwrap_or(&[]);
        let taken = rest.first_chunk::<N>().ok_or(NestedFault::Truncated)?;
        self.position += N;
        Ok(*taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, NestedFault> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(super) fn int(&mut self) -> Result<i32, NestedFault> {
        self.take().map(i32::from_be_bytes)
    }

    pub(super) fn oid(&mut self) -> Result<Oid, NestedFault> {
        self.take().map(Oid::from_be_bytes)
    }

    /// A cell: where its bytes lie in the run.
    pub(super) fn cell(&mut self) -> Result<Span, NestedFault> {
        match self.int()? {
            -1 => Ok(Span::NULL),
            length => {
                let length = usize::try_from(length).map_err(|_| NestedFault::Truncated)?;
                if length > self.end - self.position {
                    return Err(NestedFault::Truncated);
                }
                let span = Span::new(self.position, length);
                self.position += length;
                Ok(span)
            }
        }
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.end - self.position
    }

    /// Nothing may be left.
    pub(super) fn finish(&self) -> Result<(), NestedFault> {
        match self.left() {
            0 => Ok(()),
            left => Err(NestedFault::Trailing(left)),
        }
    }
}

/// The head of an array: its dimensions, and its elements' type.
pub(super) struct ArrayHead {
    lengths: [usize; DIMENSIONS_MAX],
    dimensions: usize,
    /// The product of the dimensions; no more cells than the value has bytes for.
    pub(super) count: usize,
    pub(super) element: Oid,
}

impl ArrayHead {
    /// Reads the head. An array without elements has no dimensions, whatever it says.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, NestedFault> {
        let claimed = cursor.int()?;
        let dimensions = usize::try_from(claimed)
            .ok()
            .filter(|count| *count <= DIMENSIONS_MAX)
            .ok_or(NestedFault::DimensionCount(claimed))?;
        let _has_nulls = cursor.int()?;
        let element = cursor.oid()?;
        let mut lengths = [0; DIMENSIONS_MAX];
        let mut count = usize::from(dimensions > 0);
        for length in lengths.iter_mut().take(dimensions) {
            let claimed = cursor.int()?;
            let _lower_bound = cursor.int()?;
            *length =
                usize::try_from(claimed).map_err(|_| NestedFault::DimensionLength(claimed))?;
            count = count.saturating_mul(*length);
        }
        // A cell has a length of four bytes at least.
        if count > cursor.left() / 4 {
            return Err(NestedFault::Truncated);
        }
        let dimensions = if count == 0 { 0 } else { dimensions };
        Ok(Self { lengths, dimensions, count, element })
    }

    /// The length of each dimension, outermost first.
    pub(super) fn lengths(&self) -> &[usize] {
        self.lengths.get(..self.dimensions).unwrap_or(&[])
    }
}
