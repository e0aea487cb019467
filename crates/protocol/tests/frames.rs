//! Frames and runs of rows: their ends, the refused ones, and the results of scans.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the helpers of a test fail like the test itself"
)]

mod support;

use colonnade_protocol::error::RowFault;
use colonnade_protocol::{
    DataRows, Error, Frame, RemoteError, Span, Spans, claimed_len, next_frame,
};
use proptest::prelude::*;
use support::{data_row, frame};

type Row = Vec<Option<Vec<u8>>>;

/// The tags of every message a server may send, as the protocol's documentation lists them.
const TAGS: &[u8] = b"RKSvZ123nsItTCENAGHWdcVD";

/// The tags of messages that carry data or text and may be long.
const LONG_TAGS: &[u8] = b"DdTENAStV";

const LONG_MAX: u32 = 0x4001_0000;
const SHORT_MAX: u32 = 0x1_0000;

fn header(tag: u8, length: u32) -> Vec<u8> {
    [&[tag][..], &length.to_be_bytes()].concat()
}

fn rows(bytes: &[u8]) -> DataRows<'_> {
    match next_frame(bytes) {
        Ok(Some((Frame::DataRows(rows), consumed))) => {
            assert_eq!(rows.bytes(), &bytes[..consumed]);
            rows
        }
        other => panic!("{other:?}"),
    }
}

fn run_of(rows: &[Row]) -> Vec<u8> {
    rows.iter()
        .flat_map(|row| data_row(&row.iter().map(Option::as_deref).collect::<Vec<_>>()))
        .collect()
}

/// All rows, scanned in blocks of `block`.
fn scanned(
    bytes: &[u8],
    columns: usize,
    block: usize,
    spans: &mut Spans,
) -> Result<Vec<Row>, Error> {
    let mut cursor = rows(bytes);
    let mut all = Vec::new();
    loop {
        let left = cursor.row_count();
        let count = cursor.scan(columns, block, spans)?;
        assert_eq!(spans.rows(), count);
        assert_eq!(cursor.row_count(), left - count);
        if count == 0 {
            assert!(cursor.is_empty() || block == 0);
            return Ok(all);
        }
        assert_eq!(spans.columns(), columns);
        for row in 0..count {
            let value = |column| {
                let span: Span = spans.column(column)[row];
                let value = span.slice(cursor.bytes());
                assert_eq!(value.is_none(), span.is_null());
                assert_eq!(value.unwrap_or_default(), &cursor.bytes()[span.range()]);
                value.map(<[u8]>::to_vec)
            };
            all.push((0..columns).map(value).collect());
        }
        assert!(spans.column(columns).is_empty());
    }
}

#[test]
fn every_tag_and_no_other_is_known() {
    for tag in 0..=u8::MAX {
        let known = TAGS.contains(&tag);
        // Garbage is refused by its first byte; valid tags wait for more.
        let unknown = Err(RemoteError::UnknownTag { tag }.into());
        assert_eq!(claimed_len(&[tag]), if known { Ok(None) } else { unknown });
        assert_eq!(next_frame(&[tag]).is_ok(), known);
        assert_eq!(next_frame(&header(tag, 4)).is_ok(), known);
    }
}

#[test]
fn claims_are_bounded_by_what_the_message_may_need() {
    for &tag in TAGS {
        let limit = if LONG_TAGS.contains(&tag) { LONG_MAX } else { SHORT_MAX };
        for length in 0..4 {
            let error = RemoteError::LengthTooSmall { tag, length };
            assert_eq!(claimed_len(&header(tag, length)), Err(error.clone().into()));
            assert_eq!(next_frame(&header(tag, length)).unwrap_err(), error.into());
        }
        assert_eq!(claimed_len(&header(tag, 4)), Ok(Some(5)));
        assert_eq!(claimed_len(&header(tag, limit)), Ok(Some(limit as usize + 1)));
        assert!(next_frame(&header(tag, limit)).unwrap().is_none());
        for length in [limit + 1, u32::MAX] {
            let limit = limit as usize;
            let error = RemoteError::LengthTooLarge { tag, length, limit };
            assert_eq!(claimed_len(&header(tag, length)), Err(error.clone().into()));
            assert_eq!(next_frame(&header(tag, length)).unwrap_err(), error.into());
        }
    }
}

