//! Encoded values must decode to themselves.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::*;
use arrow_buffer::{NullBuffer, i256};
use colonnade_protocol::Format;
use proptest::prelude::*;

use super::*;
use crate::catalog::Types;
use crate::testing::{Case, Cell};
use crate::types::{Kind, Type};

fn pg_type(oid: u32) -> Arc<Type> {
    Types::default().find(oid).unwrap()
}

/// The cells of an array, which must not depend on how its rows are split into chunks.
fn cells_of(
    oid: u32,
    type_modifier: i32,
    array: &ArrayRef,
    options: &EncodeOptions,
) -> Result<Vec<Cell>, String> {
    let target =
        TargetColumn { source: 0, name: "c".to_owned(), pg_type: pg_type(oid), type_modifier };
    let targets = [target.clone(), target];
    let batch = RecordBatch::try_from_iter([("a", array.clone())]).unwrap();
    let encode = |limit: usize| -> Result<Vec<u8>, String> {
        let mut encoder =
            RowEncoder::new(&targets, &batch, options, 0).map_err(|error| error.to_string())?;
        let mut out = Vec::new();
        while encoder.append(&mut out, limit).map_err(|error| error.to_string())? {}
        assert_eq!(encoder.rows_done(), array.len());
        Ok(out)
    };
    let whole = encode(usize::MAX);
    for limit in [1, 100] {
        assert_eq!(encode(limit), whole);
    }
    let mut rest = &whole?[..];
    let mut cells = Vec::new();
    let encoder = column_encoder(&pg_type(oid), type_modifier, array, options).unwrap();
    for row in 0..array.len() {
        assert_eq!(rest[..2], [0, 2]);
        rest = &rest[2..];
        let (first, second) = (take(&mut rest), take(&mut rest));
        assert_eq!(first, second);
        let mut alone = Vec::new();
        encoder.push_cell(row, &mut alone).unwrap();
        assert_eq!(take(&mut &alone[..]), first);
        cells.push(first);
    }
    assert!(rest.is_empty());
    Ok(cells)
}

fn take(rest: &mut &[u8]) -> Cell {
    let (length, after) = rest.split_first_chunk::<4>().unwrap();
    let length = i32::from_be_bytes(*length);
    if length == -1 {
        *rest = after;
        return None;
    }
    let (value, after) = after.split_at(length as usize);
    *rest = after;
    Some(value.to_vec())
}

fn cells(oid: u32, array: impl Array + 'static) -> Vec<Cell> {
    cells_of(oid, -1, &(Arc::new(array) as ArrayRef), &EncodeOptions::default()).unwrap()
}

/// The decoded cells.
fn decoded(oid: u32, array: impl Array + 'static) -> ArrayRef {
    Case::new(oid).decode(&cells(oid, array)).unwrap()
}

fn error(oid: u32, type_modifier: i32, array: impl Array + 'static) -> String {
    let array: ArrayRef = Arc::new(array);
    cells_of(oid, type_modifier, &array, &EncodeOptions::default()).unwrap_err()
}

fn same(oid: u32, array: impl Array + Clone + 'static) {
    let expected: ArrayRef = Arc::new(array.clone());
    assert_eq!(&decoded(oid, array.clone()), &expected, "{oid}");
    if array.len() > 2 {
        let slice = expected.slice(1, expected.len() - 2);
        let found = cells_of(oid, -1, &slice, &EncodeOptions::default()).unwrap();
        assert_eq!(&Case::new(oid).decode(&found).unwrap(), &slice, "{oid}, sliced");
    }
}

