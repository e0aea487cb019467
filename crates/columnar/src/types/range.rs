//! Ranges: a byte of flags, then a cell for each finite bound. Multiranges: the number of ranges,
//! then each in a cell of its own.
//!
//! A column of ranges is a struct of both bounds, whether each is inclusive, and whether the range
//! is empty; a missing bound, or a bound of an empty range, is NULL. A column of multiranges is a
//! list of such structs.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::{DataType, Field, Fields as ArrowFields};
use colonnade_protocol::Span;

use super::array::{ListBuilder, ListWire};
use super::nested_wire::Cursor;
use super::part::Part;
use super::tree::Type;
use super::{Built, Request};
use crate::column::{ColumnBuilder, Fields};
use crate::error::{EncodeError, Reason};
use crate::error::{LayoutFault, Place, within};
use crate::trusted;
use crate::validity::{Bits, Validity};
use crate::value::{Range, Value};

use self::flags::{EMPTY, LOWER_INCLUSIVE, LOWER_INFINITE, UPPER_INCLUSIVE, UPPER_INFINITE};

/// The flags in the first byte of a range.
pub(crate) mod flags {
    /// The range is empty.
    pub(crate) const EMPTY: u8 = 0x01;
    /// The lower bound is inclusive.
    pub(crate) const LOWER_INCLUSIVE: u8 = 0x02;
    /// The upper bound is inclusive.
    pub(crate) const UPPER_INCLUSIVE: u8 = 0x04;
    /// There is no lower bound.
    pub(crate) const LOWER_INFINITE: u8 = 0x08;
    /// There is no upper bound.
    pub(crate) const UPPER_INFINITE: u8 = 0x10;
}

pub(super) fn builder(subtype: &Type, request: &Request) -> Built {
    Built::of(RangeBuilder::new(subtype, request))
}

pub(super) fn multirange_builder(subtype: &Type, request: &Request) -> Built {
    let ranges = RangeBuilder::new(subtype, request);
    let part = Part::of_builder("item", Box::new(ranges));
    Built::of(ListBuilder::new(MultirangeWire, part))
}

/// A range in the wire format.
pub(super) struct Frame {
    flags: u8,
    pub(super) lower: Span,
    pub(super) upper: Span,
}

impl Frame {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, LayoutFault> {
        let flags = cursor.byte()?;
        let contradicts =
            |inclusive, infinite| flags & inclusive != 0 && flags & (infinite | EMPTY) != 0;
        if flags > (EMPTY | LOWER_INCLUSIVE | UPPER_INCLUSIVE | LOWER_INFINITE | UPPER_INFINITE)
            || contradicts(LOWER_INCLUSIVE, LOWER_INFINITE)
            || contradicts(UPPER_INCLUSIVE, UPPER_INFINITE)
        {
            return Err(LayoutFault::RangeFlags(flags));
        }
        let mut bound = |infinite| match flags & (infinite | EMPTY) {
            0 => match cursor.cell()? {
                Span::NULL => Err(LayoutFault::Truncated),
                cell => Ok(cell),
            },
            _ => Ok(Span::NULL),
        };
        let (lower, upper) = (bound(LOWER_INFINITE)?, bound(UPPER_INFINITE)?);
        cursor.finish()?;
        Ok(Self { flags, lower, upper })
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A range as a value.
pub(super) fn value<'a>(subtype: &Type, raw: &'a [u8], depth: usize) -> Result<Value<'a>, Reason> {
    read_value(subtype, raw, depth).map(|range| Value::Range(Box::new(range)))
}

fn read_value<'a>(subtype: &Type, raw: &'a [u8], depth: usize) -> Result<Range<'a>, Reason> {
    let frame = Frame::read(&mut Cursor::whole(raw))?;
    if frame.has(EMPTY) {
        return Ok(Range::Empty);
    }
    let bound = |span: Span, place| match span.slice(raw) {
        None => Ok(Value::Null),
        Some(cell) => {
            subtype.value_at_depth(cell, depth + 1).map_err(|reason| within(place, reason))
        }
    };
    Ok(Range::Bounds {
        lower: bound(frame.lower, Place::LowerBound)?,
        upper: bound(frame.upper, Place::UpperBound)?,
        lower_inclusive: frame.has(LOWER_INCLUSIVE),
        upper_inclusive: frame.has(UPPER_INCLUSIVE),
    })
}

/// A multirange as a value.
pub(super) fn multirange_value<'a>(
    subtype: &Type,
    raw: &'a [u8],
    depth: usize,
) -> Result<Value<'a>, Reason> {
    let mut cells = Vec::new();
    let mut cursor = Cursor::whole(raw);
    let count = MultirangeWire.head(&mut cursor, &mut Vec::new())?;
    MultirangeWire.cells(&mut cursor, count, &mut cells)?;
    let ranges = cells.iter().enumerate().map(|(index, span)| {
        read_value(subtype, span.slice(raw).unwrap_or(&[]), depth)
            .map_err(|reason| within(Place::Element(index), reason))
    });
    ranges.collect::<Result<_, _>>().map(Value::Multirange)
}

/// Appends the binary format of a range.
pub(super) fn encode(
    subtype: &Type,
    range: &Range<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let Range::Bounds { lower, upper, lower_inclusive, upper_inclusive } = range else {
        out.push(EMPTY);
        return Ok(());
    };
    let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
    let flags = |bound: &Value<'_>, is_inclusive: bool, inclusive: u8, infinite: u8| {
        let is_infinite = *bound == Value::Null;
        // A missing bound cannot be inclusive; PostgreSQL reads it in this way, too.
        flag(is_infinite, infinite) | flag(is_inclusive && !is_infinite, inclusive)
    };
    out.push(
        flags(lower, *lower_inclusive, LOWER_INCLUSIVE, LOWER_INFINITE)
            | flags(upper, *upper_inclusive, UPPER_INCLUSIVE, UPPER_INFINITE),
    );
    for (bound, place) in [(lower, Place::LowerBound), (upper, Place::UpperBound)] {
        if *bound != Value::Null {
            subtype.encode_cell(bound, out).map_err(|error| error.within(place))?;
        }
    }
    Ok(())
}