#[test]
fn a_run_ends_before_whatever_is_no_whole_row() {
    let two = [data_row(&[Some(b"a")]), data_row(&[None])].concat();
    let third = data_row(&[Some(b"longer")]);
    let behind = [
        Vec::new(),
        third[..1].to_vec(),
        third[..5].to_vec(),
        third[..third.len() - 1].to_vec(),
        frame(b'C', b"SELECT 2\0"),
        b"!".to_vec(),
        header(b'D', 3),
        header(b'D', u32::MAX),
    ];
    for tail in behind {
        let bytes = [two.clone(), tail.clone()].concat();
        let run = rows(&bytes);
        assert_eq!((run.row_count(), run.bytes().len()), (2, two.len()), "{tail:?}");
    }
    // The next call reports a fault after the run.
    assert!(next_frame(b"!").is_err());
    assert!(next_frame(&third[..third.len() - 1]).unwrap().is_none());
}

#[test]
fn values_are_found_in_blocks_of_any_size() {
    let sample: Vec<Row> = (0..37_u8)
        .map(|n| vec![Some(vec![n; usize::from(n % 5)]), None, Some(vec![n]), Some(Vec::new())])
        .collect();
    let bytes = run_of(&sample);
    let mut spans = Spans::new();
    for block in [1, 2, 3, 7, 8, 9, 36, 37, 38, 1000, usize::MAX] {
        assert_eq!(scanned(&bytes, 4, block, &mut spans).unwrap(), sample, "blocks of {block}");
    }
    assert_eq!(scanned(&bytes, 4, 0, &mut spans).unwrap(), Vec::<Row>::new());
}

#[test]
fn rows_without_columns_are_counted() {
    let bytes = data_row(&[]).repeat(5);
    let mut spans = Spans::new();
    let mut cursor = rows(&bytes);
    assert_eq!(cursor.scan(0, 3, &mut spans), Ok(3));
    assert_eq!((spans.rows(), spans.columns()), (3, 0));
    assert_eq!(cursor.scan(0, 3, &mut spans), Ok(2));
    assert_eq!(cursor.scan(0, 3, &mut spans), Ok(0));
}

/// Each faulty row follows 0 to 4 good ones, so that it occurs in either half of a pair.
#[test]
fn a_faulty_row_is_named() {
    let length =
        |length: i32| [&[0, 2, 0, 0, 0, 1, b'a'][..], &length.to_be_bytes(), b"bc"].concat();
    let cases: [(Vec<u8>, RowFault); 11] = [
        (vec![], RowFault::NoColumnCount),
        (vec![0], RowFault::NoColumnCount),
        (vec![0, 0], RowFault::ColumnCount { expected: 2, found: 0 }),
        (vec![0, 3], RowFault::ColumnCount { expected: 2, found: 3 }),
        (vec![0xff, 0xff], RowFault::ColumnCount { expected: 2, found: 0xffff }),
        (vec![0, 2, 0, 0, 0], RowFault::NoLength { column: 0 }),
        (vec![0, 2, 0, 0, 0, 0], RowFault::NoLength { column: 1 }),
        (length(3), RowFault::Length { column: 1, length: 3, left: 2 }),
        (length(-2), RowFault::Length { column: 1, length: -2, left: 2 }),
        (length(i32::MAX), RowFault::Length { column: 1, length: i32::MAX, left: 2 }),
        (length(1), RowFault::Trailing { count: 1 }),
    ];
    let good = data_row(&[Some(b"one"), None]);
    for (body, fault) in cases {
        for before in 0..5 {
            for after in 0..3 {
                let run = [good.repeat(before), frame(b'D', &body), good.repeat(after)].concat();
                for block in [1, 2, 100] {
                    let error = scanned(&run, 2, block, &mut Spans::new()).unwrap_err();
                    let fault = fault.clone();
                    assert_eq!(error, RemoteError::Row { row: before, fault }.into());
                }
            }
        }
    }
}

#[test]
fn a_scan_stops_before_a_fault_and_then_names_it() {
    let bytes = [data_row(&[Some(b"a")]), data_row(&[]), data_row(&[Some(b"b")])].concat();
    let mut cursor = rows(&bytes);
    let mut spans = Spans::new();
    assert_eq!(cursor.scan(1, 10, &mut spans), Ok(1));
    for _ in 0..2 {
        let fault = RowFault::ColumnCount { expected: 1, found: 0 };
        let error = RemoteError::Row { row: 1, fault };
        assert_eq!(cursor.scan(1, 10, &mut spans), Err(error.into()));
        assert_eq!((spans.rows(), cursor.row_count()), (0, 2));
        assert!(spans.column(0).is_empty());
    }
}

