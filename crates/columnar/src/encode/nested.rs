//! To arrays, composites, ranges and multiranges: nested cells.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::DataType;
use colonnade_protocol::Oid;

use super::cells::{MadeCells, NULL_LENGTH, PushValue, nulls_of, push_null};
use super::plan::{column_encoder, refused};
use super::{CastError, ColumnEncoder, EncodeOptions};
use crate::arrow_value::elements;
use crate::error::EncodeError;
use crate::types::{Attribute, Type, encode_array_head, range_flags};

/// The fields of a struct for a range, for messages.
pub(super) const BOUNDS: &str = "lower, upper, lower_inc, upper_inc and empty";

type Encoder = Option<Box<dyn ColumnEncoder>>;

/// The values of a list array.
fn values_of(array: &dyn Array) -> Option<ArrayRef> {
    Some(match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().values().clone(),
        DataType::LargeList(_) => array.as_list::<i64>().values().clone(),
        DataType::FixedSizeList(..) => array.as_fixed_size_list().values().clone(),
        DataType::ListView(_) => array.as_list_view::<i32>().values().clone(),
        DataType::LargeListView(_) => array.as_list_view::<i64>().values().clone(),
        _ => return None,
    })
}

/// An encoder of lists to an array.
pub(super) fn list(
    target: &Type,
    element: &Arc<Type>,
    type_modifier: i32,
    array: &ArrayRef,
    options: &EncodeOptions,
) -> Result<Encoder, CastError> {
    let Some(mut values) = values_of(array) else { return Ok(None) };
    let mut levels = vec![Arc::clone(array)];
    // A list within a list adds a dimension, unless the element itself is encoded from a list.
    let error = loop {
        match column_encoder(element, type_modifier, &values, options) {
            Ok(encoder) => {
                let lists = Lists { element: element.oid, levels, values, encoder };
                return Ok(Some(MadeCells::boxed(lists, nulls_of(array))));
            }
            Err(error) => match values_of(&values) {
                Some(inner) => levels.push(std::mem::replace(&mut values, inner)),
                None => break error,
            },
        }
    };
    let advice = format!("of its elements, {}", error.advice);
    Err(refused(target, array, advice))
}

struct Lists {
    /// The type of the elements.
    element: Oid,
    /// A list array for each dimension.
    levels: Vec<ArrayRef>,
    /// The values of the innermost lists.
    values: ArrayRef,
    encoder: Box<dyn ColumnEncoder>,
}

impl PushValue for Lists {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut dimensions = Vec::with_capacity(self.levels.len());
        let mut runs = vec![(row, 1)];
        for (depth, level) in self.levels.iter().enumerate() {
            let mut inner = Vec::with_capacity(runs.len());
            let mut length = None;
            for list in runs.into_iter().flat_map(|(start, len)| start..start + len) {
                let (_, start, len) = elements(level, list).ok_or(EncodeError::Ragged)?;
                let is_null = depth > 0 && level.is_null(list);
                if is_null || *length.get_or_insert(len) != len {
                    return Err(EncodeError::Ragged);
                }
                inner.push((start, len));
            }
            dimensions.push(length.unwrap_or(0));
            runs = inner;
        }
        // An array without elements has no dimensions.
        if dimensions.contains(&0) {
            dimensions.clear();
            runs.clear();
        }
        let rows = || runs.iter().flat_map(|(start, len)| *start..*start + *len);
        let has_nulls = self.values.null_count() > 0 && rows().any(|row| self.values.is_null(row));
        encode_array_head(self.element, &dimensions, has_nulls, out)?;
        rows().try_for_each(|row| self.encoder.push_cell(row, out))
    }
}

/// An encoder of structs to a composite: fields are matched by name, missing ones are NULL.
pub(super) fn composite(
    target: &Type,
    attributes: &[Attribute],
    array: &ArrayRef,
    options: &EncodeOptions,
) -> Result<Encoder, CastError> {
    let Some(fields) = array.as_struct_opt() else { return Ok(None) };
    let is_known = |name: &&str| attributes.iter().any(|attribute| attribute.name == **name);
    if let Some(unknown) = fields.column_names().iter().find(|name| !is_known(name)) {
        let advice = format!("the type has no field {unknown:?}");
        return Err(refused(target, array, advice));
    }
    let mut parts = Vec::with_capacity(attributes.len());
    for attribute in attributes {
        let encoder = match fields.column_by_name(&attribute.name) {
            Some(column) => {
                let modifier = attribute.type_modifier;
                Some(column_encoder(&attribute.pg_type, modifier, column, options).map_err(
                    |error| {
                        let CastError { arrow_type, type_name, advice, .. } = error;
                        let name = &attribute.name;
                        let advice =
                            format!("{arrow_type} of its field {name:?} to {type_name}: {advice}");
                        refused(target, array, advice)
                    },
                )?)
            }
            None => None,
        };
        parts.push((attribute.pg_type.oid, encoder));
    }
    Ok(Some(MadeCells::boxed(Structs { parts }, nulls_of(array))))
}

