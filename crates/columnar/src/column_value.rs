//! One value of a column as the value that a row gives. Columns store types that Arrow lacks as
//! texts, numbers or structs, and only the PostgreSQL type tells their meaning.

use core::net::IpAddr;
use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int32Type, Time64MicrosecondType, UInt16Type, UInt32Type,
};
use arrow_array::{Array, StructArray};
use arrow_schema::DataType;

use crate::arrow_value::{elements, value_of};
use crate::types::{Attribute, Kind, Shape, Type};
use crate::value::{Bits, List, Network, Range, Value};

/// Whether the values of an Arrow type need their PostgreSQL type to become those of rows, or
/// contain values that do.
pub fn needs_type(pg_type: Option<&Type>, data_type: &DataType) -> bool {
    if pg_type.is_some_and(Type::has_codecs) {
        return true;
    }
    let kind = pg_type.and_then(|pg_type| pg_type.bare().kind());
    match data_type {
        DataType::Null | DataType::Interval(_) => true,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            matches!(kind, Some(Kind::Bits | Kind::Network | Kind::Snapshot))
        }
        other => other.is_nested(),
    }
}

/// The value in a row of a column of the type; `None` if no [`Value`] represents it exactly.
///
/// A column cast to another Arrow type gives values of that type.
pub fn column_value<'a>(pg_type: &Type, array: &'a dyn Array, row: usize) -> Option<Value<'a>> {
    if array.is_null(row) {
        return Some(Value::Null);
    }
    if let Some(codec) = pg_type.codec()
        && let Some(raw) = encoded(array, row)
    {
        return Some(Value::Custom { codec, raw: Cow::Borrowed(raw) });
    }
    match (&pg_type.bare().shape, array.data_type()) {
        (Shape::Scalar(line), _) => match scalar(line.kind, line.name, array, row) {
            Some(value) => Some(value),
            None => value_of(array, row),
        },
        (Shape::Array(element), DataType::List(_) | DataType::LargeList(_)) => {
            let dimensions = list_dimensions(element, array.data_type())?;
            let mut made = List { dimensions: vec![0; dimensions], elements: Vec::new() };
            push_elements(element, array, row, 0, &mut made)?;
            if made.elements.is_empty() {
                made.dimensions.clear();
            }
            Some(Value::List(made))
        }
        (Shape::Composite(attributes), DataType::Struct(_)) => {
            composite(attributes, array.as_struct(), row)
        }
        (Shape::Range(subtype), DataType::Struct(_)) => {
            Some(Value::Range(Box::new(range(subtype, array.as_struct(), row)?)))
        }
        (Shape::Multirange(subtype), DataType::List(_) | DataType::LargeList(_)) => {
            let (values, start, len) = elements(array, row)?;
            let ranges = values.as_struct_opt()?;
            let rows = start..start.checked_add(len)?;
            rows.map(|row| range(subtype, ranges, row))
                .collect::<Option<_>>()
                .map(Value::Multirange)
        }
        _ => value_of(array, row),
    }
}

/// The text or bytes for a codec; `None` if the codec takes the type's own values.
fn encoded(array: &dyn Array, row: usize) -> Option<&[u8]> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().value(row).as_bytes()),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(row).as_bytes()),
        DataType::Utf8View => Some(array.as_string_view().value(row).as_bytes()),
        DataType::Binary => Some(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Some(array.as_binary::<i64>().value(row)),
        _ => None,
    }
}

/// The number of dimensions of a column's arrays, given the type of their elements; `None` if the
/// column does not hold such arrays.
pub(crate) fn list_dimensions(element: &Type, data_type: &DataType) -> Option<usize> {
    list_depth(data_type).checked_sub(own_depth(element, data_type)).filter(|depth| *depth > 0)
}

/// The nesting depth of lists in a type.
fn list_depth(data_type: &DataType) -> usize {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) => 1 + list_depth(item.data_type()),
        _ => 0,
    }
}

/// How many of an array's list levels belong to a single element.
fn own_depth(element: &Type, data_type: &DataType) -> usize {
    match &element.bare().shape {
        Shape::Array(_) | Shape::Multirange(_) => 1,
        Shape::Scalar(line) => match line.kind {
            Kind::Polygon => 1,
            Kind::Floats if !ends_in_fixed_size(data_type) => 1,
            _ => 0,
        },
        _ => 0,
    }
}

fn ends_in_fixed_size(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) => ends_in_fixed_size(item.data_type()),
        other => matches!(other, DataType::FixedSizeList(..)),
    }
}

/// Adds the elements of a list, a dimension at this depth.
fn push_elements<'a>(
    element: &Type,
    array: &'a dyn Array,
    row: usize,
    depth: usize,
    made: &mut List<'a>,
) -> Option<()> {
    let (values, start, len) = elements(array, row)?;
    *made.dimensions.get_mut(depth)? = len;
    for row in start..start.checked_add(len)? {
        if depth + 1 < made.dimensions.len() {
            push_elements(element, values, row, depth + 1, made)?;
        } else {
            made.elements.push(column_value(element, values, row)?);
        }
    }
    Some(())
}

