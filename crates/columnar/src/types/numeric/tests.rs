//! The golden bytes are what PostgreSQL 15 sends for the SQL beside them.

use arrow_array::{Array, Decimal128Array, Decimal256Array, Float64Array, StringArray};
use arrow_buffer::i256;
use arrow_schema::DataType;
use proptest::prelude::*;

use crate::builder::{BatchBuilder, DecodeOptions};
use crate::error::{AppendError, EncodeError, Reason};
use crate::inexact::{Inexact, InexactValue};
use crate::schema::Infinity;
use crate::testing::{Case, Cell, assert_both_ways, data_rows, encode, field, hex, messages};
use crate::types::type_of;
use crate::value::Value;

const NAN: &str = "00000000c0000000";
const PLUS_INFINITY: &str = "00000000d0000020";
const MINUS_INFINITY: &str = "00000000f0000020";

const OID: u32 = 1700;

fn number(text: &str) -> Cell {
    Some(encode(OID, &Value::Numeric(text.into())).unwrap())
}

fn numbers(texts: &[&str]) -> Vec<Cell> {
    texts.iter().map(|text| number(text)).collect()
}

fn printed(cell: &Cell) -> Result<Value<'_>, Reason> {
    (type_of(OID).unwrap().value)(cell.as_ref().unwrap())
}

/// The column's type, and its values as Arrow prints them.
fn decimals(case: &Case, cells: &[Cell]) -> (DataType, Vec<Option<String>>) {
    shown(case.decode(cells).unwrap().as_ref())
}

fn shown(array: &dyn Array) -> (DataType, Vec<Option<String>>) {
    let narrow = array.as_any().downcast_ref::<Decimal128Array>();
    let wide = array.as_any().downcast_ref::<Decimal256Array>();
    let text = |row| {
        array.is_valid(row).then(|| match (narrow, wide) {
            (Some(narrow), _) => narrow.value_as_string(row),
            (_, wide) => wide.unwrap().value_as_string(row),
        })
    };
    (array.data_type().clone(), (0..array.len()).map(text).collect())
}

fn some(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|text| Some((*text).to_owned())).collect()
}

fn modifier(precision: i32, scale: i32) -> i32 {
    (precision << 16 | scale & 0x7ff) + 4
}

#[test]
fn golden() {
    for (bytes, text) in [
        ("00020000000000020001 1388", "1.50"),
        ("0000000000000000", "0"),
        ("0000000000000002", "0.00"),
        ("0003000140000004 007b11d722c5", "-1234567.8901"),
        ("00010005000000000001", "100000000000000000000"),
        ("0001fffe0000000503e8", "0.00001"),
        ("00010000000000000064", "100"),
        ("0002ffff00000005000c0bb8", "0.00123"),
        ("000100000000000003e8", "1000"),
        (NAN, "NaN"),
    ] {
        assert_both_ways(OID, hex(bytes), Value::Numeric(text.into()));
    }
    // The server sets the scale word of an infinity, and ignores it when reading.
    assert_eq!(printed(&hex(PLUS_INFINITY)), Ok(Value::Numeric("Infinity".into())));
    assert_eq!(printed(&hex(MINUS_INFINITY)), Ok(Value::Numeric("-Infinity".into())));
    for infinity in ["Infinity", "-Infinity"] {
        assert_eq!(printed(&number(infinity)), Ok(Value::Numeric(infinity.into())));
    }
}

#[test]
fn extremes_print_exactly() {
    let most = format!("{}.{}", "9".repeat(131_072), "9".repeat(16_383));
    for text in [&most, &format!("-{most}"), &format!("0.{}1", "0".repeat(16_382))] {
        assert_eq!(printed(&number(text)), Ok(Value::Numeric(text.as_str().into())));
    }
    let huge = number("1E131071");
    assert_eq!(huge, hex("00017fff0000000003e8"));
    let array: StringArray = Case::new(OID).cast("utf8").array(&[huge.clone(), number("0.10")]);
    assert_eq!(array.value(0), format!("1{}", "0".repeat(131_071)));
    assert_eq!(array.value(1), "0.10");
    let (row, text) = Case::new(OID).error(&[None, huge]);
    assert_eq!(row, 1);
    assert!(text.contains("pass schema={\"c\": \"utf8\"}"), "{text}");
    let tiny = number(&format!("0.{}1", "0".repeat(16_382)));
    let (row, text) = Case::new(OID).error(&[number("1"), tiny]);
    assert_eq!(row, 1);
    assert!(text.contains("with 16383 digits after the point"), "{text}");
}