struct Structs {
    /// The type of each field, and its encoder if the array has the field.
    parts: Vec<(Oid, Encoder)>,
}

impl PushValue for Structs {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        // At most 1600, PostgreSQL's limit.
        out.extend_from_slice(&(self.parts.len() as u32).to_be_bytes());
        for (oid, encoder) in &self.parts {
            out.extend_from_slice(&oid.to_be_bytes());
            match encoder {
                Some(encoder) => encoder.push_cell(row, out)?,
                None => push_null(out),
            }
        }
        Ok(())
    }
}

/// An encoder of structs to a range.
pub(super) fn range(
    subtype: &Arc<Type>,
    array: &ArrayRef,
    options: &EncodeOptions,
) -> Result<Encoder, CastError> {
    let ranges = match array.as_struct_opt() {
        Some(fields) => Ranges::new(subtype, fields, options)?,
        None => None,
    };
    Ok(ranges.map(|ranges| MadeCells::boxed(ranges, nulls_of(array))))
}

struct Ranges {
    lower: Box<dyn ColumnEncoder>,
    upper: Box<dyn ColumnEncoder>,
    fields: StructArray,
}

impl Ranges {
    fn new(
        subtype: &Arc<Type>,
        fields: &StructArray,
        options: &EncodeOptions,
    ) -> Result<Option<Self>, CastError> {
        let known = ["lower", "upper", "lower_inc", "upper_inc", "empty"];
        let (Some(lower), Some(upper)) =
            (fields.column_by_name("lower"), fields.column_by_name("upper"))
        else {
            return Ok(None);
        };
        let is_flag = |name: &str| {
            fields
                .column_by_name(name)
                .is_none_or(|column| *column.data_type() == DataType::Boolean)
        };
        if !fields.column_names().iter().all(|name| known.contains(name))
            || !known.iter().skip(2).all(|name| is_flag(name))
        {
            return Ok(None);
        }
        Ok(Some(Self {
            lower: column_encoder(subtype, -1, lower, options)?,
            upper: column_encoder(subtype, -1, upper, options)?,
            fields: fields.clone(),
        }))
    }

    /// A missing field has the default of PostgreSQL's range constructors.
    fn flag(&self, name: &str, row: usize, default: bool) -> bool {
        self.fields.column_by_name(name).map_or(default, |column| {
            column
                .as_boolean_opt()
                .filter(|flags| flags.is_valid(row))
                .map_or(default, |flags| flags.value(row))
        })
    }
}

impl PushValue for Ranges {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if self.flag("empty", row, false) {
            out.push(range_flags::EMPTY);
            return Ok(());
        }
        let flags_at = out.len();
        out.push(0);
        let lower = push_bound(&*self.lower, row, out)?;
        let upper = push_bound(&*self.upper, row, out)?;
        let flags = match (lower, self.flag("lower_inc", row, true)) {
            (Bound::Missing, _) => range_flags::LOWER_INFINITE,
            (Bound::Given, true) => range_flags::LOWER_INCLUSIVE,
            (Bound::Given, false) => 0,
        } | match (upper, self.flag("upper_inc", row, false)) {
            (Bound::Missing, _) => range_flags::UPPER_INFINITE,
            (Bound::Given, true) => range_flags::UPPER_INCLUSIVE,
            (Bound::Given, false) => 0,
        };
        if let Some(place) = out.get_mut(flags_at) {
            *place = flags;
        }
        Ok(())
    }
}

enum Bound {
    Given,
    Missing,
}

/// Appends the cell of a bound. One that is NULL, as NaN may be, has none.
fn push_bound(
    bound: &dyn ColumnEncoder,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<Bound, EncodeError> {
    let start = out.len();
    bound.push_cell(row, out)?;
    if out.get(start..) == Some(&NULL_LENGTH) {
        out.truncate(start);
        return Ok(Bound::Missing);
    }
    Ok(Bound::Given)
}

/// An encoder of lists of structs to a multirange.
pub(super) fn multirange(
    subtype: &Arc<Type>,
    array: &ArrayRef,
    options: &EncodeOptions,
) -> Result<Encoder, CastError> {
    let Some(values) = values_of(array) else { return Ok(None) };
    let Some(ranges) = range(subtype, &values, options)? else { return Ok(None) };
    let multiranges = Multiranges { lists: Arc::clone(array), ranges };
    Ok(Some(MadeCells::boxed(multiranges, nulls_of(array))))
}

struct Multiranges {
    lists: ArrayRef,
    ranges: Box<dyn ColumnEncoder>,
}

impl PushValue for Multiranges {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let (values, start, len) = elements(&self.lists, row).ok_or(EncodeError::Ragged)?;
        let rows = start..start + len;
        if rows.clone().any(|row| values.is_null(row)) {
            return Err(EncodeError::WrongKind { expected: "a range", given: "null" });
        }
        // The lengths of arrays fit in 31 bits, too.
        out.extend_from_slice(&(len as u32).to_be_bytes());
        rows.into_iter().try_for_each(|row| self.ranges.push_cell(row, out))
    }
}
