//! Streams that claim more than they have.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, NullArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::root_as_message;
use arrow_ipc::writer::StreamEncoder;
use arrow_schema::{DataType, Field, Schema};
use colonnade_formats::Encoder;
use colonnade_formats::arrow_stream::{ArrowStreamEncoder, Codec, Fault, StreamReader};

const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

fn bytes_of(buffers: &[Buffer]) -> Vec<u8> {
    buffers.iter().flat_map(|buffer| buffer.as_slice().to_vec()).collect()
}

fn read(bytes: &[u8]) -> Result<usize, Fault> {
    let mut reader = StreamReader::new(u64::MAX);
    let batches = reader.push(bytes)?;
    reader.finish()?;
    Ok(batches.iter().map(RecordBatch::num_rows).sum())
}

fn refusal(bytes: &[u8]) -> String {
    match read(bytes) {
        Err(Fault::Invalid(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// The positions at which the messages begin.
fn messages(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    let mut at = 0;
    loop {
        let length = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        if length == 0 {
            return starts;
        }
        let message = root_as_message(&bytes[at + 8..at + 8 + length]).unwrap();
        at += 8 + length + usize::try_from(message.bodyLength()).unwrap();
        starts.push(at);
    }
}

fn encoded(batches: &[RecordBatch], codec: Codec) -> Vec<u8> {
    let mut encoder = ArrowStreamEncoder::new(codec);
    let mut buffers = Vec::new();
    for batch in batches {
        buffers.extend(encoder.encode(batch).unwrap());
    }
    buffers.extend(encoder.finish().unwrap().map(Result::unwrap));
    bytes_of(&buffers)
}

fn complete(columns: Vec<ArrayRef>, codec: Codec) -> Vec<u8> {
    let names = (0..columns.len()).map(|number| format!("c{number}"));
    encoded(&[RecordBatch::try_from_iter(names.zip(columns)).unwrap()], codec)
}

/// The stream with every occurrence of a number replaced in the metadata of its first batch.
fn with_number(bytes: &[u8], number: i64, other: i64) -> Vec<u8> {
    let start = messages(bytes)[1];
    let mut changed = bytes.to_vec();
    let length = u32::from_le_bytes(bytes[start + 4..start + 8].try_into().unwrap());
    let metadata = &mut changed[start + 8..][..length as usize];
    let mut found = 0;
    for at in (0..metadata.len() - 7).step_by(4) {
        if metadata[at..at + 8] == number.to_le_bytes() {
            metadata[at..at + 8].copy_from_slice(&other.to_le_bytes());
            found += 1;
        }
    }
    assert!(found > 0);
    changed
}

#[test]
fn rows_that_need_no_bytes_are_bounded() {
    let nulls = complete(vec![Arc::new(NullArray::new(987_654))], Codec::None);
    assert_eq!(read(&nulls).unwrap(), 987_654);
    for claim in [1 << 62, i64::MAX, (1 << 31) + 1, -1, i64::MIN] {
        let text = refusal(&with_number(&nulls, 987_654, claim));
        assert!(text.contains(&format!("claims {claim} rows")), "{text}");
    }
}

#[test]
fn columns_that_share_their_bytes_are_refused() {
    let numbers = || Arc::new(Int64Array::from_iter_values(0..1237)) as ArrayRef;
    let bytes = complete(vec![numbers(), numbers(), numbers()], Codec::None);
    assert_eq!(read(&bytes).unwrap(), 1237);
    // Each then has the bytes of two columns, within the message.
    let shared = with_number(&bytes, 2 * 9920, 0);
    let text = refusal(&with_number(&shared, 1237 * 8, 9920 + 1237 * 8));
    assert!(text.contains("has buffers of"), "{text}");
    refusal(&with_number(&bytes, 1237 * 8, -1));
    refusal(&with_number(&bytes, 1237 * 8, i64::MIN));
}

#[test]
fn a_bomb_is_refused_before_it_is_decompressed() {
    for codec in [Codec::Lz4, Codec::Zstd] {
        let zeros = Arc::new(Int64Array::from(vec![0; 1 << 16]));
        let mut bytes = complete(vec![zeros], codec);
        let size = (8_i64 << 16).to_le_bytes();
        let at = bytes.windows(8).rposition(|window| window == size).unwrap();
        for claim in [(1_i64 << 31) + 1, i64::MAX] {
            bytes[at..at + 8].copy_from_slice(&claim.to_le_bytes());
            assert!(refusal(&bytes).contains("decompressed"));
        }
        // The data are larger than this claim.
        bytes[at..at + 8].copy_from_slice(&64_i64.to_le_bytes());
        refusal(&bytes);
    }
}

#[test]
fn a_schema_is_no_larger_than_its_bytes() {
    use arrow_ipc::{FieldArgs, Int, IntArgs, MessageArgs, SchemaArgs, Type};

    // Ten thousand fields that share one name of ten thousand bytes.
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let name = builder.create_string(&"n".repeat(10_000));
    let number = Int::create(&mut builder, &IntArgs { bitWidth: 64, is_signed: true });
    let none: [flatbuffers::WIPOffset<arrow_ipc::Field<'_>>; 0] = [];
    let children = builder.create_vector(&none);
    let field = FieldArgs {
        name: Some(name),
        type_type: Type::Int,
        type_: Some(number.as_union_value()),
        children: Some(children),
        ..Default::default()
    };
    let field = arrow_ipc::Field::create(&mut builder, &field);
    let fields = builder.create_vector(&vec![field; 10_000]);
    let schema = SchemaArgs { fields: Some(fields), ..Default::default() };
    let schema = arrow_ipc::Schema::create(&mut builder, &schema);
    let message = MessageArgs {
        version: arrow_ipc::MetadataVersion::V5,
        header_type: arrow_ipc::MessageHeader::Schema,
        header: Some(schema.as_union_value()),
        ..Default::default()
    };
    let message = arrow_ipc::Message::create(&mut builder, &message);
    builder.finish(message, None);
    let mut metadata = builder.finished_data().to_vec();
    metadata.resize(metadata.len().next_multiple_of(8), 0);
    let length = u32::try_from(metadata.len()).unwrap().to_le_bytes();
    refusal(&[&[0xff; 4], length.as_slice(), &metadata].concat());
}

#[test]
fn the_widest_table_is_read() {
    let row = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    assert_eq!(read(&complete((0..1600).map(|_| row()).collect(), Codec::None)).unwrap(), 1);
}

#[test]
fn types_that_are_nested_too_deep_are_refused() {
    let mut data_type = DataType::Int64;
    for _ in 0..200 {
        data_type = DataType::List(Arc::new(Field::new("item", data_type, true)));
    }
    let schema = Schema::new(vec![Field::new("deep", data_type, true)]);
    refusal(&bytes_of(&StreamEncoder::try_new(&schema).unwrap().finish().unwrap()));
}

#[test]
fn an_end_mark_without_a_batch_is_refused() {
    let bytes = complete(vec![Arc::new(Int64Array::from(vec![1, 2]))], Codec::None);
    let starts = messages(&bytes);
    let (schema, mark) = (&bytes[..starts[1]], &bytes[starts[2]..]);
    // The counts of nothing are true, and there is nothing to return.
    let mut none = [schema, mark].concat();
    for text in [b"\x01\0\0\x001\0", b"\x01\0\0\x002\0"] {
        let at = none.windows(6).rposition(|window| window == text).unwrap();
        none[at + 4] = b'0';
    }
    assert!(refusal(&none).contains("no batch"));
    assert!(matches!(read(&[schema, END.as_slice()].concat()), Err(Fault::Incomplete(_))));
}

#[test]
fn a_second_schema_is_refused_and_empty_batches_are_read() {
    let column = Arc::new(Int64Array::from(Vec::<i64>::new())) as ArrayRef;
    let empty = RecordBatch::try_from_iter([("c", column)]).unwrap();
    let bytes = encoded(&vec![empty; 5000], Codec::None);
    assert_eq!(read(&bytes).unwrap(), 0);
    let schema = &bytes[..messages(&bytes)[1]];
    refusal(&[schema, &bytes].concat());
}

#[test]
fn a_buffer_outside_its_message() {
    let table = complete(vec![Arc::new(Int64Array::from(vec![1, 2]))], Codec::None);
    let start = messages(&table)[1];
    let metadata = start + 8;
    let length = u32::from_le_bytes(table[start + 4..metadata].try_into().unwrap()) as usize;
    let message = root_as_message(&table[metadata..metadata + length]).unwrap();
    let batch = message.header_as_record_batch().unwrap();
    let buffer = batch.buffers().unwrap().get(1);
    let [offset, size] = [buffer.offset(), buffer.length()].map(i64::to_le_bytes);
    let known = [offset, size].concat();
    let at = metadata + table[metadata..].windows(16).position(|words| words == known).unwrap();
    for wrong in [i64::MIN, -1, 1 << 20, i64::MAX] {
        let mut changed = table.clone();
        changed[at..at + 8].copy_from_slice(&wrong.to_le_bytes());
        assert!(refusal(&changed).ends_with("has a buffer outside them"), "{wrong}");
    }
}

#[test]
fn a_table_larger_than_its_reader_wants() {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![7; 100_000]));
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let table = complete(vec![column.clone()], codec);
        for (bytes_max, is_read) in [(100, false), (799_999, false), (900_000, true)] {
            let mut reader = StreamReader::new(bytes_max);
            let result = reader.push(&table);
            assert_eq!(result.is_ok(), is_read, "{codec:?} {bytes_max}");
            if let Err(fault) = result {
                let fault = fault.to_string();
                let refusal = format!("the table has more than {bytes_max} bytes: ");
                assert!(
                    fault.starts_with(&refusal) && fault.contains("its schema and 0 rows"),
                    "{fault}"
                );
            }
        }
    }
}

/// The stream with this many bytes more in the metadata of each message.
fn with_more_metadata(bytes: &[u8], more: usize) -> Vec<u8> {
    let starts = messages(bytes);
    let mut changed = Vec::new();
    for (start, end) in starts.iter().zip(&starts[1..]) {
        let message = &bytes[*start..*end];
        let length = u32::from_le_bytes(message[4..8].try_into().unwrap()) as usize;
        let longer = u32::try_from(length + more).unwrap();
        changed.extend(message[..4].iter().chain(&longer.to_le_bytes()));
        changed.extend(&message[8..8 + length]);
        changed.resize(changed.len() + more, 0);
        changed.extend(&message[8 + length..]);
    }
    changed.extend(END);
    changed
}

fn read_within(bytes: &[u8], bytes_max: u64) -> Result<Vec<RecordBatch>, Fault> {
    let mut reader = StreamReader::new(bytes_max);
    let batches = reader.push(bytes)?;
    reader.finish()?;
    Ok(batches)
}

fn is_too_large(bytes: &[u8], bytes_max: u64) -> bool {
    matches!(read_within(bytes, bytes_max), Err(Fault::TooLarge(_)))
}

#[test]
fn metadata_count_and_are_not_kept() {
    let column = || Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("a", column()), ("b", column())]).unwrap();
    let plain = encoded(&vec![batch; 12], Codec::None);
    let bytes = with_more_metadata(&plain, 1 << 20);
    assert!(read_within(&plain, 1 << 15).is_ok());
    assert!(is_too_large(&bytes, 1 << 20));
    let batches = read_within(&bytes, 1 << 24).unwrap();
    for column in batches.iter().flat_map(RecordBatch::columns) {
        let data = column.to_data();
        let kept = data.buffers().iter().map(Buffer::capacity).max().unwrap();
        assert!(kept < 1 << 10, "{kept} bytes");
    }
    // Refused before they arrive: the length alone is here.
    let mut reader = StreamReader::new(1 << 19);
    assert!(matches!(reader.push(&bytes[..8]), Err(Fault::TooLarge(_))));
}