#[test]
fn a_zero_has_no_sign() {
    for (bytes, text) in [
        ("0000 0000 4000 0002", "0.00"),
        ("0002 0000 4000 0004 0000 0000", "0.0000"),
        ("0002 0000 4000 0004 0000 0001", "-0.0001"),
    ] {
        assert_eq!(printed(&hex(bytes)), Ok(Value::Numeric(text.into())), "{bytes}");
        let floats: Float64Array = Case::new(OID).cast("float64").array(&[hex(bytes)]);
        let float: f64 = text.parse().unwrap();
        assert_eq!(floats.value(0).to_bits(), float.to_bits(), "{bytes}");
    }
}

#[test]
fn texts_encode() {
    for (given, expected) in [
        ("1.50", "1.50"),
        ("+1.5", "1.5"),
        ("1E+3", "1000"),
        ("1e3", "1000"),
        ("1.50E1", "15.0"),
        ("1.5E3", "1500"),
        ("12E-3", "0.012"),
        ("-0.00", "0.00"),
        ("00012.10", "12.10"),
        (".5", "0.5"),
        ("5.", "5"),
        ("0E+10", "0"),
        ("0E-3", "0.000"),
        ("nan", "NaN"),
        ("sNaN", "NaN"),
        ("-inf", "-Infinity"),
        ("INFINITY", "Infinity"),
        ("10000", "10000"),
        ("100000000.0001", "100000000.0001"),
        ("0E+999999999999999999999", "0"),
    ] {
        assert_eq!(printed(&number(given)), Ok(Value::Numeric(expected.into())), "{given}");
    }
    for bad in ["", "-", ".", "e", "1e", "1e+", "1.2.3", "--1", "1 ", "0x10", "1_000", "١", "1e1.5"]
    {
        let error = encode(OID, &Value::Numeric(bad.into())).unwrap_err();
        assert_eq!(error, EncodeError::NotANumber { given: bad.to_owned() });
    }
    for large in ["1E131072", "1E-16384", "1E999999999999999999999", "1E-999999999999999999999"] {
        let error = encode(OID, &Value::Numeric(large.into())).unwrap_err();
        assert_eq!(error, EncodeError::NumericTooLarge, "{large}");
    }
    let minus_one = encode(OID, &Value::Int(-1)).unwrap();
    assert_eq!(printed(&Some(minus_one)), Ok(Value::Numeric("-1".into())));
    assert!(encode(OID, &Value::Float(1.0)).is_err());
}

#[test]
fn declared_columns() {
    for (precision, scale, expected, texts, shown) in [
        (
            15,
            2,
            DataType::Decimal128(15, 2),
            ["1.50", "-9999999999999.99"],
            ["1.50", "-9999999999999.99"],
        ),
        (
            38,
            10,
            DataType::Decimal128(38, 10),
            ["0.0000000001", "2"],
            ["0.0000000001", "2.0000000000"],
        ),
        (39, 0, DataType::Decimal256(39, 0), ["1", "-1"], ["1", "-1"]),
        (3, 5, DataType::Decimal128(5, 5), ["0.00123", "-0.00001"], ["0.00123", "-0.00001"]),
        (5, -2, DataType::Decimal128(7, 0), ["1234500", "-100"], ["1234500", "-100"]),
    ] {
        let case = Case::new(OID).modifier(modifier(precision, scale));
        assert_eq!(decimals(&case, &numbers(&texts)), (expected, some(&shown)));
    }
    let case = Case::new(OID).modifier(modifier(60, 30));
    let long = "123456789012345678901234567890.123456789012345678901234567890";
    assert_eq!(decimals(&case, &numbers(&[long])), (DataType::Decimal256(60, 30), some(&[long])));
    // Wider than any Arrow decimal: the scale grows, starting from the declared one.
    for (scale, expected) in [
        (3, DataType::Decimal128(38, 3)),
        (40, DataType::Decimal256(76, 40)),
        (80, DataType::Decimal128(38, 0)),
    ] {
        let case = Case::new(OID).modifier(modifier(1000, scale));
        assert_eq!(decimals(&case, &[None]).0, expected);
    }
    let case = Case::new(OID).modifier(modifier(1000, 3));
    let seen = decimals(&case, &numbers(&["1.500"]));
    assert_eq!(seen, (DataType::Decimal128(38, 3), some(&["1.500"])));
}

