//! To geometric types and pgvector's vectors: lists of floats.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::DataType;

use super::ColumnEncoder;
use super::cells::{MadeCells, PushValue, nulls_of};
use crate::arrow_value::{elements, value_of};
use crate::error::EncodeError;
use crate::given::nearest_float4;
use crate::types::{Kind, Type};
use crate::value::Value;

/// An encoder, if the kind's values are made of floats and the array consists of lists of them.
pub(super) fn encoder(
    kind: Kind,
    target: &Arc<Type>,
    array: &ArrayRef,
) -> Option<Box<dyn ColumnEncoder>> {
    let (lists, closed) = match (kind, array.as_struct_opt()) {
        (Kind::Path, Some(path)) => {
            let closed = path.column_by_name("is_closed")?.as_boolean_opt()?.clone();
            (path.column_by_name("points")?.clone(), Some(closed))
        }
        (Kind::Path, None) => return None,
        _ => (array.clone(), None),
    };
    let depth = match kind {
        Kind::Point | Kind::Line | Kind::LineSegment | Kind::Box | Kind::Circle => 1,
        Kind::Path | Kind::Polygon => 2,
        // As a sequence of Python's floats: each becomes the nearest of 32 bits, even if that is 0,
        // as in pgvector's casts.
        Kind::Floats => 1,
        _ => return None,
    };
    let found = floats_of(lists.data_type(), depth)?;
    let is_taken = matches!(found, DataType::Float32 | DataType::Float64);
    let figures = Figures { kind, target: Arc::clone(target), lists, closed };
    is_taken.then(|| MadeCells::boxed(figures, nulls_of(array)))
}

/// The type of the values in lists of this depth.
fn floats_of(arrow_type: &DataType, depth: usize) -> Option<&DataType> {
    if depth == 0 {
        return Some(arrow_type);
    }
    match arrow_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => floats_of(item.data_type(), depth - 1),
        _ => None,
    }
}

struct Figures {
    kind: Kind,
    target: Arc<Type>,
    lists: ArrayRef,
    /// For a path, whether its last point is connected to the first.
    closed: Option<BooleanArray>,
}

impl PushValue for Figures {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let wrong = |given| EncodeError::WrongKind { expected: "a figure's numbers", given };
        let floats = floats(&self.lists, row).ok_or_else(|| wrong("a list with NULL"))?;
        let (points, odd) = floats.as_chunks::<2>();
        let value = match self.kind {
            Kind::Point => floats.as_slice().try_into().ok().map(Value::Point),
            Kind::Line => floats.as_slice().try_into().ok().map(Value::Line),
            Kind::LineSegment => floats.as_slice().try_into().ok().map(Value::LineSegment),
            Kind::Box => floats.as_slice().try_into().ok().map(Value::Box),
            Kind::Circle => floats.as_slice().try_into().ok().map(Value::Circle),
            Kind::Floats => {
                let narrow = floats.iter().map(|float| nearest_float4(*float));
                Some(Value::Floats(narrow.collect::<Result<_, _>>()?))
            }
            _ if !odd.is_empty() => None,
            Kind::Path => self
                .closed
                .as_ref()
                .filter(|flags| flags.is_valid(row))
                .map(|flags| Value::Path { is_closed: flags.value(row), points: points.to_vec() }),
            _ => Some(Value::Polygon(points.to_vec())),
        };
        let value = value.ok_or_else(|| wrong("a list of another length"))?;
        self.target.encode(&value, out)
    }
}

/// The floats of a list, or of the lists in it.
fn floats(lists: &dyn Array, row: usize) -> Option<Vec<f64>> {
    if lists.is_null(row) {
        return None;
    }
    let (values, start, len) = elements(lists, row)?;
    let mut found = Vec::with_capacity(len);
    for place in start..start + len {
        match values.data_type() {
            DataType::Float32 | DataType::Float64 => match value_of(values, place)? {
                Value::Float(float) => found.push(float),
                Value::Float32(float) => found.push(float.into()),
                _ => return None,
            },
            _ => found.extend(floats(values, place)?),
        }
    }
    Some(found)
}
