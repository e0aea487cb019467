use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{Int16Array, StringArray};
use arrow_schema::{DataType, Field, Schema};

use super::*;
use crate::Types;

const INT2: u32 = 21;
const HEADER_BYTES: usize = 19;
/// Count, length and value.
const ROW_BYTES: usize = 2 + 4 + 2;
const TRAILER_BYTES: usize = 2;

struct Source(VecDeque<Result<RecordBatch, &'static str>>);

impl BatchSource for Source {
    type Error = &'static str;

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Self::Error> {
        self.0.pop_front().transpose()
    }
}

fn batch(values: &[i16]) -> RecordBatch {
    let schema = Schema::new(vec![Field::new("n", DataType::Int16, true)]);
    let column = Arc::new(Int16Array::from(values.to_vec()));
    RecordBatch::try_new(Arc::new(schema), vec![column]).unwrap()
}

fn targets() -> Vec<TargetColumn> {
    let pg_type = Types::default().find(INT2).unwrap();
    vec![TargetColumn { source: 0, name: "n".to_owned(), pg_type, type_modifier: -1 }]
}

fn source(batches: &[&[i16]]) -> Source {
    Source(batches.iter().map(|values| Ok(batch(values))).collect())
}

fn chunks(source: Source, more: bool) -> CopyChunks<Source> {
    let mut chunks = CopyChunks::new(EncodeOptions::default(), more);
    assert!(chunks.is_exhausted());
    chunks.check(&batch(&[]).schema(), &targets()).unwrap();
    chunks.take(source, targets());
    chunks
}

/// The next chunk; None after the last one.
fn next(chunks: &mut CopyChunks<Source>, limit_bytes: usize) -> Option<Vec<u8>> {
    let mut chunk = Vec::new();
    chunks.append(&mut chunk, limit_bytes).unwrap().then_some(chunk)
}

#[test]
fn one_chunk_has_header_rows_and_trailer() {
    let mut chunks = chunks(source(&[&[1, 2], &[], &[3]]), false);
    let chunk = next(&mut chunks, 1 << 20).unwrap();
    assert_eq!(chunk.len(), HEADER_BYTES + 3 * ROW_BYTES + TRAILER_BYTES);
    assert!(chunk.starts_with(b"PGCOPY\n"));
    assert!(chunk.ends_with(&[0, 3, 255, 255]));
    assert_eq!(chunks.rows_done(), 3);
    assert_eq!(next(&mut chunks, 1 << 20), None);
}

#[test]
fn small_chunks_are_the_same_bytes() {
    let batches: [&[i16]; 3] = [&[1, 2, 3, 4], &[5], &[6, 7]];
    let whole = next(&mut chunks(source(&batches), false), 1 << 20).unwrap();
    for limit_bytes in [1, 8, 20, 33] {
        let mut chunks = chunks(source(&batches), false);
        let mut all = Vec::new();
        while let Some(chunk) = next(&mut chunks, limit_bytes) {
            assert!(!chunk.is_empty());
            all.extend(chunk);
        }
        assert_eq!(all, whole, "{limit_bytes} bytes");
    }
}

#[test]
fn a_source_may_follow_another() {
    let mut chunks = chunks(source(&[&[1]]), true);
    let first = next(&mut chunks, 1 << 20).unwrap();
    assert_eq!(first.len(), HEADER_BYTES + ROW_BYTES);
    assert!(chunks.is_exhausted());
    assert_eq!(next(&mut chunks, 1 << 20), None);
    chunks.take(source(&[&[2]]), targets());
    chunks.finish();
    let last = next(&mut chunks, 1 << 20).unwrap();
    assert_eq!(last.len(), ROW_BYTES + TRAILER_BYTES);
    assert_eq!(chunks.rows_done(), 2);
}

#[test]
fn no_chunk_follows_a_failure() {
    let batches = [Ok(batch(&[1])), Err("out of paper"), Ok(batch(&[2]))];
    let mut chunks = chunks(Source(VecDeque::from(batches)), false);
    let mut chunk = Vec::new();
    let failed = chunks.append(&mut chunk, 1 << 20);
    assert!(matches!(failed, Err(ChunkError::Source("out of paper"))));
    let failed = chunks.append(&mut chunk, 1 << 20).unwrap_err();
    assert_eq!(failed.to_string(), "the previous chunk failed; abort the COPY");
}

#[test]
fn columns_without_a_cast_are_refused_before_the_first_byte() {
    let chunks = CopyChunks::<Source>::new(EncodeOptions::default(), false);
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Boolean, true)]));
    assert_eq!(chunks.check(&schema, &targets()).unwrap_err().column, "n");
    let nothing = Arc::new(Schema::empty());
    assert!(chunks.check(&nothing, &targets()).is_err());
}

#[test]
fn a_batch_of_other_types_is_refused() {
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Utf8, true)]));
    let column = Arc::new(StringArray::from(vec!["a"]));
    let other = RecordBatch::try_new(schema, vec![column]).unwrap();
    let mut chunks = chunks(Source(VecDeque::from([Ok(other)])), false);
    assert!(matches!(chunks.append(&mut Vec::new(), 100), Err(ChunkError::Cast(_))));
}