#[test]
fn what_a_declaration_excludes() {
    let case = Case::new(OID).modifier(modifier(5, 2));
    let (row, text) = case.error(&numbers(&["999.99", "1000.00"]));
    assert_eq!(row, 1);
    assert!(text.contains("more digits than the 5, 2 of them after the point"), "{text}");
    let (row, text) = case.error(&numbers(&["1.00", "0.001"]));
    assert_eq!(row, 1);
    assert!(text.contains("fixed by the column's declaration; pass schema="), "{text}");
}

#[test]
fn the_largest_scale_is_found() {
    let case = Case::new(OID);
    let cells = numbers(&["1", "2.5", "-3.25", "0.125", "1000000"]);
    let shown = some(&["1.000", "2.500", "-3.250", "0.125", "1000000.000"]);
    assert_eq!(decimals(&case, &cells), (DataType::Decimal128(38, 3), shown));
    assert_eq!(decimals(&case, &[]).0, DataType::Decimal128(38, 0));
    assert_eq!(decimals(&case, &[None, None]), (DataType::Decimal128(38, 0), vec![None, None]));
    // The scale counts as sent, including trailing zeros.
    let (data_type, _) = decimals(&case, &numbers(&["1.0000"]));
    assert_eq!(data_type, DataType::Decimal128(38, 4));
}

#[test]
fn widening() {
    let case = Case::new(OID);
    let nines = "9".repeat(38);
    assert_eq!(
        decimals(&case, &numbers(&[&nines])),
        (DataType::Decimal128(38, 0), some(&[&nines]))
    );
    let ten = format!("1{}", "0".repeat(38));
    let expected = (DataType::Decimal256(76, 0), some(&["1", &ten]));
    assert_eq!(decimals(&case, &numbers(&["1", &ten])), expected);
    // The existing values do not fit with a larger scale.
    let expected = (DataType::Decimal256(76, 1), some(&[&format!("{nines}.0"), "0.5"]));
    assert_eq!(decimals(&case, &numbers(&[&nines, "0.5"])), expected);
    // A scale that exceeds a decimal128.
    let small = format!("0.{}1", "0".repeat(38));
    assert_eq!(
        decimals(&case, &numbers(&[&small])),
        (DataType::Decimal256(76, 39), some(&[&small]))
    );
    // And a decimal256 has no room for all of it.
    let most = "9".repeat(76);
    assert_eq!(decimals(&case, &numbers(&[&most])).1, some(&[&most]));
    assert_eq!(case.error(&numbers(&["0.5", "1", &most])).0, 2);
    assert_eq!(case.error(&numbers(&["1", &most, "3", "0.5"])).0, 3);
    assert_eq!(case.error(&numbers(&[&format!("{most}9")])).0, 0);
}

#[test]
fn a_stream_has_room_beside_its_first_batch() {
    let fields = [Case::new(OID).field];
    let options = DecodeOptions { is_stream: true, ..DecodeOptions::default() };
    let types = |cells: &[Cell]| {
        let mut builder = BatchBuilder::new(&fields, &options).unwrap();
        let mut types = Vec::new();
        for cell in cells {
            let bytes = messages([std::slice::from_ref(cell)]);
            builder.append(&mut data_rows(&bytes).unwrap(), usize::MAX)?;
            let batch = builder.finish().unwrap();
            let (data_type, mut texts) = shown(batch.column(0).as_ref());
            types.push((data_type, texts.remove(0).unwrap_or_default()));
        }
        Ok::<_, AppendError>(types)
    };
    let eighteen = DataType::Decimal128(38, 18);
    let found = types(&[number("1.25"), None, number("3.5000"), number("-0.333333333333333333")]);
    let shown = ["1.250000000000000000", "", "3.500000000000000000", "-0.333333333333333333"];
    let expected: Vec<_> = shown.map(|text| (eighteen.clone(), text.to_owned())).into();
    assert_eq!(found, Ok(expected));
    assert_eq!(types(&[None]).unwrap()[0].0, eighteen);
    // The existing digits have priority.
    let whole = "9".repeat(36);
    assert_eq!(types(&[number(&whole)]).unwrap()[0], (DataType::Decimal128(38, 0), whole));
    let wide = format!("{}.5", "9".repeat(40));
    let room = format!("{wide}{}", "0".repeat(17));
    assert_eq!(types(&[number(&wide)]).unwrap()[0], (DataType::Decimal256(76, 18), room));

    let mut declared = Case::new(OID).field;
    declared.type_modifier = (100 << 16 | 2) + 4;
    let bytes = messages([&[number("1.25")][..]]);
    let mut builder = BatchBuilder::new(&[declared], &options).unwrap();
    builder.append(&mut data_rows(&bytes).unwrap(), usize::MAX).unwrap();
    let batch = builder.finish().unwrap();
    assert_eq!(*batch.column(0).data_type(), DataType::Decimal128(38, 2));

    let late = |text: &str| types(&[number("1.25"), number(text)]).unwrap_err().to_string();
    let error = late("0.3333333333333333333300");
    assert!(error.starts_with("column \"c\" of type numeric, row 1: "), "{error}");
    assert!(
        error.ends_with(
            "fixed by the first batch; pass schema={\"c\": \"decimal128(38, 20)\"} or \
             schema={\"c\": \"float64\"} to get it"
        ),
        "{error}"
    );
    let error = late(&format!("-{}", "9".repeat(21)));
    assert!(error.contains("schema={\"c\": \"decimal256(76, 18)\"} or schema"), "{error}");
    let error = late(&"9".repeat(60));
    assert!(error.ends_with("batch; pass schema={\"c\": \"float64\"} to get it"), "{error}");
}

