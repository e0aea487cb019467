//! Arrays, composites and ranges, there and back.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{Field, Fields};

use super::*;
use crate::catalog::Types;
use crate::testing::{Case, Cell};
use crate::types::{Attribute, Shape, Type};

fn cells(pg_type: &Arc<Type>, array: &ArrayRef) -> Result<Vec<Cell>, String> {
    let target = TargetColumn {
        source: 0,
        name: "c".to_owned(),
        pg_type: Arc::clone(pg_type),
        type_modifier: -1,
    };
    let batch = RecordBatch::try_from_iter([("c", array.clone())]).unwrap();
    let encoder = RowEncoder::new(&[target], &batch, &EncodeOptions::default(), 0);
    let mut encoder = encoder.map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    while encoder.append(&mut out, 64).map_err(|error| error.to_string())? {}
    let mut rest = &out[..];
    let mut cells = Vec::new();
    while let Some((count, after)) = rest.split_first_chunk::<2>() {
        assert_eq!(*count, [0, 1]);
        let (length, after) = after.split_first_chunk::<4>().unwrap();
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let (value, after) = after.split_at(length.unwrap_or(0));
        cells.push(length.map(|_| value.to_vec()));
        rest = after;
    }
    Ok(cells)
}

fn built_in(oid: u32) -> Arc<Type> {
    Types::default().find(oid).unwrap()
}

/// Encodes, decodes and compares the array as a whole, and without its first and last row.
fn same(pg_type: &Arc<Type>, array: ArrayRef) {
    for part in [array.clone(), array.slice(1, array.len() - 2)] {
        let mut case = Case::new(pg_type.oid);
        case.field.pg_type = Arc::clone(pg_type);
        let found = case.decode(&cells(pg_type, &part).unwrap()).unwrap();
        assert_eq!(&found, &part, "{}", pg_type.name);
    }
}

fn numbers(lists: Vec<Option<Vec<Option<i32>>>>) -> ListArray {
    ListArray::from_iter_primitive::<Int32Type, _, _>(lists)
}

#[test]
fn lists() {
    let lists = vec![Some(vec![Some(1), None]), None, Some(vec![]), Some(vec![Some(3)]), None];
    let array = numbers(lists.clone());
    same(&built_in(1007), Arc::new(array.clone()));
    let large = LargeListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let view: ListViewArray = array.clone().into();
    let plain = cells(&built_in(1007), &(Arc::new(array) as ArrayRef));
    assert_eq!(cells(&built_in(1007), &(Arc::new(large) as ArrayRef)), plain);
    assert_eq!(cells(&built_in(1007), &(Arc::new(view) as ArrayRef)), plain);
    let fixed = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
        [Some([Some(1), Some(2)]), None, Some([None, Some(4)])],
        2,
    );
    let expected = numbers(vec![Some(vec![Some(1), Some(2)]), None, Some(vec![None, Some(4)])]);
    let expected = cells(&built_in(1007), &(Arc::new(expected) as ArrayRef));
    assert_eq!(cells(&built_in(1007), &(Arc::new(fixed) as ArrayRef)), expected);
    let error = cells(&built_in(1009), &(Arc::new(numbers(vec![])) as ArrayRef)).unwrap_err();
    assert!(error.contains("to text[]: of its elements, cast the column"), "{error}");
}

/// Lists of lists.
fn nested(lengths: &[usize], inner: ListArray) -> ArrayRef {
    let field = Arc::new(Field::new("item", inner.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(field, offsets, Arc::new(inner), None))
}

#[test]
fn dimensions() {
    let row = |first| Some(vec![Some(first), None]);
    let inner = numbers(vec![row(1), row(2), row(3), row(4), row(5), row(6)]);
    same(&built_in(1007), nested(&[2, 1, 3], inner));
    let ragged = numbers(vec![row(1), Some(vec![None])]);
    let error = cells(&built_in(1007), &nested(&[1, 1, 0], ragged.clone())).map(|_| ());
    assert_eq!(error, Ok(()));
    let error = cells(&built_in(1007), &nested(&[0, 2], ragged)).unwrap_err();
    assert!(error.contains("row 1, ") && error.contains("differ in length"), "{error}");
    let with_null = numbers(vec![row(1), None]);
    assert!(cells(&built_in(1007), &nested(&[2], with_null)).is_err());
}

fn pair() -> Arc<Type> {
    let attribute = |name: &str, oid| Attribute {
        name: name.to_owned(),
        pg_type: built_in(oid),
        type_modifier: -1,
    };
    let shape = Shape::Composite([attribute("a", 23), attribute("b", 25)].into());
    Arc::new(Type { oid: 70_000, name: "pair".to_owned(), schema: "public".to_owned(), shape })
}

fn structs(columns: Vec<(&str, ArrayRef)>, nulls: Option<Vec<bool>>) -> ArrayRef {
    let fields: Fields = columns
        .iter()
        .map(|(name, column)| Field::new(*name, column.data_type().clone(), true))
        .collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    Arc::new(StructArray::new(fields, columns, nulls.map(NullBuffer::from)))
}

#[test]
fn composites() {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, None, Some(4)]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, None, Some("")]));
    let nulls = Some(vec![true, true, false, true]);
    let columns = vec![("a", numbers.clone()), ("b", texts.clone())];
    same(&pair(), structs(columns, nulls));
    let reordered = structs(vec![("b", texts.clone()), ("a", numbers.clone())], None);
    let ordered = structs(vec![("a", numbers.clone()), ("b", texts)], None);
    assert_eq!(cells(&pair(), &reordered), cells(&pair(), &ordered));
    let partly = cells(&pair(), &structs(vec![("a", numbers.clone())], None)).unwrap();
    assert!(partly[0].as_ref().unwrap().ends_with(&[0, 0, 0, 25, 255, 255, 255, 255]));
    let error = cells(&pair(), &structs(vec![("z", numbers.clone())], None)).unwrap_err();
    assert!(error.ends_with("to pair: the type has no field \"z\""), "{error}");
    let error = cells(&pair(), &structs(vec![("b", numbers)], None)).unwrap_err();
    assert!(error.contains("Int32 of its field \"b\" to text: cast"), "{error}");
}

