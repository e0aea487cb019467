//! The work of the fuzz target, and its initial inputs.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int64Array, ListArray, NullArray, RecordBatch, StringArray,
    StringViewArray,
};

use crate::Encoder;
use crate::arrow_stream::{ArrowStreamEncoder, Codec, StreamReader};

/// The most bytes of a table: compressed ones claim far more than the input has.
const BYTES_MAX: u64 = 1 << 20;

/// Small complete streams of each codec.
pub fn seeds() -> Vec<Vec<u8>> {
    [Codec::None, Codec::Lz4, Codec::Zstd].into_iter().filter_map(stream).collect()
}

fn stream(codec: Codec) -> Option<Vec<u8>> {
    let columns: [ArrayRef; 6] = [
        Arc::new(Int64Array::from(vec![Some(1), None])),
        Arc::new(StringArray::from(vec!["a", "b"])),
        Arc::new(StringViewArray::from(vec!["a text that is not inlined", "b"])),
        Arc::new(["x", "y"].into_iter().collect::<DictionaryArray<Int32Type>>()),
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), None])),
        Arc::new(NullArray::new(2)),
    ];
    let names = ["a", "b", "c", "d", "e", "f"];
    let batch = RecordBatch::try_from_iter(names.into_iter().zip(columns)).ok()?;
    let mut encoder = ArrowStreamEncoder::new(codec);
    let mut buffers = encoder.encode(&batch).ok()?;
    buffers.extend(encoder.finish().ok()?.flatten());
    Some(buffers.iter().flat_map(|buffer| buffer.as_slice().to_vec()).collect())
}

/// Reads a stream at once and in pieces: both must give the same, and neither may panic.
pub fn arrow_stream(data: &[u8]) {
    let whole = read(data, data.len().max(1));
    let pieces = read(data, 13);
    assert_eq!(whole.is_some(), pieces.is_some());
    assert_eq!(whole, pieces);
}

fn read(data: &[u8], step: usize) -> Option<Vec<RecordBatch>> {
    let mut reader = StreamReader::new(BYTES_MAX);
    let mut batches = Vec::new();
    for piece in data.chunks(step) {
        batches.extend(reader.push(piece).ok()?);
    }
    let counts = reader.finish().ok()?;
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(counts.rows, rows as u64);
    assert_eq!(counts.batches, batches.len() as u64);
    Some(batches)
}