#[test]
fn each_type_as_it_is_decoded() {
    same(16, BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]));
    same(21, Int16Array::from(vec![Some(i16::MIN), None, Some(7), Some(i16::MAX)]));
    same(23, Int32Array::from(vec![Some(i32::MIN), None, Some(7), Some(i32::MAX)]));
    same(20, Int64Array::from(vec![Some(i64::MIN), None, Some(7), Some(i64::MAX)]));
    same(26, UInt32Array::from(vec![Some(0), None, Some(7), Some(u32::MAX)]));
    same(700, Float32Array::from(vec![Some(f32::MIN), None, Some(0.1), Some(f32::INFINITY)]));
    same(701, Float64Array::from(vec![Some(f64::MIN), None, Some(0.1), Some(f64::INFINITY)]));
    same(1082, Date32Array::from(vec![Some(0), None, Some(-2_440_588), Some(2_145_042_905)]));
    same(1083, Time64MicrosecondArray::from(vec![Some(0), None, Some(1), Some(86_399_999_999)]));
    let micros = vec![Some(0), None, Some(-210_866_803_200_000_000), Some(i64::MAX)];
    same(1114, TimestampMicrosecondArray::from(micros.clone()));
    same(1184, TimestampMicrosecondArray::from(micros).with_timezone("UTC"));
    let texts = vec![Some("é"), None, Some(""), Some("0123456789abcdef 0123456789abcdef 0")];
    for oid in [19, 25, 114, 142, 1042, 1043, 1790, 3802] {
        same(oid, StringArray::from(texts.clone()));
    }
    let bytes: Vec<Option<&[u8]>> = vec![Some(&[0, 255]), None, Some(&[]), Some(&[7; 100])];
    same(17, BinaryArray::from(bytes));
    let uuids = vec![Some([7_u8; 16]), None, Some([0; 16])];
    same(
        2950,
        FixedSizeBinaryArray::try_from_sparse_iter_with_size(uuids.into_iter(), 16).unwrap(),
    );
}

#[test]
fn uuids_of_bytes_without_a_fixed_length() {
    let values = [Some([7_u8; 16]), None, Some([0; 16])];
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.into_iter(), 16);
    let expected = decoded(2950, fixed.unwrap());
    let slices = || values.iter().map(|value| value.as_ref().map(|bytes| bytes.as_slice()));
    assert_eq!(&decoded(2950, BinaryArray::from_iter(slices())), &expected);
    assert_eq!(&decoded(2950, LargeBinaryArray::from_iter(slices())), &expected);
    assert_eq!(&decoded(2950, BinaryViewArray::from_iter(slices())), &expected);
}

#[test]
fn wider_and_other_layouts() {
    let ints = Int32Array::from(vec![Some(1), None, Some(3)]);
    assert_eq!(
        &decoded(23, Int8Array::from(vec![Some(1), None, Some(3)])),
        &(Arc::new(ints.clone()) as ArrayRef)
    );
    assert_eq!(
        &decoded(23, UInt64Array::from(vec![Some(1), None, Some(3)])),
        &(Arc::new(ints.clone()) as ArrayRef)
    );
    assert_eq!(
        &decoded(23, Float64Array::from(vec![Some(1.0), None, Some(3.0)])),
        &(Arc::new(ints.clone()) as ArrayRef)
    );
    let decimals = Decimal128Array::from(vec![Some(100), None, Some(300)]);
    let decimals = decimals.with_precision_and_scale(10, 2).unwrap();
    assert_eq!(&decoded(23, decimals), &(Arc::new(ints) as ArrayRef));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), None, Some(-2.0)]));
    assert_eq!(&decoded(701, Float32Array::from(vec![Some(0.5), None, Some(-2.0)])), &floats);
    let halves: Float16Array = Float32Array::from(vec![Some(0.5), None, Some(-2.0)]).unary(half);
    assert_eq!(&decoded(701, halves), &floats);
    let whole: ArrayRef = Arc::new(Float64Array::from(vec![Some(5.0), None, Some(-2.0)]));
    assert_eq!(&decoded(701, Int64Array::from(vec![Some(5), None, Some(-2)])), &whole);
    let texts = vec![Some("a"), None, Some("twelve bytes and more")];
    let expected: ArrayRef = Arc::new(StringArray::from(texts.clone()));
    assert_eq!(&decoded(25, LargeStringArray::from(texts.clone())), &expected);
    assert_eq!(&decoded(25, StringViewArray::from(texts.clone())), &expected);
    let dictionary: DictionaryArray<Int8Type> = texts.iter().copied().collect();
    assert_eq!(&decoded(25, dictionary.clone()), &expected);
    assert_eq!(&decoded(25, dictionary.slice(1, 2)), &expected.slice(1, 2));
    let with_null = Int32Array::from(vec![Some(1), None, Some(0), Some(0)]);
    let values: ArrayRef = Arc::new(StringArray::from(vec![None, Some("x")]));
    let dictionary = DictionaryArray::<Int32Type>::try_new(with_null, values).unwrap();
    let expected: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, None, None]));
    assert_eq!(&decoded(25, dictionary), &expected);
    let runs = [Some("a"), Some("a"), None, Some("b")].into_iter().collect::<RunArray<Int32Type>>();
    let expected: ArrayRef =
        Arc::new(StringArray::from(vec![Some("a"), Some("a"), None, Some("b")]));
    assert_eq!(&decoded(25, runs.clone()), &expected);
    assert_eq!(&decoded(25, runs.slice(1, 3)), &expected.slice(1, 3));
    assert_eq!(cells(23, NullArray::new(2)), [None, None]);
    let without_values: DictionaryArray<Int8Type> = [None::<&str>, None].into_iter().collect();
    assert_eq!(cells(23, without_values), [None, None]);
}