#[test]
fn nan_and_infinity() {
    for (special, word) in
        [(NAN, "NaN"), (PLUS_INFINITY, "Infinity"), (MINUS_INFINITY, "-Infinity")]
    {
        let cells = [number("1.5"), None, hex(special)];
        for infinity in [Infinity::Raise, Infinity::Saturate] {
            let (row, text) = Case::new(OID).infinity(infinity).error(&cells);
            assert_eq!(row, 2);
            assert!(
                text.contains(&format!("decimals have no {word}; pass infinity=\"null\"")),
                "{text}"
            );
            assert!(text.contains("schema={\"c\": \"float64\"}"), "{text}");
        }
        let case = Case::new(OID).infinity(Infinity::Null);
        let expected = (DataType::Decimal128(38, 1), vec![Some("1.5".to_owned()), None, None]);
        assert_eq!(decimals(&case, &cells), expected);
        let array: StringArray = Case::new(OID).cast("utf8").array(&cells);
        assert_eq!(array, StringArray::from(vec![Some("1.5"), None, Some(word)]));
        let array: Float64Array = Case::new(OID).cast("float64").array(&cells);
        assert!(array.values()[1].is_nan() && array.is_null(1) && !array.is_null(2));
        let float: f64 = word.parse().unwrap();
        assert_eq!(array.value(2).is_nan(), float.is_nan());
        assert!(float.is_nan() || array.value(2) == float);
    }
}

#[test]
fn noted_floats() {
    let inexact = Inexact::default();
    let options = DecodeOptions { inexact: Some(inexact.clone()), ..DecodeOptions::default() };
    let fields = [field("a", OID), field("n", 23), field("b", OID)];
    let mut builder = BatchBuilder::new(&fields, &options).unwrap();
    let texts = ["0.1", "1e100", "-12345678901234567.89", "1e400", "33.3333333333333333333"];
    for text in texts {
        let row = [number(text), None, number("9007199254740992")];
        let bytes = messages([&row[..]]);
        builder.append(&mut data_rows(&bytes).unwrap(), usize::MAX).unwrap();
    }
    let batch = builder.finish().unwrap();
    let floats: &Float64Array = batch.column(0).as_any().downcast_ref().unwrap();
    let expected: Vec<f64> = texts.iter().map(|text| text.parse().unwrap()).collect();
    assert_eq!(floats.values().as_ref(), expected);
    assert_eq!(batch.column(1).data_type(), &DataType::Int32);
    // Only the first value, and only in a column that has one.
    let text = "-12345678901234567.89".to_owned();
    assert_eq!(inexact.values(), [InexactValue { place: 0, row: 2, text }]);
}

