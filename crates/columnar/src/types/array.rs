//! Arrays of any type in the binary format: the number of dimensions, whether there are NULLs, and
//! the elements' OID; for each dimension its length and lower bound; then a cell per element, in
//! row-major order. `int2vector` and `oidvector` use this format too.
//!
//! A column is a list, nested as deep as its arrays have dimensions. PostgreSQL's types do not fix
//! the number of dimensions: the first array with an element does, and another number is an error.
//! An array without elements is an empty list. Lower bounds are dropped.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, FieldRef};
use colonnade_protocol::{Oid, Span};

use super::nested_wire::{ArrayHead, Cursor};
use super::part::Part;
use super::tree::Type;
use super::{Built, Request};
use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::error::{EncodeError, Reason};
use crate::error::{LayoutFault, Place, within};
use crate::trusted;
use crate::validity::Validity;
use crate::value::{List, Value};

/// Arrow's name for the field of a list's elements.
const ITEM: &str = "item";

/// PostgreSQL's limits on the dimensions and elements of an array.
pub(crate) const DIMENSIONS_MOST: usize = 6;
pub(crate) const ELEMENTS_MOST: usize = (1 << 27) - 1;

/// The builder of a column of arrays in the binary format.
pub(super) fn builder(element: &Type, request: &Request) -> Built {
    let wire = ArrayWire { element: element.oid };
    let part = Part::new(ITEM, element, request.type_modifier, request);
    Built::of(ListBuilder::new(wire, part))
}

/// An array as a value.
pub(super) fn value<'a>(element: &Type, raw: &'a [u8], depth: usize) -> Result<Value<'a>, Reason> {
    let mut cursor = Cursor::whole(raw);
    let head = checked_head(&mut cursor, element.oid)?;
    let mut elements = Vec::with_capacity(head.count);
    for index in 0..head.count {
        elements.push(match cursor.cell()?.slice(raw) {
            None => Value::Null,
            Some(cell) => element
                .value_at_depth(cell, depth + 1)
                .map_err(|reason| within(Place::Element(index), reason))?,
        });
    }
    cursor.finish()?;
    Ok(Value::List(List { dimensions: head.lengths().collect(), elements }))
}

/// Replaces `cells` by the cells of the elements; returns false if there are several dimensions.
pub(super) fn flat_cells(
    element: &Type,
    raw: &[u8],
    cells: &mut Vec<Span>,
) -> Result<bool, LayoutFault> {
    let mut cursor = Cursor::whole(raw);
    let head = checked_head(&mut cursor, element.oid)?;
    if head.lengths().len() > 1 {
        return Ok(false);
    }
    cells.clear();
    cursor.cells(head.count, cells)?;
    cursor.finish()?;
    Ok(true)
}

/// Appends the binary format of an array.
pub(super) fn encode(
    element: &Type,
    list: &List<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let has_nulls = list.elements.contains(&Value::Null);
    encode_head(element.oid, &list.dimensions, has_nulls, out)?;
    for (index, value) in list.elements.iter().enumerate() {
        element.encode_cell(value, out).map_err(|error| error.within(Place::Element(index)))?;
    }
    Ok(())
}

/// Appends the header of an array's binary format; lower bounds are 1. The server would refuse an
/// array with more dimensions or elements.
pub fn encode_head(
    element: Oid,
    dimensions: &[usize],
    has_nulls: bool,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let count = dimensions.iter().try_fold(1_usize, |all, length| all.checked_mul(*length));
    if dimensions.len() > DIMENSIONS_MOST || count.is_none_or(|count| count > ELEMENTS_MOST) {
        return Err(EncodeError::TooManyElements);
    }
    let int = |number: usize| i32::try_from(number).map_err(|_| EncodeError::TooManyElements);
    out.extend_from_slice(&int(dimensions.len())?.to_be_bytes());
    out.extend_from_slice(&i32::from(has_nulls).to_be_bytes());
    out.extend_from_slice(&element.to_be_bytes());
    for length in dimensions {
        out.extend_from_slice(&int(*length)?.to_be_bytes());
        out.extend_from_slice(&1_i32.to_be_bytes());
    }
    Ok(())
}

