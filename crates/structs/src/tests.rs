use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use proptest::prelude::*;

use crate::arrow_types::days_to_month;
use crate::{
    Blob, Blobs, Fault, Field, Kind, Layout, Unmatched, Value, Writer, fuzzing, pack, unpack,
};

fn layout(fields: &[(&str, &str, bool)]) -> Layout {
    let fields = fields.iter().map(|(name, kind, optional)| Field {
        name: (*name).to_owned(),
        kind: Kind::of(kind).unwrap(),
        optional: *optional,
        can_be_missing: *optional,
    });
    Layout::new(fields.collect()).unwrap()
}

fn written(layout: &Layout, values: &[Value<'_>]) -> Result<Vec<u8>, Fault> {
    let mut writer = Writer::begin(layout, Vec::new());
    values.iter().try_for_each(|value| writer.push(value))?;
    writer.finish()
}

#[test]
fn columns_fill_fields_by_name() {
    let layout = layout(&[("a", "bool", false), ("b", "int64", true)]);
    let matched = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        layout.matched(&names)
    };
    assert_eq!(matched(&["b", "a"]), Ok(vec![Some(1), Some(0)]));
    assert_eq!(matched(&["a"]), Ok(vec![Some(0), None]));
    assert_eq!(matched(&["b"]), Err(Unmatched::Field("a".to_owned())));
    assert_eq!(matched(&["b", "c"]), Err(Unmatched::Column("c".to_owned())));
    assert_eq!(layout.names(), "a, b");
}

#[test]
fn a_place_depends_on_earlier_fields_only() {
    let fields = [("a", "bool", false), ("b", "int64", true), ("c", "int16", false)];
    for count in 1..=fields.len() {
        let (all, some) = (layout(&fields), layout(&fields[..count]));
        for index in 0..count {
            assert_eq!(all.field(index).unwrap().1, some.field(index).unwrap().1);
        }
    }
}

#[test]
fn columns_become_blobs_and_columns_again() {
    let layout = layout(&[("n", "int64", false), ("t", "str", true), ("d", "datetime64[M]", true)]);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, -1, i64::MAX]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("")]));
    let blobs = pack(&layout, &[Some(numbers.clone()), Some(texts.clone()), None], 3).unwrap();
    let columns = unpack(&layout, &Blobs::of(&blobs).unwrap(), &[0, 1, 2]).unwrap();
    assert_eq!(columns.column(0).as_primitive::<Int64Type>(), numbers.as_primitive::<Int64Type>());
    assert_eq!(columns.column(1).as_string::<i32>(), texts.as_string::<i32>());
    assert_eq!(columns.column(2).as_primitive::<Date32Type>().null_count(), 3);
    columns.to_data().validate_full().unwrap();
}

#[test]
fn a_fault_names_row_and_field() {
    let layout = layout(&[("n", "int8", false)]);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 300]));
    let fault = pack(&layout, &[Some(numbers)], 2).unwrap_err();
    assert_eq!(fault.to_string(), "row 1, field \"n\": 300 is out of the range of int8");
}

#[test]
fn months_begin_on_these_days() {
    let days = [(0, 0), (1, 31), (2, 59), (26, 790), (-1, -31), (12 * 30, 10957), (-10, -306)];
    for (months, day) in days {
        assert_eq!(days_to_month(months), Some(day), "{months}");
    }
    assert_eq!(days_to_month(i64::MAX), None);
}

#[test]
fn every_seed_is_read() {
    let seeds = fuzzing::seeds();
    assert!(seeds.len() > 10);
    for seed in &seeds {
        fuzzing::structs(seed);
        for end in 0..seed.len() {
            fuzzing::structs(&seed[..end]);
        }
    }
}

fn number_or_null(number: Option<u16>) -> Value<'static> {
    number.map_or(Value::Null, |number| Value::UInt(number.into()))
}

fn text_or_null(text: Option<String>) -> Value<'static> {
    text.map_or(Value::Null, |text| Value::Text(text.into()))
}

proptest! {
    #[test]
    fn numbers_texts_and_lists_come_back(
        number in any::<Option<i64>>(),
        float in any::<f64>(),
        text in "[^\0]*",
        numbers in prop::collection::vec(any::<Option<u16>>(), 0..20),
        texts in prop::collection::vec(prop::option::of("[^\0]{0,5}"), 0..9),
    ) {
        let layout = layout(&[
            ("number", "int64", true),
            ("float", "float64", false),
            ("text", "str", false),
            ("numbers", "list<uint16?>", false),
            ("texts", "list<str?>", false),
        ]);
        let or_null = |value: Option<Value<'static>>| value.unwrap_or(Value::Null);
        let values = [
            or_null(number.map(Value::Int)),
            Value::Float(float),
            Value::Text(text.into()),
            Value::List(numbers.into_iter().map(number_or_null).collect()),
            Value::List(texts.into_iter().map(text_or_null).collect()),
        ];
        let bytes = written(&layout, &values).unwrap();
        let blob = Blob::open(&layout, &bytes).unwrap();
        for (index, value) in values.iter().enumerate() {
            prop_assert_eq!(&blob.value(&layout, index).unwrap(), value);
        }
    }

    #[test]
    fn changed_bytes_never_panic(
        seed in 0..13usize,
        changes in prop::collection::vec(any::<(u16, u8)>(), 1..8),
    ) {
        let seeds = fuzzing::seeds();
        let mut data = seeds[seed % seeds.len()].clone();
        for (position, byte) in changes {
            let length = data.len();
            data[usize::from(position) % length] = byte;
        }
        fuzzing::structs(&data);
    }
}

#[test]
fn a_number_that_is_not_0_does_not_become_0() {
    for (kind, number) in [("float32", 1e-46), ("float32", -1e-46), ("float16", 1e-9)] {
        let layout = layout(&[("a", kind, false)]);
        let fault = written(&layout, &[Value::Float(number)]).unwrap_err();
        assert!(fault.to_string().contains(&format!("{number:e} is out of the range of {kind}")));
    }
    let narrow = layout(&[("a", "float32", false)]);
    for kept in [0.0, -0.0, 1e-45, f64::NAN, f64::INFINITY] {
        assert!(written(&narrow, &[Value::Float(kept)]).is_ok());
    }
}