fn composite<'a>(
    attributes: &[Attribute],
    array: &'a StructArray,
    row: usize,
) -> Option<Value<'a>> {
    let columns = array.columns().iter();
    let fields = attributes
        .iter()
        .zip(columns)
        .map(|(attribute, column)| column_value(&attribute.pg_type, column.as_ref(), row));
    fields.collect::<Option<_>>().map(Value::Composite)
}

fn range<'a>(subtype: &Type, array: &'a StructArray, row: usize) -> Option<Range<'a>> {
    let [lower, upper, lower_inclusive, upper_inclusive, empty] = array.columns() else {
        return None;
    };
    if empty.as_boolean_opt()?.value(row) {
        return Some(Range::Empty);
    }
    Some(Range::Bounds {
        lower: column_value(subtype, lower.as_ref(), row)?,
        upper: column_value(subtype, upper.as_ref(), row)?,
        lower_inclusive: lower_inclusive.as_boolean_opt()?.value(row),
        upper_inclusive: upper_inclusive.as_boolean_opt()?.value(row),
    })
}

/// A value that the column stores as parts or text; `None` if the column stores the value itself.
fn scalar<'a>(kind: Kind, name: &str, array: &'a dyn Array, row: usize) -> Option<Value<'a>> {
    Some(match kind {
        Kind::Bits => bits(text(array, row)?)?,
        Kind::Network => Value::Network(network(text(array, row)?, name == "cidr")?),
        Kind::TimeTz => {
            let [time, offset] = array.as_struct_opt()?.columns() else { return None };
            Value::TimeTz {
                micros: time.as_primitive_opt::<Time64MicrosecondType>()?.value(row),
                offset_s: offset.as_primitive_opt::<Int32Type>()?.value(row),
            }
        }
        Kind::Tid => {
            let [block, offset] = array.as_struct_opt()?.columns() else { return None };
            Value::Tid {
                block: block.as_primitive_opt::<UInt32Type>()?.value(row),
                offset: offset.as_primitive_opt::<UInt16Type>()?.value(row),
            }
        }
        Kind::Snapshot => snapshot(text(array, row)?)?,
        Kind::Point => Value::Point(numbers(array, row)?),
        Kind::Line => Value::Line(numbers(array, row)?),
        Kind::LineSegment => Value::LineSegment(numbers(array, row)?),
        Kind::Box => Value::Box(numbers(array, row)?),
        Kind::Circle => Value::Circle(numbers(array, row)?),
        Kind::Polygon => Value::Polygon(points(array, row)?),
        Kind::Path => {
            let [is_closed, listed] = array.as_struct_opt()?.columns() else { return None };
            Value::Path {
                is_closed: is_closed.as_boolean_opt()?.value(row),
                points: points(listed.as_ref(), row)?,
            }
        }
        Kind::Floats => {
            let (values, start, len) = elements(array, row)?;
            let floats = values.as_primitive_opt::<Float32Type>()?;
            Value::Floats(floats.values().get(start..start.checked_add(len)?)?.to_vec())
        }
        _ => return None,
    })
}

fn text(array: &dyn Array, row: usize) -> Option<&str> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Some(array.as_string_view().value(row)),
        _ => None,
    }
}

fn numbers<const N: usize>(array: &dyn Array, row: usize) -> Option<[f64; N]> {
    let (values, start, len) = elements(array, row)?;
    let floats = values.as_primitive_opt::<Float64Type>()?;
    floats.values().get(start..start.checked_add(len)?)?.try_into().ok()
}

fn points(array: &dyn Array, row: usize) -> Option<Vec<[f64; 2]>> {
    let (values, start, len) = elements(array, row)?;
    (start..start.checked_add(len)?).map(|row| numbers(values, row)).collect()
}

fn bits(digits: &str) -> Option<Value<'static>> {
    let mut bytes = vec![0; digits.len().div_ceil(8)];
    for (place, digit) in digits.bytes().enumerate() {
        let bit = match digit {
            b'0' => 0,
            b'1' => 1,
            _ => return None,
        };
        *bytes.get_mut(place / 8)? |= bit << (7 - place % 8);
    }
    Some(Value::Bits(Bits { len: digits.len(), bytes: Cow::Owned(bytes) }))
}

fn network(text: &str, is_cidr: bool) -> Option<Network> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix.parse().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let alone = if address.is_ipv4() { 32 } else { 128 };
    Some(Network { address, prefix: prefix.unwrap_or(alone), is_cidr })
}