/// Reads the header of an array whose elements are of this type.
pub(super) fn checked_head<'a>(
    cursor: &mut Cursor<'a>,
    expected: Oid,
) -> Result<ArrayHead<'a>, LayoutFault> {
    let head = ArrayHead::read(cursor)?;
    if head.element != expected {
        return Err(LayoutFault::PartType { expected, actual: head.element });
    }
    Ok(head)
}

/// A value that holds a list of cells.
pub(super) trait ListWire: Send + Sync + 'static {
    /// Reads the bytes before the cells and returns the number of cells. `lengths` receives the
    /// length of each dimension; it must be empty, and stays so for a value without cells.
    fn head(&self, cursor: &mut Cursor<'_>, lengths: &mut Vec<usize>)
    -> Result<usize, LayoutFault>;

    /// Pushes the spans of `count` cells, with which the value ends.
    fn cells(
        &self,
        cursor: &mut Cursor<'_>,
        count: usize,
        cells: &mut Vec<Span>,
    ) -> Result<(), LayoutFault> {
        cursor.cells(count, cells)?;
        cursor.finish()
    }
}

struct ArrayWire {
    element: Oid,
}

impl ListWire for ArrayWire {
    fn head(
        &self,
        cursor: &mut Cursor<'_>,
        lengths: &mut Vec<usize>,
    ) -> Result<usize, LayoutFault> {
        let head = checked_head(cursor, self.element)?;
        lengths.extend(head.lengths());
        Ok(head.count)
    }
}

/// Builds a column of lists: the cells of a block's values are passed to the elements' builder as a
/// block of their own. If the elements' builder can take adjacent cells directly, no spans are made
/// of them: numbers can, up to the first NULL among them in each block.
pub(super) struct ListBuilder<W> {
    wire: W,
    levels: Levels,
    validity: Validity,
    elements: Part,
    /// Scratch: the cells of a block.
    cells: Vec<Span>,
    /// Scratch: the number of the block's cells before each row.
    cells_before: Vec<usize>,
}

impl<W: ListWire> ListBuilder<W> {
    pub(super) fn new(wire: W, elements: Part) -> Self {
        Self {
            wire,
            levels: Levels::new(),
            validity: Validity::default(),
            elements,
            cells: Vec::new(),
            cells_before: Vec::new(),
        }
    }

    /// Collects the cells of a block, except those that the elements' builder takes at once;
    /// returns the number of NULLs, and the first row whose layout is faulty. The rows before that
    /// one are collected.
    fn note_cells(&mut self, fields: Fields<'_>) -> (usize, Option<(usize, LayoutFault)>) {
        let (bytes, spans) = fields.parts();
        let mut nulls = 0;
        let mut lengths = Vec::new();
        self.cells.clear();
        self.cells_before.clear();
        for (row, span) in spans.iter().enumerate() {
            self.cells_before.push(self.cells.len());
            lengths.clear();
            let read = if span.is_null() {
                nulls += 1;
                Ok(())
            } else {
                self.note_row(Cursor::new(bytes, *span), &mut lengths)
            };
            if let Err(fault) = read.and_then(|()| self.levels.push(&lengths)) {
                self.cells.truncate(self.cells_before.last().copied().unwrap_or(0));
                return (nulls, Some((row, fault)));
            }
        }
        (nulls, None)
    }

    fn note_row(
        &mut self,
        mut cursor: Cursor<'_>,
        lengths: &mut Vec<usize>,
    ) -> Result<(), LayoutFault> {
        let count = self.wire.head(&mut cursor, lengths)?;
        // Once cells are collected, later ones must not overtake them.
        if self.cells.is_empty() && self.elements.builder.append_cells(cursor.rest(), count) {
            return Ok(());
        }
        self.wire.cells(&mut cursor, count, &mut self.cells)
    }
}

impl<W: ListWire> ColumnBuilder for ListBuilder<W> {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let (nulls, fault) = self.note_cells(fields);
        let cells = Fields::new(fields.parts().0, &self.cells);
        self.elements.append(cells).map_err(|(cell, reason)| {
            let row = self.cells_before.partition_point(|before| *before <= cell).max(1) - 1;
            let first = self.cells_before.get(row).copied().unwrap_or(0);
            (row, within(Place::Element(cell - first), reason))
        })?;
        if let Some((row, fault)) = fault {
            return Err((row, fault.into()));
        }
        self.validity.append(fields, nulls, &[]);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let (field, elements) = self.elements.finish();
        self.levels.finish(field, elements, &mut self.validity)
    }

    fn data_type(&self) -> DataType {
        self.levels.data_type(self.elements.field())
    }

    fn nbytes(&self) -> usize {
        self.levels.nbytes() + self.validity.nbytes() + self.elements.builder.nbytes()
    }
}

