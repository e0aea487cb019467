//! The work of the fuzz target, and its initial inputs.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int64Array, ListArray, NullArray, RecordBatch, RunArray,
    StringArray, StringViewArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::Field;

use crate::Encoder;
use crate::arrow_stream::{ArrowStreamEncoder, Codec, StreamReader};

/// The most bytes of a table: compressed ones claim far more than the input has.
const BYTES_MAX: u64 = 1 << 20;

/// Small complete streams: of each codec, and of columns whose batches do not simply follow one
/// another.
pub fn seeds() -> Vec<Vec<u8>> {
    let columns: [ArrayRef; 6] = [
        Arc::new(Int64Array::from(vec![Some(1), None])),
        Arc::new(StringArray::from(vec!["a", "b"])),
        Arc::new(StringViewArray::from(vec!["a text that is not inlined", "b"])),
        Arc::new(["x", "y"].into_iter().collect::<DictionaryArray<Int32Type>>()),
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), None])),
        Arc::new(NullArray::new(2)),
    ];
    let codecs = [Codec::None, Codec::Lz4, Codec::Zstd];
    // The fuzzer cuts longer ones.
    let some = columns.chunks(2).flat_map(|some| codecs.map(|codec| (codec, some.to_vec())));
    let each_codec = some.filter_map(|(codec, columns)| stream(codec, &[columns]));
    let in_batches = batches().into_iter().filter_map(|columns| stream(Codec::None, &columns));
    each_codec.chain(in_batches).collect()
}

/// The columns of two batches each: dictionaries with other values and few keys, also within lists,
/// and runs.
fn batches() -> Vec<Vec<Vec<ArrayRef>>> {
    let of = |text: &str| -> Option<[ArrayRef; 3]> {
        let keyed = [text, "b"].into_iter().collect::<DictionaryArray<Int8Type>>();
        let keyed: ArrayRef = Arc::new(keyed);
        let item = Arc::new(Field::new("item", keyed.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths([1, 1]);
        let list = ListArray::try_new(item, offsets, Arc::clone(&keyed), None).ok()?;
        let values = StringArray::from(vec![text]);
        let runs = RunArray::<Int32Type>::try_new(&vec![2].into(), &values).ok()?;
        Some([keyed, Arc::new(list), Arc::new(runs)])
    };
    let Some((first, second)) = of("a").zip(of("c")) else { return Vec::new() };
    first.into_iter().zip(second).map(|(first, second)| vec![vec![first], vec![second]]).collect()
}

fn stream(codec: Codec, batches: &[Vec<ArrayRef>]) -> Option<Vec<u8>> {
    let mut encoder = ArrowStreamEncoder::new(codec);
    let mut buffers = Vec::new();
    for columns in batches {
        let named =
            columns.iter().zip('a'..).map(|(array, name)| (name.to_string(), array.clone()));
        buffers.extend(encoder.encode(&RecordBatch::try_from_iter(named).ok()?).ok()?);
    }
    buffers.extend(encoder.finish().ok()?.flatten());
    Some(buffers.iter().flat_map(|buffer| buffer.as_slice().to_vec()).collect())
}

/// Reads a stream at once and in pieces: both must give the same, and neither may panic. Returns
/// the batches of a complete one.
pub fn arrow_stream(data: &[u8]) -> Option<Vec<RecordBatch>> {
    let whole = read(data, data.len().max(1));
    let pieces = read(data, 13);
    assert_eq!(whole.is_some(), pieces.is_some());
    assert_eq!(whole, pieces);
    whole
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_a_complete_table() {
        let seeds = seeds();
        assert_eq!(seeds.len(), 12);
        for seed in &seeds {
            assert!(seed.len() <= 2000, "{} bytes", seed.len());
            assert!(arrow_stream(seed).is_some());
        }
    }

    #[test]
    fn no_damaged_seed_panics() {
        for seed in seeds() {
            for place in (0..seed.len()).step_by(7) {
                let mut damaged = seed.clone();
                if let Some(byte) = damaged.get_mut(place) {
                    *byte ^= 0x81;
                }
                arrow_stream(&damaged);
            }
        }
    }
}