/// A value may not extend into the next row, even if the bytes are there.
#[test]
fn lengths_do_not_reach_into_the_next_row() {
    let mut bytes = data_row(&[Some(b"abcd")]).repeat(4);
    bytes[10] = 5;
    let fault = RowFault::Length { column: 0, length: 5, left: 4 };
    let error = scanned(&bytes, 1, 10, &mut Spans::new()).unwrap_err();
    assert_eq!(error, RemoteError::Row { row: 0, fault }.into());
}

/// A hostile description with the most columns must not make the scratch memory exceed the input.
#[test]
fn scratch_is_bounded_by_the_run() {
    let bytes = data_row(&[]).repeat(100_000);
    let mut cursor = rows(&bytes);
    let fault = RowFault::ColumnCount { expected: 32_767, found: 0 };
    let result = cursor.scan(32_767, usize::MAX, &mut Spans::new());
    assert_eq!(result, Err(RemoteError::Row { row: 0, fault }.into()));

    let fault = RowFault::ColumnCount { expected: usize::MAX, found: 0 };
    let result = cursor.scan(usize::MAX, usize::MAX, &mut Spans::new());
    assert_eq!(result, Err(RemoteError::Row { row: 0, fault }.into()));
}

fn any_value() -> impl Strategy<Value = Option<Vec<u8>>> {
    proptest::option::weighted(0.7, proptest::collection::vec(any::<u8>(), 0..12))
}

fn any_rows() -> impl Strategy<Value = (usize, Vec<Row>)> {
    (0..20_usize).prop_flat_map(|columns| {
        let row = proptest::collection::vec(any_value(), columns);
        (Just(columns), proptest::collection::vec(row, 1..40))
    })
}

/// Reads a row in the simple way, the reference for the scan.
fn read_row(mut body: &[u8], columns: usize) -> Option<Row> {
    let (count, rest) = body.split_first_chunk::<2>()?;
    body = rest;
    let mut row = Row::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, rest) = body.split_first_chunk::<4>()?;
        let length = i32::from_be_bytes(*length);
        let (value, rest) = rest.split_at_checked(usize::try_from(length.max(0)).ok()?)?;
        row.push(if length == -1 { None } else { Some(value.to_vec()) });
        if length < -1 {
            return None;
        }
        body = rest;
    }
    (body.is_empty() && row.len() == columns).then_some(row)
}

proptest! {
    #[test]
    fn what_was_written_is_scanned((columns, sample) in any_rows(), block in 1..50_usize) {
        let mut spans = Spans::new();
        prop_assert_eq!(scanned(&run_of(&sample), columns, block, &mut spans).unwrap(), sample);
    }

    /// With one damaged byte, the scan gives the same result as reading row by row.
    #[test]
    fn damage_is_judged_as_by_the_slow_reader(
        (columns, sample) in any_rows(),
        block in 1..50_usize,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = run_of(&sample);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let Ok(Some((Frame::DataRows(mut cursor), consumed))) = next_frame(&bytes) else {
            return Ok(());
        };
        let mut rest = &bytes[..consumed];
        let mut expected = Vec::new();
        while let Some(length) = rest.get(1..5) {
            let end = 1 + u32::from_be_bytes(length.try_into().unwrap()) as usize;
            expected.push(read_row(&rest[5..end], columns));
            rest = &rest[end..];
        }
        prop_assert_eq!(cursor.row_count(), expected.len());
        let faulty = expected.iter().position(Option::is_none);
        let result = scanned(&bytes, columns, block, &mut Spans::new());
        match (result, faulty) {
            (Ok(rows), None) => {
                prop_assert_eq!(rows, expected.into_iter().flatten().collect::<Vec<_>>());
            }
            (Err(Error::Remote(RemoteError::Row { row, .. })), Some(faulty)) => {
                prop_assert_eq!(row, faulty);
            }
            (result, faulty) => prop_assert!(false, "{:?} against {:?}", result, faulty),
        }
        let _ = cursor.scan(columns.wrapping_add(1), block, &mut Spans::new());
    }
}
