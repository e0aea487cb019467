use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{MapBuilder, StringBuilder};
use arrow_array::types::{Int16Type, Int32Type};
use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{DataType, Field, Schema};
use serde_json::{Value, json};

use crate::csv::Csv;
use crate::json_columns::JsonColumnsEncoder;
use crate::lines::LineEncoder;
use crate::ndjson::Ndjson;
use crate::*;

fn text(mut encoder: impl Encoder, batches: &[RecordBatch]) -> Result<String, ArrowError> {
    let mut bytes = Vec::new();
    for batch in batches {
        bytes.extend(encoder.encode(batch)?.iter().flat_map(|part| part.as_slice().to_vec()));
    }
    for part in encoder.finish()? {
        bytes.extend_from_slice(&part?);
    }
    Ok(String::from_utf8(bytes).unwrap())
}

fn ndjson() -> LineEncoder {
    LineEncoder::new(Ndjson::new(Numbers::JavaScript))
}

fn csv() -> LineEncoder {
    LineEncoder::new(Csv::rfc4180())
}

fn of_columns(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn of_column(array: impl Array + 'static) -> RecordBatch {
    of_columns(vec![("v", Arc::new(array))])
}

/// The values of a column as JSON columns have them, after the other formats were found to agree.
fn values(array: impl Array + 'static) -> Value {
    let batch = of_column(array);
    let columns = text(JsonColumnsEncoder::default(), std::slice::from_ref(&batch)).unwrap();
    let columns: Value = serde_json::from_str(&columns).unwrap();
    assert_eq!(columns["rows"], batch.num_rows());
    let values = columns["columns"]["v"].clone();
    let lines = text(ndjson(), std::slice::from_ref(&batch)).unwrap();
    let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["v"].clone());
    assert_eq!(rows.collect::<Value>(), values);
    assert!(text(csv(), &[batch]).is_ok());
    values
}

fn two_columns() -> RecordBatch {
    of_columns(vec![
        ("n", Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]))),
        ("a \"b\"", Arc::new(StringArray::from(vec![Some("x"), Some(""), None]))),
    ])
}