fn snapshot(text: &str) -> Option<Value<'static>> {
    let mut parts = text.splitn(3, ':');
    let xmin = parts.next()?.parse().ok()?;
    let xmax = parts.next()?.parse().ok()?;
    let running = parts.next()?.split(',').filter(|id| !id.is_empty());
    let running = running.map(|id| id.parse().ok()).collect::<Option<_>>()?;
    Some(Value::Snapshot { xmin, xmax, running })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::DecodeOptions;
    use crate::testing::{Cell, decode_in_runs, field};
    use crate::types::built_in;

    /// The value as a row has it, from the bytes that the column was made of.
    #[track_caller]
    fn agree(oid: u32, values: &[Value<'static>]) {
        let pg_type = built_in(oid).unwrap();
        let mut rows: Vec<Vec<Cell>> = vec![vec![None]];
        for value in values {
            let mut raw = Vec::new();
            pg_type.encode(value, &mut raw).unwrap();
            rows.push(vec![Some(raw)]);
        }
        let batch =
            decode_in_runs(&[field("v", oid)], &DecodeOptions::default(), &rows, 2).unwrap();
        for (array, first) in [(batch.column(0).clone(), 0), (batch.column(0).slice(1, 1), 1)] {
            for row in 0..array.len() {
                let of_row = match &rows[first + row][0] {
                    Some(raw) => pg_type.value(raw).unwrap(),
                    None => Value::Null,
                };
                assert_eq!(column_value(pg_type, array.as_ref(), row), Some(of_row), "{oid}");
            }
        }
    }

    fn list(dimensions: &[usize], elements: Vec<Value<'static>>) -> Value<'static> {
        Value::List(List { dimensions: dimensions.to_vec(), elements })
    }

    #[test]
    fn columns_and_rows_have_the_same_values() {
        let bits = |len, byte: u8| Value::Bits(Bits { len, bytes: Cow::Owned(vec![byte]) });
        agree(1562, &[bits(3, 0b1010_0000), bits(8, 0xff)]);
        let inet = |address: &str, prefix, is_cidr| {
            Value::Network(Network { address: address.parse().unwrap(), prefix, is_cidr })
        };
        agree(869, &[inet("10.0.0.1", 8, false), inet("::1", 128, false)]);
        agree(650, &[inet("10.0.0.0", 8, true), inet("2001:db8::", 32, true)]);
        agree(1266, &[Value::TimeTz { micros: 1, offset_s: -3600 }]);
        agree(27, &[Value::Tid { block: u32::MAX, offset: 7 }]);
        agree(5038, &[Value::Snapshot { xmin: 1, xmax: 9, running: vec![3, 4] }]);
        agree(600, &[Value::Point([1.0, 2.0])]);
        agree(718, &[Value::Circle([1.0, 2.0, 3.0])]);
        agree(602, &[Value::Path { is_closed: true, points: vec![[0.0, 1.0], [2.0, 3.0]] }]);
        agree(604, &[Value::Polygon(vec![[0.0, 1.0]])]);
    }

    #[test]
    fn arrays_keep_their_dimensions() {
        let int = |value| Value::Int(value);
        agree(1007, &[list(&[2], vec![int(1), Value::Null]), list(&[], vec![])]);
        agree(1007, &[list(&[2, 2], vec![int(1), int(2), int(3), Value::Null])]);
        agree(1027, &[list(&[1], vec![Value::Polygon(vec![[0.0, 1.0]])])]);
        let ranges = |lower| Range::Bounds {
            lower: int(lower),
            upper: Value::Null,
            lower_inclusive: true,
            upper_inclusive: false,
        };
        agree(3904, &[Value::Range(Box::new(ranges(1))), Value::Range(Box::new(Range::Empty))]);
        agree(3905, &[list(&[1], vec![Value::Range(Box::new(ranges(1)))])]);
        let multirange = Value::Multirange(vec![ranges(1)]);
        agree(4451, &[multirange.clone(), Value::Multirange(vec![])]);
        agree(6150, &[list(&[1, 1], vec![multirange])]);
    }

    #[test]
    fn a_column_of_text_gives_its_text() {
        let array = arrow_array::StringArray::from(vec![Some("{1}"), Some("no bits")]);
        let of = |oid, row| column_value(built_in(oid).unwrap(), &array, row);
        assert_eq!(of(1007, 0), Some(Value::Text("{1}".into())));
        assert_eq!(of(1562, 1), Some(Value::Text("no bits".into())));
    }

    #[test]
    fn some_arrow_types_do_not_tell_their_values() {
        let needs = |name, data_type| needs_type(crate::named_type(name).as_ref(), &data_type);
        assert!(!needs("text", DataType::Utf8));
        assert!(needs("varbit", DataType::Utf8));
        assert!(needs("inet", DataType::LargeUtf8));
        assert!(!needs("inet", DataType::Binary));
        assert!(needs("int4", DataType::Null));
        assert!(needs("point", DataType::new_list(DataType::Float64, true)));
        assert!(!needs_type(None, &DataType::Utf8View));
    }
}