fn half(number: f32) -> <types::Float16Type as ArrowPrimitiveType>::Native {
    <types::Float16Type as ArrowPrimitiveType>::Native::from_f32(number)
}

#[test]
fn units_of_time() {
    let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(2_000_000), None]));
    assert_eq!(&decoded(1114, TimestampSecondArray::from(vec![Some(2), None])), &micros);
    assert_eq!(&decoded(1114, TimestampMillisecondArray::from(vec![Some(2_000), None])), &micros);
    let nanos = TimestampNanosecondArray::from(vec![Some(2_000_000_000), None]);
    assert_eq!(&decoded(1114, nanos), &micros);
    let days: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(86_400_000_000)]));
    assert_eq!(&decoded(1114, Date32Array::from(vec![1])), &days);
    assert_eq!(&decoded(1114, Date64Array::from(vec![86_400_000])), &days);
    let date: ArrayRef = Arc::new(Date32Array::from(vec![-1]));
    assert_eq!(&decoded(1082, Date64Array::from(vec![-86_400_000])), &date);
    let time: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![1_000_000]));
    assert_eq!(&decoded(1083, Time32SecondArray::from(vec![1])), &time);
    assert_eq!(&decoded(1083, Time32MillisecondArray::from(vec![1_000])), &time);
    assert_eq!(&decoded(1083, Time64NanosecondArray::from(vec![1_000_000_000])), &time);
}

#[test]
fn values_without_a_place() {
    let shown = [
        error(23, -1, Int64Array::from(vec![1, 1 << 40])),
        error(20, -1, UInt64Array::from(vec![u64::MAX])),
        error(23, -1, Float64Array::from(vec![1.0, 1.5])),
        error(20, -1, Float64Array::from(vec![9_223_372_036_854_775_808.0])),
        error(701, -1, Int64Array::from(vec![(1 << 53) + 1])),
        error(1114, -1, TimestampNanosecondArray::from(vec![1_001])),
        error(1114, -1, TimestampSecondArray::from(vec![i64::MAX])),
        error(1082, -1, Date32Array::from(vec![i32::MAX])),
        error(25, -1, StringArray::from(vec!["a", "b\0"])),
        error(21, -1, Decimal128Array::from(vec![-12_345]).with_precision_and_scale(9, 2).unwrap()),
        error(
            1700,
            (10 << 16 | 2) + 4,
            Decimal128Array::from(vec![10, 1]).with_precision_and_scale(9, 3).unwrap(),
        ),
        error(
            1700,
            (70 << 16 | 2) + 4,
            Decimal256Array::from(vec![i256::from_i128(1)])
                .with_precision_and_scale(60, 3)
                .unwrap(),
        ),
    ];
    let expected = [
        "column \"c\", row 1, from Int64 to int4: 1099511627776 is out of range for int4, \
         which goes from -2147483648 to 2147483647",
        "column \"c\", row 0, from UInt64 to int8: 18446744073709551615 is out of range for \
         int8, which goes from -9223372036854775808 to 9223372036854775807",
        "column \"c\", row 1, from Float64 to int4: 1.5 has no exact int4, and nothing is rounded",
        "column \"c\", row 0, from Float64 to int8: 9223372036854775808 is out of range for \
         int8, which goes from -9223372036854775808 to 9223372036854775807",
        "column \"c\", row 0, from Int64 to float8: 9007199254740993 has no exact float8, and \
         nothing is rounded",
        "column \"c\", row 0, from Timestamp(ns) to timestamp: a count of 1001 nanoseconds \
         has no exact timestamp, and nothing is rounded",
        "column \"c\", row 0, from Timestamp(s) to timestamp: the value is out of range for \
         timestamp, which goes from 4714-11-24 BC to the end of 294276 AD",
        "column \"c\", row 0, from Date32 to date: the value is out of range for date, which \
         goes from 4714-11-24 BC to 5874897-12-31",
        "column \"c\", row 1, from Utf8 to text: the string has a NUL after 1 bytes, which \
         PostgreSQL's text cannot hold; use bytea for binary data",
        "column \"c\", row 0, from Decimal128(9, 2) to int2: -123.45 has no exact int2, and \
         nothing is rounded",
        "column \"c\", row 1, from Decimal128(9, 3) to numeric: 0.001 has no exact numeric \
         with 2 digits after the point, and nothing is rounded",
        "column \"c\", row 0, from Decimal256(60, 3) to numeric: 0.001 has no exact numeric \
         with 2 digits after the point, and nothing is rounded",
    ];
    for (shown, expected) in shown.iter().zip(expected) {
        assert_eq!(shown, expected);
    }
}