/// The offsets of nested lists, outermost first.
pub(super) struct Levels {
    /// One per dimension, or one while their number is unknown. Each begins with 0; the last offset
    /// of a level is the number of lists in the next level, or of elements.
    offsets: Vec<Vec<i32>>,
    /// Whether the number of dimensions is fixed.
    is_fixed: bool,
}

impl Levels {
    pub(super) fn new() -> Self {
        Self { offsets: vec![vec![0]], is_fixed: false }
    }

    /// Appends an array with these dimensions; none for an array without elements or a NULL.
    pub(super) fn push(&mut self, lengths: &[usize]) -> Result<(), LayoutFault> {
        if !lengths.is_empty() && !self.is_fixed {
            self.is_fixed = true;
            self.offsets.resize(lengths.len(), vec![0]);
        }
        if !lengths.is_empty() && lengths.len() != self.offsets.len() {
            return Err(LayoutFault::MixedDimensions {
                column: self.offsets.len(),
                value: lengths.len(),
            });
        }
        if let ([level], [] | [_]) = (self.offsets.as_mut_slice(), lengths) {
            let step = lengths.first().copied().unwrap_or(0);
            let end = i32::try_from(step).ok().zip(level.last().copied());
            let end = end.and_then(|(step, end)| end.checked_add(step));
            level.push(end.ok_or(LayoutFault::TooManyElements)?);
            return Ok(());
        }
        // An array without elements appears in the outermost level only.
        let lengths = if lengths.is_empty() { &[0][..] } else { lengths };
        let mut lists = 1_usize;
        for (level, length) in self.offsets.iter_mut().zip(lengths) {
            let mut end = level.last().copied().unwrap_or(0);
            let step = i32::try_from(*length).map_err(|_| LayoutFault::TooManyElements)?;
            level.reserve(lists);
            for _ in 0..lists {
                end = end.checked_add(step).ok_or(LayoutFault::TooManyElements)?;
                level.push(end);
            }
            lists = lists.saturating_mul(*length);
        }
        Ok(())
    }

    pub(super) fn finish(
        &mut self,
        mut field: FieldRef,
        mut array: ArrayRef,
        validity: &mut Validity,
    ) -> ArrayRef {
        self.is_fixed = true;
        for (level, offsets) in self.offsets.iter_mut().enumerate().rev() {
            let taken = take_buffer(offsets);
            offsets.push(0);
            let nulls = if level == 0 { validity.finish() } else { None };
            array = trusted::list_array(Arc::clone(&field), taken, array, nulls);
            field = Arc::new(Field::new(ITEM, array.data_type().clone(), true));
        }
        array
    }

    pub(super) fn data_type(&self, field: FieldRef) -> DataType {
        let outer = (1..self.offsets.len())
            .fold(field, |field, _| Arc::new(Field::new(ITEM, DataType::List(field), true)));
        DataType::List(outer)
    }

    pub(super) fn nbytes(&self) -> usize {
        self.offsets.iter().map(|offsets| size_of_val(offsets.as_slice())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_an_array_can_have_is_refused() {
        const HALF: usize = 1 << 26;
        let mut out = b"x".to_vec();
        for dimensions in [&[ELEMENTS_MOST][..], &[HALF, 1], &[1, 1, 1, 1, 1, 9], &[]] {
            assert_eq!(encode_head(23, dimensions, true, &mut out), Ok(()));
        }
        out.truncate(1);
        let too_many: [&[usize]; 6] = [
            &[ELEMENTS_MOST + 1],
            &[HALF, 2],
            &[1 << 31],
            &[usize::MAX, usize::MAX],
            &[1 << 32, 1 << 32],
            &[1; DIMENSIONS_MOST + 1],
        ];
        for dimensions in too_many {
            let refused = encode_head(23, dimensions, true, &mut out);
            assert_eq!(refused, Err(EncodeError::TooManyElements), "{dimensions:?}");
        }
        assert_eq!(out, b"x");
    }
}
