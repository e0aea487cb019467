//! Composites: the number of fields; for each field its type's OID and a cell. Dropped columns do
//! not appear. A column is a struct with a child per field.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, FieldRef, Fields as ArrowFields};
use colonnade_protocol::Span;

use super::nested_wire::Cursor;
use super::part::Part;
use super::tree::Attribute;
use super::{Built, Request};
use crate::column::{ColumnBuilder, Fields};
use crate::error::{EncodeError, Reason};
use crate::error::{LayoutFault, Place, within};
use crate::trusted;
use crate::validity::Validity;
use crate::value::Value;

pub(super) fn builder(attributes: &Arc<[Attribute]>, request: &Request) -> Built {
    Built::of(StructBuilder::new(Arc::clone(attributes), request))
}

/// A composite as a value.
pub(super) fn value<'a>(
    attributes: &[Attribute],
    raw: &'a [u8],
    depth: usize,
) -> Result<Value<'a>, Reason> {
    let mut cursor = Cursor::whole(raw);
    let mut values = Vec::with_capacity(attributes.len());
    read_head(&mut cursor, attributes.len())?;
    for attribute in attributes {
        values.push(match read_field(&mut cursor, attribute)?.slice(raw) {
            None => Value::Null,
            Some(cell) => attribute
                .pg_type
                .value_at_depth(cell, depth + 1)
                .map_err(|reason| within(Place::Field(attribute.name.clone()), reason))?,
        });
    }
    cursor.finish()?;
    Ok(Value::Composite(values))
}

/// Replaces `cells` by the cells of the fields.
pub(super) fn cells(
    attributes: &[Attribute],
    raw: &[u8],
    cells: &mut Vec<Span>,
) -> Result<(), LayoutFault> {
    let mut cursor = Cursor::whole(raw);
    cells.clear();
    read_head(&mut cursor, attributes.len())?;
    for attribute in attributes {
        cells.push(read_field(&mut cursor, attribute)?);
    }
    cursor.finish()
}

/// Appends the binary format of a composite.
pub(super) fn encode(
    attributes: &[Attribute],
    values: &[Value<'_>],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    if values.len() != attributes.len() {
        return Err(EncodeError::FieldCount { expected: attributes.len(), given: values.len() });
    }
    let count = i32::try_from(attributes.len()).map_err(|_| EncodeError::TooManyElements)?;
    out.extend_from_slice(&count.to_be_bytes());
    for (attribute, value) in attributes.iter().zip(values) {
        out.extend_from_slice(&attribute.pg_type.oid.to_be_bytes());
        attribute
            .pg_type
            .encode_cell(value, out)
            .map_err(|error| error.within(Place::Field(attribute.name.clone())))?;
    }
    Ok(())
}

pub(super) fn read_head(cursor: &mut Cursor<'_>, expected: usize) -> Result<(), LayoutFault> {
    let actual = cursor.int()?;
    if usize::try_from(actual) == Ok(expected) {
        return Ok(());
    }
    Err(LayoutFault::FieldCount { expected, actual })
}

pub(super) fn read_field(
    cursor: &mut Cursor<'_>,
    attribute: &Attribute,
) -> Result<Span, LayoutFault> {
    let expected = attribute.pg_type.oid;
    match cursor.typed_cell()? {
        (actual, cell) if actual == expected => Ok(cell),
        (actual, _) => Err(LayoutFault::PartType { expected, actual }),
    }
}

/// Builds a column of composites.
pub(super) struct StructBuilder {
    attributes: Arc<[Attribute]>,
    /// One per attribute.
    parts: Vec<Part>,
    validity: Validity,
    /// The number of rows so far, which a composite without attributes cannot tell otherwise.
    rows: usize,
    /// Scratch: the cells of a block, attribute by attribute.
    cells: Vec<Vec<Span>>,
}

impl StructBuilder {
    pub(super) fn new(attributes: Arc<[Attribute]>, request: &Request) -> Self {
        let part = |attribute: &Attribute| {
            Part::new(&attribute.name, &attribute.pg_type, attribute.type_modifier, request)
        };
        let parts: Vec<_> = attributes.iter().map(part).collect();
        let cells = vec![Vec::new(); parts.len()];
        Self { attributes, parts, validity: Validity::default(), rows: 0, cells }
    }

    /// Pushes a cell of the row to each attribute, or removes those of a faulty row again.
    fn note_row(&mut self, bytes: &[u8], span: Span) -> Result<(), LayoutFault> {
        let mut cursor = Cursor::new(bytes, span);
        read_head(&mut cursor, self.attributes.len())?;
        for (attribute, cells) in self.attributes.iter().zip(&mut self.cells) {
            cells.push(read_field(&mut cursor, attribute)?);
        }
        cursor.finish()
    }

    /// Collects the cells of a block; returns the number of NULLs, and the faulty row, if any.
    fn note_cells(&mut self, fields: Fields<'_>) -> (usize, Option<(usize, LayoutFault)>) {
        let (bytes, spans) = fields.parts();
        let mut nulls = 0;
        self.cells.iter_mut().for_each(Vec::clear);
        for (row, span) in spans.iter().enumerate() {
            if span.is_null() {
                nulls += 1;
                self.cells.iter_mut().for_each(|cells| cells.push(Span::NULL));
            } else if let Err(fault) = self.note_row(bytes, *span) {
                self.cells.iter_mut().for_each(|cells| cells.truncate(row));
                return (nulls, Some((row, fault)));
            }
        }
        (nulls, None)
    }
}

impl ColumnBuilder for StructBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let (nulls, fault) = self.note_cells(fields);
        let mut first = fault.map(|(row, fault)| (row, Reason::from(fault)));
        let parts = self.parts.iter_mut().zip(&self.cells).zip(self.attributes.iter());
        for ((part, cells), attribute) in parts {
            let cells = Fields::new(fields.parts().0, cells);
            let Err((row, reason)) = part.append(cells) else { continue };
            if first.as_ref().is_none_or(|(earliest, _)| row < *earliest) {
                first = Some((row, within(Place::Field(attribute.name.clone()), reason)));
            }
        }
        if let Some(error) = first {
            return Err(error);
        }
        self.rows += fields.len();
        self.validity.append(fields, nulls, &[]);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let (fields, arrays): (Vec<FieldRef>, Vec<ArrayRef>) =
            self.parts.iter_mut().map(Part::finish).unzip();
        let rows = std::mem::take(&mut self.rows);
        trusted::struct_array(fields.into(), arrays, rows, self.validity.finish())
    }

    fn data_type(&self) -> DataType {
        DataType::Struct(self.parts.iter().map(Part::field).collect::<ArrowFields>())
    }

    fn nbytes(&self) -> usize {
        let parts: usize = self.parts.iter().map(|part| part.builder.nbytes()).sum();
        parts + self.validity.nbytes()
    }
}