#[test]
fn casts_that_are_refused() {
    for (oid, array, word) in [
        (700, Arc::new(Float64Array::from(vec![1.0])) as ArrayRef, "float32"),
        (23, Arc::new(StringArray::from(vec!["1"])), "cast the column"),
        (25, Arc::new(Int64Array::from(vec![1])), "cast the column"),
        (1184, Arc::new(TimestampMicrosecondArray::from(vec![1])), "time zone"),
        (1184, Arc::new(Date32Array::from(vec![1])), "time zone"),
        (1114, Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone("UTC")), "zone"),
        (1082, Arc::new(TimestampMicrosecondArray::from(vec![1])), "cast the column"),
        (16, Arc::new(Int8Array::from(vec![1])), "cast the column"),
        (17, Arc::new(StringArray::from(vec!["1"])), "cast the column"),
        (25, Arc::new(BinaryArray::from(vec![&b"1"[..]])), "cast the column"),
        (1033, Arc::new(Int64Array::from(vec![1])), "it comes from strings"),
    ] {
        let error = cells_of(oid, -1, &array, &EncodeOptions::default()).unwrap_err();
        assert!(error.starts_with("column \"c\": Arrow's ") && error.contains(word), "{error}");
    }
}

#[test]
fn nan_and_nat() {
    let options = EncodeOptions { nan_as_null: true, nat_as_null: true };
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(f64::NAN), None, Some(1.0)]));
    for oid in [701, 23] {
        let cells = cells_of(oid, -1, &floats, &options).unwrap();
        assert_eq!(cells.iter().map(Option::is_some).collect::<Vec<_>>(), [false, false, true]);
    }
    let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![i64::MIN, 0]));
    assert_eq!(cells_of(1114, -1, &times, &options).unwrap()[0], None);
    assert!(cells_of(1114, -1, &times, &EncodeOptions::default()).is_err());
    assert!(error(23, -1, Float64Array::from(vec![f64::NAN])).contains("NaN has no exact int4"));
}

#[test]
fn the_first_error_is_told() {
    let columns: [(&str, ArrayRef); 2] = [
        (
            "a",
            Arc::new(
                (0..3_000).map(|n| if n == 2_500 { 1 << 40 } else { n }).collect::<Int64Array>(),
            ),
        ),
        (
            "b",
            Arc::new(
                (0..3_000).map(|n| if n >= 2_400 { 0.5 } else { 1.0 }).collect::<Float64Array>(),
            ),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let target = |source, name: &str| TargetColumn {
        source,
        name: name.to_owned(),
        pg_type: pg_type(23),
        type_modifier: -1,
    };
    let options = EncodeOptions::default();
    let targets = [target(0, "x"), target(1, "y")];
    let mut encoder = RowEncoder::new(&targets, &batch, &options, 7_000).unwrap();
    let error = encoder.append(&mut Vec::new(), usize::MAX).unwrap_err();
    assert_eq!((error.row, error.column.as_str()), (9_400, "y"));
    assert!(RowEncoder::new(&[target(2, "z")], &batch, &options, 0).is_err());
}

#[test]
fn arrays_as_parameters() {
    let element = &pg_type(23);
    let array: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)]));
    let options = EncodeOptions::default();
    let mut out = Vec::new();
    array_parameter(element, &array, &[2, 2], &options, &mut out).unwrap();
    let expected = "00000002 00000001 00000017 00000002 00000001 00000002 00000001 \
                    00000004 00000001 ffffffff 00000004 00000003 00000004 00000004";
    assert_eq!(Some(out.clone()), crate::testing::hex(expected));
    assert!(array_parameter(element, &array, &[3], &options, &mut out).is_err());
    assert!(array_parameter(element, &array, &[1; 7], &options, &mut out).is_err());
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![0, 1 << 40]));
    let error = array_parameter(element, &wide, &[2], &options, &mut out).unwrap_err();
    assert!(error.to_string().starts_with("element 1, from Int64 to int4: "), "{error}");
    assert_eq!(Some(out.clone()), crate::testing::hex(expected));
    out.clear();
    array_parameter(element, &array.slice(0, 0), &[0], &options, &mut out).unwrap();
    assert_eq!(Some(out), crate::testing::hex("00000000 00000000 00000017"));
}