proptest! {
    /// The result of Rust's own parser for a number's text, and whether that is its shortest text.
    #[test]
    fn noted_floats_are_the_nearest(
        digits in any::<i128>(), shift in 0..127_u32, power in -400..300_i32,
    ) {
        let text = format!("{}e{power}", digits >> shift);
        let inexact = Inexact::default();
        let options = DecodeOptions { inexact: Some(inexact.clone()), ..DecodeOptions::default() };
        let mut builder = BatchBuilder::new(&[field("a", OID)], &options).unwrap();
        let bytes = messages([&[number(&text)][..]]);
        builder.append(&mut data_rows(&bytes).unwrap(), usize::MAX).unwrap();
        let batch = builder.finish().unwrap();
        let floats: &Float64Array = batch.column(0).as_any().downcast_ref().unwrap();
        let expected: f64 = text.parse().unwrap();
        prop_assert_eq!(floats.value(0), expected);
        let shortest = number(&format!("{expected:e}"));
        if expected.is_infinite() {
            prop_assert_eq!(inexact.values().len(), 1);
        } else if printed(&shortest).unwrap() == printed(&number(&text)).unwrap() {
            prop_assert_eq!(inexact.values(), []);
        }
    }
}

#[test]
fn asked_for_decimals() {
    let case = Case::new(OID).cast("decimal128(20, 4)");
    let expected = (DataType::Decimal128(20, 4), some(&["1.5000", "-2.0000"]));
    assert_eq!(decimals(&case, &numbers(&["1.5", "-2.000000"])), expected);
    let (row, text) = case.error(&numbers(&["1.5", "0.00001"]));
    assert_eq!(row, 1);
    assert!(text.contains("the 4 that were fixed by schema; pass"), "{text}");
    assert_eq!(case.error(&numbers(&["1", "12345678901234567"])).0, 1);
    let case = Case::new(OID).cast("decimal256(20, 4)");
    assert_eq!(decimals(&case, &numbers(&["1.5"])).0, DataType::Decimal256(20, 4));
    assert_eq!(case.error(&numbers(&["1", "12345678901234567"])).0, 1);
}

#[test]
fn floats_are_nearest() {
    let texts = [
        "0",
        "0.1",
        "-123.45",
        "9007199254740993",
        "0.30000000000000004",
        "1E+22",
        "1E+23",
        "123456789012345678901234567890",
        "1E-300",
        "1E-400",
        "179769313486231570000",
    ];
    let array: Float64Array = Case::new(OID).cast("float64").array(&numbers(&texts));
    for (row, text) in texts.iter().enumerate() {
        assert_eq!(array.value(row), text.parse::<f64>().unwrap(), "{text}");
    }
    let (row, text) = Case::new(OID).cast("float64").error(&numbers(&["1", "-1E400"]));
    assert_eq!(row, 1);
    assert!(text.contains("out of range for a float64; pass schema={\"c\": \"utf8\"}"), "{text}");
}

#[test]
fn malformed() {
    let malformed = [
        ("", "0 bytes instead of at least 8"),
        ("00000000000000", "7 bytes instead of at least 8"),
        ("0001000000000000", "1 digit groups cannot have 8 bytes"),
        ("00000000000000000001", "0 digit groups cannot have 10 bytes"),
        ("000100000000000000", "1 digit groups cannot have 9 bytes"),
        ("ffff000000000000", "65535 digit groups"),
        ("00010000000000002710", "a digit group 10000"),
        ("0001000000000000ffff", "a digit group 65535"),
        ("0000000012340000", "unknown sign 0x1234"),
        ("0000000000004000", "16384 digits after the point"),
        ("000200000000000000010001", "digits beyond its own scale"),
        ("00020000000000020001 0001", "digits beyond its own scale"),
        ("0006000500000000 270f 270f 270f 270f 270f 2710", "a digit group 10000"),
    ];
    for (bytes, message) in malformed {
        let cells = [number("1"), None, hex(bytes)];
        for case in
            [Case::new(OID), Case::new(OID).cast("utf8"), Case::new(OID).infinity(Infinity::Null)]
        {
            let (row, text) = case.error(&cells);
            assert_eq!(row, 2);
            assert!(text.contains(message), "{bytes}: {text}");
        }
        if !message.contains("beyond") {
            assert_eq!(Case::new(OID).cast("float64").error(&cells).0, 2, "{bytes}");
            assert_eq!(Case::new(OID).modifier(modifier(20, 2)).error(&cells).0, 2);
            assert_eq!(Case::new(OID).modifier(modifier(60, 2)).error(&cells).0, 2);
        }
        assert!(printed(&hex(bytes)).is_err());
    }
    // Zeros in places where the server sends none do not change the number.
    for (bytes, text) in [
        ("0003000100000000 0000 0001 0000", "1"),
        ("0001 7fff 0000 0000 0000", "0"),
        ("0000 8000 0000 0001", "0.0"),
        ("0004 0000 0000 0001 0001 0000 0000 0000", "1.0"),
    ] {
        assert_eq!(printed(&hex(bytes)), Ok(Value::Numeric(text.into())), "{bytes}");
        assert_eq!(decimals(&Case::new(OID), &[hex(bytes)]).1, some(&[text]), "{bytes}");
    }
}