/// Appends the binary format of a multirange.
pub(super) fn encode_multirange(
    subtype: &Type,
    ranges: &[Range<'_>],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let count = i32::try_from(ranges.len()).map_err(|_| EncodeError::TooManyElements)?;
    out.extend_from_slice(&count.to_be_bytes());
    for (index, range) in ranges.iter().enumerate() {
        super::tree::push_cell(out, |out| encode(subtype, range, out))
            .map_err(|error| error.within(Place::Element(index)))?;
    }
    Ok(())
}

struct MultirangeWire;

impl ListWire for MultirangeWire {
    fn head(
        &self,
        cursor: &mut Cursor<'_>,
        lengths: &mut Vec<usize>,
    ) -> Result<usize, LayoutFault> {
        let claimed = cursor.int()?;
        let count = usize::try_from(claimed)
            .ok()
            .filter(|count| *count <= cursor.left() / 4)
            .ok_or(LayoutFault::Truncated)?;
        if count > 0 {
            lengths.push(count);
        }
        Ok(count)
    }

    fn cells(
        &self,
        cursor: &mut Cursor<'_>,
        count: usize,
        cells: &mut Vec<Span>,
    ) -> Result<(), LayoutFault> {
        let before = cells.len();
        cursor.cells(count, cells)?;
        if cells.iter().skip(before).any(|cell| cell.is_null()) {
            return Err(LayoutFault::Truncated);
        }
        cursor.finish()
    }
}

/// Builds a column of ranges.
struct RangeBuilder {
    lower: Part,
    upper: Part,
    lower_inclusive: Bits,
    upper_inclusive: Bits,
    empty: Bits,
    validity: Validity,
    /// Scratch: the bounds of a block.
    lower_cells: Vec<Span>,
    upper_cells: Vec<Span>,
}

impl RangeBuilder {
    fn new(subtype: &Type, request: &Request) -> Self {
        Self {
            lower: Part::new("lower", subtype, request.type_modifier, request),
            upper: Part::new("upper", subtype, request.type_modifier, request),
            lower_inclusive: Bits::default(),
            upper_inclusive: Bits::default(),
            empty: Bits::default(),
            validity: Validity::default(),
            lower_cells: Vec::new(),
            upper_cells: Vec::new(),
        }
    }

    /// Collects the bounds of a block and its flags; returns the number of NULLs, and the faulty
    /// row, if any.
    fn note(&mut self, fields: Fields<'_>) -> (usize, Option<(usize, LayoutFault)>) {
        let (bytes, spans) = fields.parts();
        let mut nulls = 0;
        self.lower_cells.clear();
        self.upper_cells.clear();
        for (row, span) in spans.iter().enumerate() {
            let frame = if span.is_null() {
                nulls += 1;
                Frame { flags: 0, lower: Span::NULL, upper: Span::NULL }
            } else {
                match Frame::read(&mut Cursor::new(bytes, *span)) {
                    Ok(frame) => frame,
                    Err(fault) => return (nulls, Some((row, fault))),
                }
            };
            self.lower_cells.push(frame.lower);
            self.upper_cells.push(frame.upper);
            self.lower_inclusive.push_word(u64::from(frame.has(LOWER_INCLUSIVE)), 1);
            self.upper_inclusive.push_word(u64::from(frame.has(UPPER_INCLUSIVE)), 1);
            self.empty.push_word(u64::from(frame.has(EMPTY)), 1);
        }
        (nulls, None)
    }

    fn fields(&self) -> ArrowFields {
        let flag = |name| Arc::new(Field::new(name, DataType::Boolean, true));
        ArrowFields::from_iter([
            self.lower.field(),
            self.upper.field(),
            flag("lower_inc"),
            flag("upper_inc"),
            flag("empty"),
        ])
    }
}

impl ColumnBuilder for RangeBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let (nulls, fault) = self.note(fields);
        let mut first = fault.map(|(row, fault)| (row, Reason::from(fault)));
        let bytes = fields.parts().0;
        let bounds = [
            (&mut self.lower, &self.lower_cells, Place::LowerBound),
            (&mut self.upper, &self.upper_cells, Place::UpperBound),
        ];
        for (part, cells, place) in bounds {
            let Err((row, reason)) = part.append(Fields::new(bytes, cells)) else { continue };
            if first.as_ref().is_none_or(|(earliest, _)| row < *earliest) {
                first = Some((row, within(place, reason)));
            }
        }
        if let Some(error) = first {
            return Err(error);
        }
        self.validity.append(fields, nulls, &[]);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let rows = self.validity.len();
        let (_, lower) = self.lower.finish();
        let (_, upper) = self.upper.finish();
        let flags = [&mut self.lower_inclusive, &mut self.upper_inclusive, &mut self.empty]
            .map(|bits| Arc::new(BooleanArray::new(bits.finish(), None)) as ArrayRef);
        let arrays = [lower, upper].into_iter().chain(flags).collect();
        trusted::struct_array(self.fields(), arrays, rows, self.validity.finish())
    }

    fn data_type(&self) -> DataType {
        DataType::Struct(self.fields())
    }

    fn nbytes(&self) -> usize {
        let bounds = self.lower.builder.nbytes() + self.upper.builder.nbytes();
        bounds + 3 * self.empty.nbytes() + self.validity.nbytes()
    }
}
