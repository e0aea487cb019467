//! The child columns of a list or struct column, with their PostgreSQL types.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use crate::column_value::list_dimensions;
use crate::types::{Kind, Shape, Type};

/// A part's name, its values and their type.
pub type Part = (String, ArrayRef, Option<Arc<Type>>);

/// The PostgreSQL form of a value with parts: "array", "composite", "range", "multirange",
/// "figure" or "timetz"; otherwise "plain".
pub fn form(pg_type: Option<&Type>) -> &'static str {
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

/// The child columns: a list's elements, one after another, or a struct's fields with their names.
/// None for other types.
pub fn parts(array: &ArrayRef, pg_type: Option<&Type>) -> Vec<Part> {
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

/// The offsets at which each list's elements begin, and the last list's end; None for other
/// columns.
pub fn list_offsets(array: &dyn Array) -> Option<Vec<i64>> {
    match array.data_type() {
        DataType::List(_) => {
            Some(array.as_list::<i32>().value_offsets().iter().map(|end| i64::from(*end)).collect())
        }
        DataType::LargeList(_) => Some(array.as_list::<i64>().value_offsets().to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{Int32Array, LargeListArray, ListArray, StructArray};
    use arrow_schema::Field;

    use super::*;
    use crate::{Attribute, named_type};

    fn named(name: &str) -> Arc<Type> {
        Arc::new(named_type(name).unwrap())
    }

    fn of(shape: Shape) -> Type {
        Type { shape, ..Type::opaque(0) }
    }

    fn lists() -> ListArray {
        let rows = [Some(vec![Some(1), Some(2)]), None, Some(vec![Some(3)])];
        ListArray::from_iter_primitive::<Int32Type, _, _>(rows)
    }

    fn structs() -> ArrayRef {
        let field = |name| Arc::new(Field::new(name, DataType::Int32, true));
        let column = || Arc::new(Int32Array::from(vec![1])) as ArrayRef;
        let fields = ["a", "b", "c"].map(|name| (field(name), column()));
        Arc::new(StructArray::from(fields.to_vec()))
    }

    /// The names of the parts' types.
    fn types(array: &ArrayRef, pg_type: &Type) -> Vec<Option<String>> {
        let parts = parts(array, Some(pg_type)).into_iter();
        parts.map(|(_, _, pg_type)| pg_type.map(|pg_type| pg_type.name.clone())).collect()
    }

    #[test]
    fn forms_are_those_of_the_types() {
        assert_eq!(form(None), "plain");
        assert_eq!(form(Some(&named("int4"))), "plain");
        assert_eq!(form(Some(&named("polygon"))), "figure");
        assert_eq!(form(Some(&named("timetz"))), "timetz");
        assert_eq!(form(Some(&named("tid"))), "composite");
        assert_eq!(form(Some(&of(Shape::Range(named("int4"))))), "range");
        assert_eq!(form(Some(&of(Shape::Array(named("point"))))), "array");
    }

    #[test]
    fn the_elements_of_a_list_have_the_element_type() {
        let array: ArrayRef = Arc::new(lists());
        let [(name, values, _)] = &parts(&array, None)[..] else { panic!("one part") };
        assert_eq!((name.as_str(), values.len()), ("item", 3));
        assert_eq!(types(&array, &of(Shape::Array(named("int4")))), [Some("int4".to_owned())]);
        assert_eq!(types(&array, &named("int4")), [None]);
    }

    #[test]
    fn the_fields_of_a_struct_have_their_types() {
        let attribute = |name: &str| Attribute {
            name: name.to_owned(),
            pg_type: named("int4"),
            type_modifier: -1,
        };
        let two = of(Shape::Composite(["a", "b"].map(attribute).into()));
        let int4 = || Some("int4".to_owned());
        assert_eq!(types(&structs(), &two), [int4(), int4(), None]);
        // A range has its bounds, and flags without a type.
        assert_eq!(types(&structs(), &of(Shape::Range(named("int4")))), [int4(), int4(), None]);
    }

    #[test]
    fn other_columns_have_no_parts() {
        let array: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        assert!(parts(&array, None).is_empty());
        assert_eq!(list_offsets(&array), None);
    }

    #[test]
    fn offsets_are_of_64_bits() {
        assert_eq!(list_offsets(&lists()), Some(vec![0, 2, 2, 3]));
        assert_eq!(list_offsets(&lists().slice(2, 1)), Some(vec![2, 3]));
        let large = LargeListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![None])]);
        assert_eq!(list_offsets(&large), Some(vec![0, 1]));
    }
}
