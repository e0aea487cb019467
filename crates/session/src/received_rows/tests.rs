use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use colonnade_columnar::{DecodeOptions, Types};

use super::*;

const INT4: u32 = 23;

/// A row of one value.
fn row(value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![b'D'];
    bytes.extend((LENGTH_BYTES as u32 + 6 + value.len() as u32).to_be_bytes());
    bytes.extend(1_u16.to_be_bytes());
    bytes.extend((value.len() as u32).to_be_bytes());
    bytes.extend(value);
    bytes
}

fn push(kept: &mut ReceivedRows, values: impl IntoIterator<Item = Vec<u8>>) {
    let bytes: Vec<u8> = values.into_iter().flat_map(|value| row(&value)).collect();
    feed(&bytes, &mut |rows| {
        kept.push(&rows);
        Ok(())
    })
    .unwrap();
}

fn number(value: i32) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

/// The values of the rows taken.
fn take(kept: &mut ReceivedRows, limit: u64) -> Vec<i32> {
    let mut values = Vec::new();
    let taken = kept.take(limit, |mut rows| {
        while let Some(body) = rows.next_body() {
            values.push(i32::from_be_bytes(body[body.len() - 4..].try_into().unwrap()));
        }
        Ok(())
    });
    taken.unwrap();
    values
}

fn columns() -> Vec<ResultColumn> {
    vec![ResultColumn::new("n", Types::default().find(INT4).unwrap(), -1)]
}

fn sink() -> ColumnSink {
    ColumnSink::whole(&columns(), DecodeOptions::default()).unwrap()
}

fn batch_values(batch: &RecordBatch) -> Vec<i32> {
    batch.column(0).as_primitive::<Int32Type>().values().to_vec()
}

#[test]
fn rows_are_taken_in_parts() {
    let mut kept = ReceivedRows::default();
    push(&mut kept, (0..5).map(number));
    push(&mut kept, (5..7).map(number));
    assert_eq!((kept.row_count(), kept.left()), (7, 7));
    assert_eq!(take(&mut kept, 0), []);
    assert_eq!(take(&mut kept, 2), [0, 1]);
    assert_eq!((kept.taken(), kept.left()), (2, 5));
    assert_eq!(take(&mut kept, u64::MAX), [2, 3, 4, 5, 6]);
    assert_eq!((kept.left(), kept.chunks.len()), (0, 0));
    assert_eq!(take(&mut kept, u64::MAX), []);
}

#[test]
fn a_part_may_span_chunks() {
    let mut kept = ReceivedRows::default();
    let long = |last: i32| {
        let mut value = vec![0; CHUNK_BYTES * 2 / 3];
        value.extend(last.to_be_bytes());
        value
    };
    for last in 0..3 {
        push(&mut kept, [long(last)]);
    }
    assert_eq!(kept.chunks.len(), 3, "each is larger than what is left of a chunk");
    push(&mut kept, [number(3)]);
    assert_eq!(kept.chunks.len(), 3);
    assert_eq!(take(&mut kept, 2), [0, 1]);
    assert_eq!(kept.chunks.len(), 1);
    assert_eq!(take(&mut kept, 1), [2]);
    assert_eq!(take(&mut kept, 9), [3]);
}

#[test]
fn rows_stay_where_they_are_after_a_failure() {
    let mut kept = ReceivedRows::default();
    push(&mut kept, (0..4).map(number));
    let refused = kept.take(3, |_| Err(SinkError::Foreign("no".into())));
    assert!(matches!(refused, Err(Error::Foreign(_))));
    assert_eq!(kept.taken(), 0);
    assert_eq!(take(&mut kept, 4), [0, 1, 2, 3]);
}

#[test]
fn rows_that_were_counted_are_dropped_before_columns() {
    let mut kept = ReceivedRows::default();
    push(&mut kept, (0..5).map(number));
    assert_eq!(kept.count_taken(2), 0..2);
    assert_eq!(kept.count_taken(1), 2..3);
    kept.catch_up();
    assert_eq!(kept.taken(), 3);
    let batch = kept.take_columns(&mut sink()).unwrap();
    assert_eq!(batch_values(&batch), [3, 4]);
    assert_eq!((kept.left(), kept.is_lost()), (0, false));
    assert_eq!(kept.count_taken(9), 5..5);
}

#[test]
fn columns_of_no_rows_are_an_empty_batch() {
    let mut kept = ReceivedRows::default();
    assert_eq!(kept.take_columns(&mut sink()).unwrap().num_rows(), 0);
}

#[test]
fn rows_are_lost_if_a_value_does_not_fit_its_column() {
    let mut kept = ReceivedRows::default();
    push(&mut kept, [number(1), vec![1, 2], number(3)]);
    assert!(matches!(kept.take_columns(&mut sink()), Err(Error::Decode(_))));
    assert!(kept.is_lost());
    assert_eq!((kept.left(), kept.chunks.len()), (0, 0));
}

#[test]
fn the_first_other_format_is_named() {
    let columns = columns();
    let (text, binary) = ([Format::Text], [Format::Binary]);
    assert!(check_formats(&columns, &text, &text).is_ok());
    let refused = check_formats(&columns, &text, &binary);
    assert!(matches!(refused, Err(Error::BoundFormat { column }) if column == "n"));
}