/// Decimal texts of many forms, as the server would print them.
fn any_number() -> impl Strategy<Value = String> {
    let zero =
        |whole: &str, fraction: &str| format!("{whole}{fraction}").bytes().all(|b| b == b'0');
    ("(0|[1-9][0-9]{0,22})", "[0-9]{0,14}", any::<bool>()).prop_map(
        move |(whole, fraction, minus)| {
            let sign = if minus && !zero(&whole, &fraction) { "-" } else { "" };
            let point = if fraction.is_empty() { "" } else { "." };
            format!("{sign}{whole}{point}{fraction}")
        },
    )
}

proptest! {
    #[test]
    fn round_trip(texts in prop::collection::vec(prop::option::of(any_number()), 0..80)) {
        let cells: Vec<_> = texts.iter().map(|t| t.as_deref().and_then(number)).collect();
        for (cell, text) in cells.iter().zip(&texts) {
            if let Some(text) = text {
                prop_assert_eq!(printed(cell), Ok(Value::Numeric(text.as_str().into())));
            }
        }
        let array: StringArray = Case::new(OID).cast("utf8").array(&cells);
        prop_assert_eq!(array, StringArray::from(texts.clone()));
        let scale_of = |text: &String| text.split_once('.').map_or(0, |(_, f)| f.len());
        let scale = texts.iter().flatten().map(scale_of).max();
        let (data_type, shown) = decimals(&Case::new(OID), &cells);
        prop_assert_eq!(data_type, DataType::Decimal128(38, scale.unwrap_or(0) as i8));
        let padded = |text: &String| {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let point = if scale.unwrap_or(0) > 0 { "." } else { "" };
            format!("{whole}{point}{fraction:0<width$}", width = scale.unwrap_or(0))
        };
        let expected: Vec<_> = texts.iter().map(|t| t.as_ref().map(padded)).collect();
        prop_assert_eq!(&shown, &expected);
        let wide = format!("decimal256(76, {})", scale.unwrap_or(0));
        prop_assert_eq!(&decimals(&Case::new(OID).cast(&wide), &cells).1, &expected);
    }

    #[test]
    fn floats_round_once(text in any_number()) {
        let array: Float64Array = Case::new(OID).cast("float64").array(&[number(&text)]);
        prop_assert_eq!(array.value(0), text.parse::<f64>().unwrap());
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(
        count in 0..6_u16,
        weight in -6..6_i16,
        sign in prop::sample::select(vec![0, 0x4000, 0xC000_u16]),
        scale in 0..24_u16, groups in prop::collection::vec(0..10_050_u16, 0..6),
    ) {
        let words = [count, weight as u16, sign, scale].into_iter().chain(groups);
        let cell: Cell = Some(words.flat_map(u16::to_be_bytes).collect());
        let text = printed(&cell);
        let column = Case::new(OID).infinity(Infinity::Null).decode(std::slice::from_ref(&cell));
        match text {
            Ok(Value::Numeric(text)) if text == "NaN" => prop_assert!(column.unwrap().is_null(0)),
            Ok(Value::Numeric(text)) => {
                let shown = decimals(&Case::new(OID), std::slice::from_ref(&cell)).1;
                let shown = shown[0].as_deref().unwrap();
                // Arrow prints no sign before a zero.
                prop_assert!(shown == text || format!("-{shown}") == text, "{} {}", shown, text);
            }
            _ => prop_assert!(column.is_err()),
        }
    }
}

#[test]
fn i256_reaches_76_digits() {
    let case = Case::new(OID).cast("decimal256(76, 0)");
    let array: Decimal256Array =
        case.array(&numbers(&[&"9".repeat(76), &format!("-{}", "9".repeat(76))]));
    let most = i256::from_string(&"9".repeat(76)).unwrap();
    assert_eq!((array.value(0), array.value(1)), (most, most.wrapping_neg()));
}