#[test]
fn several_batches_make_one_file() {
    let batches = [two_columns(), two_columns().slice(0, 0), two_columns().slice(1, 2)];
    assert_eq!(
        text(JsonColumnsEncoder::default(), &batches).unwrap(),
        r#"{"columns":{"n":[1,null,3,null,3],"a \"b\"":["x","",null,"",null]},"rows":5}"#
    );
    let rows = [
        r#"{"n":1,"a \"b\"":"x"}"#,
        r#"{"n":null,"a \"b\"":""}"#,
        r#"{"n":3,"a \"b\"":null}"#,
        r#"{"n":null,"a \"b\"":""}"#,
        r#"{"n":3,"a \"b\"":null}"#,
    ];
    assert_eq!(text(ndjson(), &batches).unwrap(), rows.join("\n") + "\n");
    let marked =
        text(LineEncoder::new(Ndjson::new(Numbers::JavaScript).with_end_mark()), &batches).unwrap();
    assert_eq!(marked.lines().last(), Some(r#"{"end":true,"rows":5}"#));
    let cells = "1,x\r\n,\"\"\r\n3,\r\n,\"\"\r\n3,\r\n";
    assert_eq!(text(csv(), &batches).unwrap(), cells);
    let header = "n,\"a \"\"b\"\"\"\r\n";
    assert_eq!(
        text(LineEncoder::new(Csv::rfc4180().with_header()), &batches).unwrap(),
        format!("{header}{cells}")
    );
}

#[test]
fn a_large_document_comes_in_parts_of_limited_size() {
    let rows = 100_000;
    let numbers = Int32Array::from_iter((0..rows).map(|n| (n % 7 > 0).then_some(n)));
    let long = "x".repeat(300);
    let texts = StringArray::from_iter_values(
        (0..rows).map(|n| if n % 1000 == 0 { long.as_str() } else { "short" }),
    );
    let whole = of_columns(vec![("n", Arc::new(numbers)), ("t", Arc::new(texts))]);
    let mut encoder = JsonColumnsEncoder::default();
    // Sliced so that a step ends within, at and after a batch.
    for (from, length) in [(0, 1), (1, 255), (256, 8192), (8448, 41_552), (50_000, 50_000)] {
        assert!(encoder.encode(&whole.slice(from, length)).unwrap().is_empty());
    }
    let parts: Vec<_> = encoder.finish().unwrap().map(Result::unwrap).collect();
    assert!(parts.len() > 5);
    assert!(parts.iter().all(|part| part.len() < 512 << 10));
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.as_slice().to_vec()).collect();
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(document["rows"], rows);
    let numbers = document["columns"]["n"].as_array().unwrap();
    assert_eq!(numbers.len(), rows as usize);
    assert!(
        (0..rows).all(|n| numbers[n as usize] == if n % 7 > 0 { json!(n) } else { json!(null) })
    );
    assert_eq!(document["columns"]["t"][99_000], long);
}

#[test]
fn a_result_without_rows_or_columns_is_complete() {
    let empty = [two_columns().slice(0, 0)];
    let columns = r#"{"columns":{"n":[],"a \"b\"":[]},"rows":0}"#;
    assert_eq!(text(JsonColumnsEncoder::default(), &empty).unwrap(), columns);
    let mark = "{\"end\":true,\"rows\":0}\n";
    assert_eq!(
        text(LineEncoder::new(Ndjson::new(Numbers::JavaScript).with_end_mark()), &empty).unwrap(),
        mark
    );
    assert_eq!(text(csv(), &empty).unwrap(), "");
    let options = RecordBatchOptions::new().with_row_count(Some(2));
    let schema = Arc::new(Schema::empty());
    let bare = RecordBatch::try_new_with_options(schema, Vec::new(), &options).unwrap();
    let bare = [bare];
    assert_eq!(text(JsonColumnsEncoder::default(), &bare).unwrap(), r#"{"columns":{},"rows":2}"#);
    assert_eq!(text(ndjson(), &bare).unwrap(), "{}\n{}\n");
    assert_eq!(
        text(LineEncoder::new(Csv::rfc4180().with_header()), &bare).unwrap(),
        "\r\n\r\n\r\n"
    );
}

#[test]
fn a_file_needs_a_batch_and_one_schema() {
    let encoders: [fn() -> Box<dyn Encoder>; 3] =
        [|| Box::new(JsonColumnsEncoder::default()), || Box::new(ndjson()), || Box::new(csv())];
    for encoder in encoders {
        assert!(encoder().finish().err().unwrap().to_string().contains("at least one batch"));
        let mut encoder = encoder();
        encoder.encode(&two_columns()).unwrap();
        let error = encoder.encode(&of_column(Int32Array::from(vec![1]))).unwrap_err();
        assert!(error.to_string().contains("other columns or types"), "{error}");
        assert!(encoder.finish().is_ok());
        assert!(encoder.finish().is_err());
    }
}

#[test]
fn objects_refuse_columns_of_one_name() {
    let fields = ["a", "b", "a", "b", "a"].map(|name| Field::new(name, DataType::Int32, true));
    let arrays: Vec<ArrayRef> =
        (0..5).map(|n| Arc::new(Int32Array::from(vec![n])) as ArrayRef).collect();
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let batch = [RecordBatch::try_new(schema, arrays.clone()).unwrap()];
    for error in [
        text(JsonColumnsEncoder::default(), &batch).unwrap_err(),
        text(ndjson(), &batch).unwrap_err(),
    ] {
        assert!(matches!(&error, ArrowError::InvalidArgumentError(_)), "{error:?}");
        assert!(error.to_string().contains(r#"the name "a", "b":"#), "{error}");
    }
    assert_eq!(
        text(LineEncoder::new(Csv::rfc4180().with_header()), &batch).unwrap(),
        "a,b,a,b,a\r\n0,1,2,3,4\r\n"
    );
    let structs = StructArray::new(fields.to_vec().into(), arrays, None);
    for error in refusals(structs) {
        assert!(error.contains(r#"column "v" has structs with several fields"#), "{error}");
    }
}

fn refusals(array: impl Array + 'static) -> [String; 3] {
    let batch = [of_column(array)];
    [
        text(JsonColumnsEncoder::default(), &batch).unwrap_err().to_string(),
        text(ndjson(), &batch).unwrap_err().to_string(),
        text(csv(), &batch).unwrap_err().to_string(),
    ]
}

#[test]
fn types_without_text_are_refused_by_name() {
    let fields = [(0_i8, Arc::new(Field::new("n", DataType::Int32, true)))].into_iter().collect();
    let children = vec![Arc::new(Int32Array::from(vec![1])) as ArrayRef];
    let union = UnionArray::try_new(fields, vec![0_i8].into(), None, children).unwrap();
    for error in refusals(union) {
        assert!(error.contains(r#"column "v" has values of the type Union"#), "{error}");
    }
    let keys = Int32Array::from(vec![1]);
    let entries = StructArray::from(vec![
        (Arc::new(Field::new("keys", DataType::Int32, false)), Arc::new(keys.clone()) as ArrayRef),
        (Arc::new(Field::new("values", DataType::Int32, true)), Arc::new(keys) as ArrayRef),
    ]);
    let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    let map = MapArray::new(field, OffsetBuffer::from_lengths([1]), entries, None, false);
    for error in refusals(map) {
        assert!(error.contains("keys of the type Int32"), "{error}");
    }
}

#[test]
fn text_of_every_layout() {
    let texts = vec![Some("a\nb"), None, Some("")];
    let want = json!(["a\nb", null, ""]);
    assert_eq!(values(StringArray::from(texts.clone())), want);
    assert_eq!(values(LargeStringArray::from(texts.clone())), want);
    assert_eq!(values(StringViewArray::from(texts.clone())), want);
    let labels: DictionaryArray<Int16Type> = texts.into_iter().collect();
    assert_eq!(values(labels), want);
    let bytes = vec![Some(b"\x00\xff".as_slice()), None, Some(b"")];
    let want = json!(["AP8=", null, ""]);
    assert_eq!(values(BinaryArray::from(bytes.clone())), want);
    assert_eq!(values(LargeBinaryArray::from(bytes.clone())), want);
    assert_eq!(values(BinaryViewArray::from(bytes)), want);
    let batch = [of_column(BinaryArray::from(vec![Some(b"".as_slice()), None]))];
    assert_eq!(text(csv(), &batch).unwrap(), "\"\"\r\n\r\n");
}

#[test]
fn a_dictionary_can_hold_null() {
    let keys = Int32Array::from(vec![Some(0), Some(1), None]);
    let labels = StringArray::from(vec![None, Some("x")]);
    let array = DictionaryArray::<Int32Type>::new(keys, Arc::new(labels));
    assert_eq!(values(array), json!([null, "x", null]));
}

#[test]
fn runs_are_written_row_by_row() {
    let ends = Int32Array::from(vec![2, 3, 5]);
    let texts = StringArray::from(vec![Some("a"), None, Some("b")]);
    let runs = RunArray::<Int32Type>::try_new(&ends, &texts).unwrap();
    assert_eq!(values(runs.slice(1, 3)), json!(["a", null, "b"]));
    assert_eq!(values(NullArray::new(2)), json!([null, null]));
}

#[test]
fn lists_of_every_layout() {
    let lists = vec![Some(vec![Some(1), None]), None, Some(vec![]), Some(vec![Some(2), Some(3)])];
    let want = json!([[1, null], null, [], [2, 3]]);
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(lists.clone());
    assert_eq!(values(list.clone()), want);
    assert_eq!(values(list.slice(2, 2)), json!([[], [2, 3]]));
    let large = LargeListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    assert_eq!(values(large), want);
    let view = ListViewArray::from(list.clone());
    assert_eq!(values(view), want);
    let fixed = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
        [Some(vec![Some(1), None]), None],
        2,
    );
    assert_eq!(values(fixed), json!([[1, null], null]));
    let item = Arc::new(Field::new("item", list.data_type().clone(), true));
    let nested = ListArray::new(item, OffsetBuffer::from_lengths([2, 2]), Arc::new(list), None);
    assert_eq!(values(nested.clone()), json!([[[1, null], null], [[], [2, 3]]]));
    let cells = "\"[[1,null],null]\"\r\n\"[[],[2,3]]\"\r\n";
    assert_eq!(text(csv(), &[of_column(nested)]).unwrap(), cells);
}

#[test]
fn structs_and_maps_are_objects() {
    let number = Arc::new(Int64Array::from(vec![Some(1 << 60), None])) as ArrayRef;
    let wide = Decimal256Array::from(vec![i256::from_i128(-5), i256::ZERO]);
    let wide = Arc::new(wide.with_precision_and_scale(60, 2).unwrap()) as ArrayRef;
    let fields = vec![
        Field::new("n", DataType::Int64, true),
        Field::new("wide \"\n", wide.data_type().clone(), true),
    ];
    let nulls = NullBuffer::from(vec![true, false]);
    let structs = StructArray::new(fields.into(), vec![number, wide], Some(nulls));
    let want = json!([{"n": "1152921504606846976", "wide \"\n": "-0.05"}, null]);
    assert_eq!(values(structs), want);
    let mut maps = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    maps.keys().append_value("a\"");
    maps.values().append_null();
    maps.keys().append_value("");
    maps.values().append_value("x");
    maps.append(true).unwrap();
    maps.append(false).unwrap();
    maps.append(true).unwrap();
    assert_eq!(values(maps.finish()), json!([{"a\"": null, "": "x"}, null, {}]));
}

#[test]
fn fields_tell_json_and_uuids_apart() {
    let named = |array: ArrayRef, extension: &str, item: bool| {
        let key = arrow_schema::extension::EXTENSION_TYPE_NAME_KEY.to_owned();
        let metadata = HashMap::from([(key, extension.to_owned())]);
        let field = Field::new("item", array.data_type().clone(), true).with_metadata(metadata);
        let (field, array) = if item {
            let rows = OffsetBuffer::new(ScalarBuffer::from(vec![0, array.len() as i32]));
            let list = ListArray::new(Arc::new(field), rows, array, None);
            (Field::new("v", list.data_type().clone(), true), Arc::new(list) as ArrayRef)
        } else {
            (field.with_name("v"), array)
        };
        let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
        [batch]
    };
    let json: ArrayRef =
        Arc::new(StringArray::from(vec![Some("{\"a\":\n1}"), None, Some("\"x\"")]));
    let lines = text(ndjson(), &named(Arc::clone(&json), "arrow.json", false)).unwrap();
    assert_eq!(lines, "{\"v\":{\"a\": 1}}\n{\"v\":null}\n{\"v\":\"x\"}\n");
    let cells = text(csv(), &named(Arc::clone(&json), "arrow.json", false)).unwrap();
    assert_eq!(cells, "\"{\"\"a\"\":\n1}\"\r\n\r\n\"\"\"x\"\"\"\r\n");
    let lines = text(ndjson(), &named(json, "arrow.json", true)).unwrap();
    assert_eq!(lines, "{\"v\":[{\"a\": 1},null,\"x\"]}\n");
    let ids = FixedSizeBinaryArray::try_from_iter([[0xab_u8; 16]].into_iter()).unwrap();
    let ids: ArrayRef = Arc::new(ids);
    let lines = text(ndjson(), &named(Arc::clone(&ids), "arrow.uuid", true)).unwrap();
    assert_eq!(lines, "{\"v\":[\"abababab-abab-abab-abab-abababababab\"]}\n");
    let lines = text(ndjson(), &named(ids, "other", false)).unwrap();
    assert_eq!(lines, "{\"v\":\"q6urq6urq6urq6urq6urqw==\"}\n");
}

#[test]
fn strings_of_numbers_are_bare_cells() {
    let batch = [of_columns(vec![
        ("n", Arc::new(Int64Array::from(vec![i64::MIN, 7])) as ArrayRef),
        ("f", Arc::new(Float64Array::from(vec![f64::NAN, 1e300]))),
        ("d", Arc::new(Date32Array::from(vec![0, 1]))),
        ("t", Arc::new(TimestampMicrosecondArray::from(vec![1, 0]).with_timezone("Europe/Rome"))),
        ("l", Arc::new(DurationMillisecondArray::from(vec![1500, 0]))),
        ("b", Arc::new(BooleanArray::from(vec![true, false]))),
        ("s", Arc::new(StringArray::from(vec!["a,b", "\"x\"\n"]))),
    ])];
    assert_eq!(
        text(csv(), &batch).unwrap(),
        "-9223372036854775808,NaN,1970-01-01,1970-01-01T00:00:00.000001Z,PT1.5S,true,\"a,b\"\r\n\
         7,1e+300,1970-01-02,1970-01-01T00:00:00Z,PT0S,false,\"\"\"x\"\"\n\"\r\n"
    );
}

#[test]
fn copys_end_of_data_is_quoted_in_csv() {
    let column: ArrayRef = Arc::new(StringArray::from(vec!["\\.", "\\.x", "a"]));
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    let written = text(csv(), &[batch]).unwrap();
    assert_eq!(written, "\"\\.\"\r\n\\.x\r\na\r\n");
}

#[test]
fn exact_numbers_are_numbers() {
    let wide = Decimal256Array::from(vec![i256::from_i128(-5), i256::ZERO]);
    let number = Arc::new(Int64Array::from(vec![i64::MIN, 7])) as ArrayRef;
    let list = ListArray::new(
        Arc::new(Field::new("item", DataType::Int64, true)),
        OffsetBuffer::from_lengths([2, 0]),
        Arc::clone(&number),
        None,
    );
    let batch = [of_columns(vec![
        ("n", number),
        ("u", Arc::new(UInt64Array::from(vec![u64::MAX, 0]))),
        ("d", Arc::new(wide.with_precision_and_scale(60, 2).unwrap())),
        ("l", Arc::new(list)),
        ("f", Arc::new(Float64Array::from(vec![f64::NAN, 0.1]))),
    ])];
    let exact = || LineEncoder::new(Ndjson::new(Numbers::Exact));
    assert_eq!(
        text(exact(), &batch).unwrap(),
        "{\"n\":-9223372036854775808,\"u\":18446744073709551615,\"d\":-0.05,\
         \"l\":[-9223372036854775808,7],\"f\":\"NaN\"}\n\
         {\"n\":7,\"u\":0,\"d\":0.00,\"l\":[],\"f\":0.1}\n"
    );
    let quoted = "{\"n\":\"-9223372036854775808\",\"u\":\"18446744073709551615\",\"d\":\"-0.05\"";
    assert!(text(ndjson(), &batch).unwrap().starts_with(quoted));
}

#[test]
fn numbers_that_are_text_keep_their_digits() {
    let texts = StringArray::from(vec![Some("1.500"), Some("-Infinity"), None, Some("1e+20")]);
    let key = arrow_schema::extension::EXTENSION_TYPE_NAME_KEY.to_owned();
    let field = Field::new("v", DataType::Utf8, true)
        .with_metadata(HashMap::from([(key, NUMERALS.to_owned())]));
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = [RecordBatch::try_new(schema, vec![Arc::new(texts)]).unwrap()];
    assert_eq!(
        text(LineEncoder::new(Ndjson::new(Numbers::Exact)), &batch).unwrap(),
        "{\"v\":1.500}\n{\"v\":\"-Infinity\"}\n{\"v\":null}\n{\"v\":1e+20}\n"
    );
    assert_eq!(text(csv(), &batch).unwrap(), "1.500\r\n-Infinity\r\n\r\n1e+20\r\n");
}

#[test]
fn copys_csv_has_its_own_delimiter_and_null() {
    let batch = [of_columns(vec![
        ("a;b", Arc::new(StringArray::from(vec![Some("x;y"), None, Some("-"), Some("")])) as _),
        ("n", Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(3)]))),
    ])];
    let made = || LineEncoder::new(Csv::copy(b';', "-").with_header());
    let rows = ["\"a;b\";n\n", "\"x;y\";1\n", "-;2\n", "\"-\";-\n", ";3\n"];
    assert_eq!(text(made(), &batch).unwrap(), rows.concat());
    let digits = LineEncoder::new(Csv::copy(b'2', "1"));
    assert_eq!(text(digits, &[batch[0].slice(0, 2)]).unwrap(), "x;y2\"1\"\n12\"2\"\n");
    let plain = LineEncoder::new(Csv::copy(b',', ""));
    assert_eq!(text(plain, &[batch[0].slice(1, 3)]).unwrap(), ",2\n-,\n\"\",3\n");
}

#[test]
fn lines_are_cut_where_rows_end() {
    let texts = StringArray::from(vec!["a\nb", "c", "", "longer"]);
    let batch = of_column(texts);
    let mut encoder = LineEncoder::new(Csv::copy(b',', "").with_header());
    assert!(encoder.head().is_empty());
    let lines = encoder.lines(&[batch.slice(0, 1), batch.slice(1, 3)]).unwrap();
    assert_eq!(encoder.head(), b"v\n");
    assert_eq!((lines.len(), lines.is_empty()), (4, false));
    assert_eq!(lines.text(), b"\"a\nb\"\nc\n\"\"\nlonger\n");
    assert_eq!(lines.slice(1..3).text(), b"c\n\"\"\n");
    assert_eq!(lines.slice(1..4).slice(1..9).text(), b"\"\"\nlonger\n");
    assert!(lines.slice(7..9).is_empty());
    assert_eq!([0, 5, 6, 8, 99].map(|most| lines.fitting(most)), [0, 0, 1, 2, 4]);
    assert_eq!(lines.slice(2..4).fitting(3), 1);
    assert!(JsonColumnsEncoder::default().lines(&[batch]).is_err());
}