#[test]
fn batches_of_no_bytes_have_a_price() {
    let wide = |columns: usize| {
        let column = |number| (format!("c{number}"), Arc::new(NullArray::new(1)) as ArrayRef);
        RecordBatch::try_from_iter((0..columns).map(column)).unwrap()
    };
    let narrow = encoded(&vec![wide(1); 300], Codec::None);
    assert!(is_too_large(&narrow, 300 * 512));
    assert!(read_within(&narrow, 300 * 1024 * 2).is_ok());
    let one = encoded(&[wide(300)], Codec::None);
    assert!(is_too_large(&one, 300 * 256));
    assert!(read_within(&one, 300 * 1024).is_ok());
    // Batches without rows are dropped, but their number is not unlimited.
    let none = encoded(&vec![wide(1).slice(0, 0); 300], Codec::None);
    assert!(is_too_large(&none, 300 * 512));
}

#[test]
fn values_of_no_bytes_count() {
    use arrow_array::{FixedSizeListArray, RunArray, types::Int32Type};

    let nulls: ArrayRef = Arc::new(NullArray::new(1_000_000));
    let runs: ArrayRef = Arc::new(
        RunArray::<Int32Type>::try_new(
            &vec![1_000_000].into(),
            &(Arc::new(Int64Array::from(vec![7])) as ArrayRef),
        )
        .unwrap(),
    );
    let item = Arc::new(Field::new("item", DataType::Null, true));
    let lists: ArrayRef =
        Arc::new(FixedSizeListArray::new(item, 1000, Arc::new(NullArray::new(1_000_000)), None));
    for column in [nulls, runs, lists] {
        let bytes = complete(vec![column.clone()], Codec::None);
        assert!(is_too_large(&bytes, 900_000), "{}", column.data_type());
        assert!(read_within(&bytes, 1_010_000).is_ok(), "{}", column.data_type());
    }
}
