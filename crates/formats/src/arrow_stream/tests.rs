use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Decimal128Array, DictionaryArray, Float64Array, Int64Array, ListArray, RecordBatch,
    StringArray, StringViewArray, StructArray,
};
use arrow_schema::{DataType, Field};

use super::*;

fn batch(from: i64, rows: i64) -> RecordBatch {
    let numbers = || (from..from + rows).map(|row| (row % 3 != 0).then_some(row));
    let texts: Vec<Option<String>> =
        numbers().map(|number| number.map(|number| format!("text {number}"))).collect();
    let labels: DictionaryArray<Int32Type> =
        texts.iter().map(|text| text.as_ref().map(|_| "label")).collect();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
        numbers().map(|number| number.map(|number| vec![Some(number as i32), None])),
    );
    let numbers: ArrayRef = Arc::new(numbers().collect::<Int64Array>());
    let floats: Float64Array = (from..from + rows).map(|row| Some(row as f64 / 3.0)).collect();
    let decimals: Decimal128Array = (from..from + rows).map(|row| Some(i128::from(row))).collect();
    let pair = [("number", DataType::Int64), ("float", DataType::Float64)];
    let pair = pair.map(|(name, data_type)| Field::new(name, data_type, true));
    let pairs = StructArray::new(
        pair.to_vec().into(),
        vec![Arc::clone(&numbers), Arc::new(floats) as ArrayRef],
        None,
    );
    RecordBatch::try_from_iter_with_nullable([
        ("number", numbers, true),
        ("text", Arc::new(StringArray::from(texts.clone())) as ArrayRef, true),
        ("view", Arc::new(StringViewArray::from_iter(texts)), true),
        ("label", Arc::new(labels), true),
        ("list", Arc::new(lists), true),
        ("decimal", Arc::new(decimals), true),
        ("pair", Arc::new(pairs), true),
    ])
    .unwrap()
}

fn bytes_of(buffers: Vec<Buffer>) -> Vec<u8> {
    buffers.iter().flat_map(|buffer| buffer.as_slice().to_vec()).collect()
}

fn encoded(codec: Codec, batches: &[RecordBatch]) -> Vec<u8> {
    let mut encoder = ArrowStreamEncoder::new(codec);
    let mut bytes = Vec::new();
    for batch in batches {
        bytes.extend(bytes_of(encoder.encode(batch).unwrap()));
    }
    bytes.extend(bytes_of(encoder.finish().unwrap().map(Result::unwrap).collect()));
    bytes
}

fn read(bytes: &[u8], step: usize) -> Result<(Vec<RecordBatch>, Counts), Fault> {
    let mut reader = StreamReader::new(u64::MAX);
    let mut batches = Vec::new();
    for part in bytes.chunks(step) {
        batches.extend(reader.push(part)?);
    }
    Ok((batches, reader.finish()?))
}

#[test]
fn an_encoder_keeps_no_batch() {
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let array = Int64Array::from(vec![7; 1000]);
        let values = array.values().inner().clone();
        let batch = RecordBatch::try_from_iter([("a", Arc::new(array) as ArrayRef)]).unwrap();
        let mut encoder = ArrowStreamEncoder::new(codec);
        drop(encoder.encode(&batch).unwrap());
        drop(batch);
        assert_eq!(values.strong_count(), 1);
        assert!(encoder.finish().is_ok());
    }
}

#[test]
fn a_stream_reads_back_however_its_bytes_arrive() {
    let batches = [batch(0, 100), batch(100, 7), batch(107, 0)];
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let bytes = encoded(codec, &batches);
        for step in [1, 7, 64, 1000, bytes.len()] {
            let (read, counts) = read(&bytes, step).unwrap();
            assert_eq!(read, batches);
            assert_eq!(counts, Counts { rows: 107, batches: 3 });
        }
    }
}

#[test]
fn a_slice_reads_back() {
    let whole = batch(0, 50);
    let parts = [whole.slice(3, 20), whole.slice(23, 27)];
    let (read, _) = read(&encoded(Codec::None, &parts), 100).unwrap();
    assert_eq!(read, parts);
}

#[test]
fn arrow_rs_reads_the_stream_with_its_end_mark() {
    let batches = [batch(0, 10), batch(10, 10)];
    let bytes = encoded(Codec::Zstd, &batches);
    let reader = arrow_ipc::reader::StreamReader::try_new(bytes.as_slice(), None).unwrap();
    let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 20);
}

#[test]
fn a_cut_anywhere_is_an_error() {
    let bytes = encoded(Codec::None, &[batch(0, 10), batch(10, 5)]);
    for length in 0..bytes.len() {
        let fault = read(&bytes[..length], 100).map(|_| ()).unwrap_err();
        assert!(matches!(fault, Fault::Incomplete(_)), "{length}: {fault:?}");
    }
}

#[test]
fn poison_after_any_batch_is_an_error() {
    let mut encoder = ArrowStreamEncoder::new(Codec::None);
    let mut bytes = bytes_of(encoder.encode(&batch(0, 10)).unwrap());
    bytes.extend_from_slice(ArrowStreamEncoder::poison());
    let fault = read(&bytes, 100).unwrap_err();
    assert!(fault.to_string().contains("failed after 10 rows in 1 batches"), "{fault}");

    let reader = arrow_ipc::reader::StreamReader::try_new(bytes.as_slice(), None).unwrap();
    let batches: Vec<_> = reader.collect();
    assert!(matches!(batches.as_slice(), [Ok(_), Err(_)]), "{batches:?}");
}

#[test]
fn wrong_counts_and_a_missing_mark_are_errors() {
    let first = batch(0, 10);
    let options = IpcWriteOptions::default();
    let plain = |mark: Option<Counts>| {
        let mut encoder = StreamEncoder::try_new(first.schema_ref()).unwrap();
        let mut bytes = bytes_of(encoder.encode(&first).unwrap());
        if let Some(counts) = mark {
            bytes.extend_from_slice(
                &end_mark::message(&first.slice(0, 0), counts, &options).unwrap(),
            );
        }
        bytes.extend(bytes_of(encoder.finish().unwrap()));
        bytes
    };
    assert!(read(&plain(Some(Counts { rows: 10, batches: 1 })), 100).is_ok());
    for counts in
        [None, Some(Counts { rows: 9, batches: 1 }), Some(Counts { rows: 10, batches: 2 })]
    {
        let fault = read(&plain(counts), 100).unwrap_err();
        assert!(matches!(fault, Fault::Incomplete(_)), "{fault:?}");
    }
}

#[test]
fn changed_bytes_never_panic() {
    let bytes = encoded(Codec::Lz4, &[batch(0, 5)]);
    for position in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[position] = [0x00, 0x7f, 0xff][position % 3];
        let _ = read(&changed, 4096);
    }
}

#[test]
fn another_schema_is_refused() {
    let mut encoder = ArrowStreamEncoder::new(Codec::None);
    encoder.encode(&batch(0, 1)).unwrap();
    let other = batch(0, 1).project(&[0]).unwrap();
    assert!(encoder.encode(&other).is_err());
    assert!(ArrowStreamEncoder::new(Codec::None).finish().is_err());
}

#[test]
fn codecs_have_names() {
    let known = ["none", "lz4", "zstd", "ZSTD"].map(Codec::named);
    assert_eq!(known, [Some(Codec::None), Some(Codec::Lz4), Some(Codec::Zstd), None]);
}
