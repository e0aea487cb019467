//! Anonymous records, such as `ROW(1, 'a')` returns: the format of a composite, but only the value
//! itself gives the types of its fields. A column has the fields of its first record, named `f1`,
//! `f2`, ... as in PostgreSQL; a record with other fields is an error.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use colonnade_protocol::{Format, Oid, Span};

use super::composite::StructBuilder;
use super::nested_wire::Cursor;
use super::tree::{Attribute, Shape, Type};
use super::{Built, Request, composite};
use crate::catalog::Types;
use crate::column::{ColumnBuilder, Fields};
use crate::error::LayoutFault;
use crate::error::Reason;
use crate::value::{OfType, Value};

/// `record` and `record[]`, whose values can have fields of any type.
pub const RECORDS: [Oid; 2] = [2249, 2287];

/// The maximum nesting of a record, whose value alone determines its content.
const DEPTH_MAX: usize = 64;

pub(super) fn builder(types: &Types, request: &Request) -> Built {
    Built::of(RecordBuilder {
        types: types.clone(),
        request: request.with_cast(None),
        is_fixed: false,
        nulls: 0,
        records: None,
    })
}

/// A record as a value.
pub(super) fn value<'a>(types: &Types, raw: &'a [u8], depth: usize) -> Result<Value<'a>, Reason> {
    if depth >= DEPTH_MAX {
        return Err(LayoutFault::TooDeep.into());
    }
    let attributes = attributes_of(types, &mut Cursor::whole(raw))?;
    let Value::Composite(values) = composite::value(&attributes, raw, depth)? else {
        return Err(LayoutFault::Truncated.into());
    };
    // Only the record itself knows the types of its fields.
    let described = attributes.into_iter().zip(values).map(|(attribute, value)| match value {
        Value::Null => Value::Null,
        value if attribute.pg_type.has_own_making() => {
            Value::OfType(Box::new(OfType { pg_type: attribute.pg_type, value }))
        }
        value => value,
    });
    Ok(Value::Composite(described.collect()))
}

/// The fields of a record, read from the value.
fn attributes_of(types: &Types, cursor: &mut Cursor<'_>) -> Result<Vec<Attribute>, LayoutFault> {
    let count = cursor.int()?;
    let count = usize::try_from(count)
        // A field has an OID and a length.
        .ok()
        .filter(|count| *count <= cursor.left() / 8)
        .ok_or(LayoutFault::Truncated)?;
    let mut attributes = Vec::with_capacity(count);
    for number in 1..=count {
        let oid = cursor.oid()?;
        cursor.cell()?;
        let found = types.find(oid).ok_or(LayoutFault::UnknownType(oid))?;
        // The parts of a record come in the binary format, but this type is read as text.
        let pg_type = match found.format() {
            Format::Binary => found,
            Format::Text => Arc::new(Type { shape: Shape::Opaque, ..found.as_ref().clone() }),
        };
        attributes.push(Attribute { name: format!("f{number}"), pg_type, type_modifier: -1 });
    }
    Ok(attributes)
}

struct RecordBuilder {
    types: Types,
    request: Request,
    /// Whether the first batch has fixed the column's type.
    is_fixed: bool,
    /// NULLs before the first record.
    nulls: usize,
    /// `None` before the first record.
    records: Option<StructBuilder>,
}

impl RecordBuilder {
    /// Begins with the fields of the block's first record, if there is one; NULLs may precede it.
    fn begin(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let (bytes, spans) = fields.parts();
        let Some(row) = spans.iter().position(|span| !span.is_null()) else { return Ok(()) };
        if self.is_fixed {
            return Err((row, LayoutFault::MixedRecords.into()));
        }
        if self.request.depth >= DEPTH_MAX {
            return Err((row, LayoutFault::TooDeep.into()));
        }
        let first = spans.get(row).copied().unwrap_or(Span::NULL);
        let attributes = attributes_of(&self.types, &mut Cursor::new(bytes, first))
            .map_err(|fault| (row, fault.into()))?;
        let mut records = StructBuilder::new(attributes.into(), &self.request);
        let nulls = vec![Span::NULL; std::mem::take(&mut self.nulls)];
        records.append(Fields::new(&[], &nulls)).map_err(|(_, reason)| (row, reason))?;
        self.records = Some(records);
        Ok(())
    }
}

impl ColumnBuilder for RecordBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        if self.records.is_none() {
            self.begin(fields)?;
        }
        match &mut self.records {
            None => {
                self.nulls += fields.len();
                Ok(())
            }
            Some(records) => records.append(fields).map_err(|(row, reason)| match reason {
                // Types are not out of date here: this record just differs from the others.
                Reason::Layout(LayoutFault::PartType { .. } | LayoutFault::FieldCount { .. }) => {
                    (row, LayoutFault::MixedRecords.into())
                }
                other => (row, other),
            }),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        self.is_fixed = true;
        match &mut self.records {
            Some(records) => records.finish(),
            None => Arc::new(arrow_array::NullArray::new(std::mem::take(&mut self.nulls))),
        }
    }

    fn data_type(&self) -> DataType {
        self.records.as_ref().map_or(DataType::Null, ColumnBuilder::data_type)
    }

    fn nbytes(&self) -> usize {
        self.records.as_ref().map_or(0, ColumnBuilder::nbytes)
    }
}
