//! The child columns of a list or struct column, with their PostgreSQL types.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use colonnade_columnar::{Kind, Shape, Type, list_dimensions};

/// A part's name, its values and their type.
type Part = (String, ArrayRef, Option<Arc<Type>>);

/// The PostgreSQL form of a value with parts.
pub(super) fn form(pg_type: Option<&Type>) -> &'static str {
    let Some(pg_type) = pg_type.map(Type::bare) else { return "plain" };
    match &pg_type.shape {
        Shape::Array(_) => "array",
        Shape::Composite(_) | Shape::Record(_) => "composite",
        Shape::Range(_) => "range",
        Shape::Multirange(_) => "multirange",
        Shape::Scalar(line) => match line.kind {
            Kind::Point | Kind::Line | Kind::LineSegment | Kind::Box | Kind::Circle => "figure",
            Kind::Path | Kind::Polygon => "figure",
            Kind::TimeTz => "timetz",
            Kind::Tid => "composite",
            _ => "plain",
        },
        _ => "plain",
    }
}

/// The child columns.
pub(super) fn parts(array: &ArrayRef, pg_type: Option<&Type>) -> Vec<Part> {
    let element = || element_type(pg_type, array.data_type());
    match array.data_type() {
        DataType::List(item) => {
            vec![(item.name().clone(), Arc::clone(array.as_list::<i32>().values()), element())]
        }
        DataType::LargeList(item) => {
            vec![(item.name().clone(), Arc::clone(array.as_list::<i64>().values()), element())]
        }
        DataType::FixedSizeList(item, _) => {
            vec![(item.name().clone(), Arc::clone(array.as_fixed_size_list().values()), element())]
        }
        DataType::Struct(fields) => fields
            .iter()
            .zip(array.as_struct().columns())
            .enumerate()
            .map(|(place, (field, column))| {
                (field.name().clone(), Arc::clone(column), field_type(pg_type, place))
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn element_type(pg_type: Option<&Type>, data_type: &DataType) -> Option<Arc<Type>> {
    let pg_type = pg_type?.bare();
    match &pg_type.shape {
        Shape::Array(element) if list_dimensions(element, data_type) == Some(1) => {
            Some(Arc::clone(element))
        }
        // Another dimension of the same array.
        Shape::Array(_) => Some(Arc::new(pg_type.clone())),
        Shape::Multirange(subtype) => {
            let shape = Shape::Range(Arc::clone(subtype));
            Some(Arc::new(Type { shape, ..Type::opaque(0) }))
        }
        _ => None,
    }
}

fn field_type(pg_type: Option<&Type>, place: usize) -> Option<Arc<Type>> {
    match &pg_type?.bare().shape {
        Shape::Composite(attributes) => {
            attributes.get(place).map(|attribute| Arc::clone(&attribute.pg_type))
        }
        // The first two fields are the bounds.
        Shape::Range(subtype) => (place < 2).then(|| Arc::clone(subtype)),
        _ => None,
    }
}

/// The offsets at which each list's elements begin, and the last list's end.
pub(super) fn offsets(array: &dyn Array) -> Option<Vec<i64>> {
    match array.data_type() {
        DataType::List(_) => {
            Some(array.as_list::<i32>().value_offsets().iter().map(|end| i64::from(*end)).collect())
        }
        DataType::LargeList(_) => Some(array.as_list::<i64>().value_offsets().to_vec()),
        _ => None,
    }
}