proptest! {
    #[test]
    fn decimals(
        numbers in prop::collection::vec(any::<Option<i128>>(), 1..50),
        shift in 0_u32..128,
        scale in 0_i8..=38,
    ) {
        let most = 10_i128.pow(38) - 1;
        let numbers = numbers.into_iter().map(|n| n.map(|n| (n >> shift).clamp(-most, most)));
        let array = Decimal128Array::from(numbers.collect::<Vec<_>>());
        let array = array.with_precision_and_scale(38, scale).unwrap();
        let modifier = (38 << 16 | i32::from(scale)) + 4;
        let expected: ArrayRef = Arc::new(array.clone());
        let cells = cells_of(1700, modifier, &expected, &EncodeOptions::default()).unwrap();
        let found = Case::new(1700).modifier(modifier).decode(&cells).unwrap();
        prop_assert_eq!(&found, &expected);
        // The same bytes as from its text, and from a wider decimal.
        for (row, cell) in cells.iter().enumerate() {
            let text = array.is_valid(row).then(|| array.value_as_string(row));
            let by_text = text.map(|text| {
                crate::testing::encode(1700, &crate::value::Value::Numeric(text.into())).unwrap()
            });
            prop_assert_eq!(cell, &by_text);
        }
        let wide: Decimal256Array = array.iter().map(|n| n.map(i256::from_i128)).collect();
        let wide: ArrayRef = Arc::new(wide.with_precision_and_scale(76, scale).unwrap());
        prop_assert_eq!(cells_of(1700, modifier, &wide, &EncodeOptions::default()).unwrap(), cells);
    }

    #[test]
    fn integers(numbers in prop::collection::vec(any::<Option<i64>>(), 0..150)) {
        same(20, Int64Array::from(numbers.clone()));
        let fits = numbers.iter().position(|n| n.is_some_and(|n| i32::try_from(n).is_err()));
        let array: ArrayRef = Arc::new(Int64Array::from(numbers));
        let found = cells_of(23, -1, &array, &EncodeOptions::default());
        match fits {
            Some(row) => {
                let place = format!("row {row},");
                prop_assert!(found.unwrap_err().contains(&place));
            }
            None => prop_assert!(found.is_ok()),
        }
    }

    #[test]
    fn texts(texts in prop::collection::vec(any::<Option<String>>(), 0..50)) {
        let texts: Vec<_> = texts.into_iter().map(|t| t.map(|t| t.replace('\0', "0"))).collect();
        same(25, StringArray::from(texts.clone()));
        let view: ArrayRef = Arc::new(StringViewArray::from_iter(texts.iter()));
        let plain = cells(25, StringArray::from(texts));
        prop_assert_eq!(cells_of(25, -1, &view, &EncodeOptions::default()).unwrap(), plain);
    }
}

#[test]
fn what_a_null_hides_is_not_looked_at() {
    let nulls = Some(NullBuffer::from(vec![true, false]));
    let array = Int64Array::new(vec![1, i64::MAX].into(), nulls);
    assert_eq!(cells(23, array), [Some(vec![0, 0, 0, 1]), None]);
}

#[test]
fn types_that_take_strings() {
    let strings: ArrayRef = Arc::new(StringArray::from(vec!["1"]));
    let takes = |line: &&'static crate::types::PgType| {
        column_encoder(&pg_type(line.oid), -1, &strings, &EncodeOptions::default()).is_ok()
    };
    for line in crate::types::TYPES {
        let is_sent_as_text = line.parameter == Format::Text;
        let expected = match line.kind {
            Kind::Text => !is_sent_as_text,
            Kind::Bits | Kind::Network | Kind::Snapshot | Kind::Tid | Kind::Uuid | Kind::Void => {
                true
            }
            _ => ["char", "pg_lsn"].contains(&line.name),
        };
        assert_eq!(takes(&line), expected, "{}", line.name);
    }
    let addresses = StringArray::from(vec![Some("10.0.0.1"), None]);
    assert_eq!(cells(869, addresses)[1], None);
    assert!(error(869, -1, StringArray::from(vec!["nowhere"])).contains("row 0"));
}