fn ranges() -> ArrayRef {
    let flags = |flags: [bool; 4]| -> ArrayRef { Arc::new(BooleanArray::from(flags.to_vec())) };
    structs(
        vec![
            ("lower", Arc::new(Int32Array::from(vec![Some(1), None, None, Some(4)]))),
            ("upper", Arc::new(Int32Array::from(vec![Some(5), Some(7), None, None]))),
            ("lower_inc", flags([true, false, false, true])),
            ("upper_inc", flags([false, false, false, false])),
            ("empty", flags([false, false, true, false])),
        ],
        None,
    )
}

#[test]
fn ranges_and_multiranges() {
    same(&built_in(3904), ranges());
    let lower: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let upper: ArrayRef = Arc::new(Int64Array::from(vec![2]));
    let bounds = structs(vec![("lower", lower.clone()), ("upper", upper)], None);
    let expected = crate::testing::hex("02 00000004 00000001 00000004 00000002");
    assert_eq!(cells(&built_in(3904), &bounds).unwrap(), [expected]);
    let error = cells(&built_in(3904), &structs(vec![("lower", lower)], None)).unwrap_err();
    assert!(error.contains("lower_inc"), "{error}");
    let ranges = ranges();
    let field = Arc::new(Field::new("item", ranges.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([2, 0, 2]);
    same(&built_in(4451), Arc::new(ListArray::new(field, offsets, ranges, None)));
}

#[test]
fn domains_and_enums() {
    let domain = |base: Arc<Type>, type_modifier| {
        let shape = Shape::Domain { base, type_modifier };
        Arc::new(Type { oid: 70_001, name: "d".to_owned(), schema: "public".to_owned(), shape })
    };
    same(&domain(built_in(23), -1), Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])));
    let price = domain(built_in(1700), (10 << 16 | 2) + 4);
    let decimals = Decimal128Array::from(vec![1]).with_precision_and_scale(9, 3).unwrap();
    assert!(cells(&price, &(Arc::new(decimals) as ArrayRef)).is_err());
    let shape = Shape::Enum(["sad".to_owned(), "happy".to_owned()].into());
    let mood =
        Arc::new(Type { oid: 70_002, name: "mood".to_owned(), schema: "public".to_owned(), shape });
    let moods: ArrayRef = Arc::new(StringArray::from(vec![Some("sad"), None]));
    assert_eq!(cells(&mood, &moods).unwrap(), [Some(b"sad".to_vec()), None]);
}

#[test]
fn figures() {
    use arrow_array::types::{Float32Type, Float64Type};
    let point = |x: f64| Some(vec![Some(x), Some(-x)]);
    let points = || vec![point(1.0), point(2.0), point(3.0)];
    let fixed = FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(points(), 2);
    again(600, &(Arc::new(fixed.clone()) as ArrayRef));
    let narrow = |x: f32| Some(vec![Some(x), Some(-x)]);
    let plain = ListArray::from_iter_primitive::<Float32Type, _, _>([1.0, 2.0, 3.0].map(narrow));
    let expected = cells(&built_in(600), &(Arc::new(fixed.clone()) as ArrayRef));
    let plain: ArrayRef = Arc::new(plain);
    assert_eq!(cells(&built_in(600), &plain), expected);
    assert!(cells(&built_in(718), &plain).unwrap_err().contains("a list of another length"));
    let field = Arc::new(Field::new("item", fixed.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([1, 0, 2]);
    let polygons: ArrayRef = Arc::new(ListArray::new(field, offsets, Arc::new(fixed), None));
    again(604, &polygons);
    // Lists of lists also serve as the points of an array's elements.
    again(1017, &polygons);
    let closed: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    again(602, &structs(vec![("is_closed", closed), ("points", polygons)], None));
}

/// The decoded cells encode to the same cells. Parts of geometric values cannot be NULL, so the
/// arrays differ in their nullability.
fn again(oid: u32, array: &ArrayRef) {
    let once = cells(&built_in(oid), array).unwrap();
    let decoded = Case::new(oid).decode(&once).unwrap();
    assert_eq!(decoded.len(), array.len());
    assert_eq!(cells(&built_in(oid), &decoded).unwrap(), once);
}
