//! What the catalogs are asked, and COPY in columns, against a scripted server.

// Helpers stand outside of test functions, and their failing fails a test all the same.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
// Each test program uses a part of the script.
#![allow(dead_code, reason = "shared with the other exchanges")]

mod script;

use std::sync::Arc;
use std::time::Duration;

use colonnade_columnar::Catalog;
use colonnade_session::{Event, Session, Statement};
use script::{Outcome, TestSink, error, field, message, play, ready, row, text};

const MOOD: u32 = 99_001;

fn opened(catalog: Catalog) -> Session<TestSink> {
    let mut session = script::session_with(100, catalog);
    session.receive_bytes(&script::welcome());
    assert!(matches!(script::outcomes(&mut session).as_slice(), [Outcome::Complete { .. }]));
    session.data_to_send();
    session
}

fn described() -> Vec<u8> {
    let fields = [field("m", MOOD), field("n", 23)];
    [message(b'1', &[]), message(b't', &[0, 0]), script::row_description(&fields), ready(b'I')]
        .concat()
}

/// The catalogs' answer for an enum of one label.
fn looked_up() -> Vec<u8> {
    let labels = [1, 0, 25, 1, 1].map(i32::to_be_bytes).concat();
    let labels = [labels.as_slice(), &2_i32.to_be_bytes(), b"ok"].concat();
    let (oid, none, minus) = (MOOD.to_be_bytes(), [0; 4], (-1_i32).to_be_bytes());
    let row = row(&[
        Some(&oid),
        Some(b"public"),
        Some(b"mood"),
        Some(b"e"),
        Some(&none),
        Some(&none),
        Some(&minus),
        Some(&none),
        Some(b"enum_send"),
        Some(&[1]),
        None,
        None,
        None,
        Some(&labels),
    ]);
    [
        message(b'1', &[]),
        message(b'2', &[]),
        row,
        text(b'C', "SELECT 1"),
        message(b'3', &[]),
        ready(b'I'),
    ]
    .concat()
}

fn prepared(session: &mut Session<TestSink>) -> Arc<Statement> {
    match session.next_event() {
        Some(Event::Complete(done)) => done.statement.expect("a statement"),
        Some(Event::Failed(error)) => panic!("{error}"),
        _ => panic!("the statement was not prepared"),
    }
}

#[test]
fn unknown_types_cost_one_round_trip_for_all_who_share_them() {
    let catalog = Catalog::default();
    let mut first = opened(catalog.clone());
    first.prepare("SELECT m, n FROM t", &[]).expect("prepare");
    first.data_to_send();
    first.receive_bytes(&described());
    assert!(first.next_event().is_none(), "the catalogs are asked first");
    let asked = first.data_to_send();
    assert_eq!(asked.windows(5).filter(|tag| tag == b"S\0\0\0\x04").count(), 1);
    assert!(String::from_utf8_lossy(&asked).contains("colonnade_introspect"));
    first.receive_bytes(&looked_up());
    assert_eq!(prepared(&mut first).columns[0].pg_type.name, "mood");
    assert_eq!(catalog.len(), 1);

    let mut second = opened(catalog);
    second.prepare("SELECT m, n FROM t", &[]).expect("prepare");
    second.data_to_send();
    second.receive_bytes(&described());
    assert_eq!(prepared(&mut second).columns[0].pg_type.name, "mood");
    assert!(second.data_to_send().is_empty());
}

#[test]
fn a_type_that_the_catalogs_do_not_have_is_not_asked_for_again() {
    let mut session = opened(Catalog::default());
    let nothing = [
        message(b'1', &[]),
        message(b'2', &[]),
        text(b'C', "SELECT 0"),
        message(b'3', &[]),
        ready(b'I'),
    ]
    .concat();
    session.prepare("SELECT 1", &[]).expect("prepare");
    session.receive_bytes(&described());
    session.receive_bytes(&nothing);
    assert_eq!(prepared(&mut session).columns[0].pg_type.name, format!("oid {MOOD}"));
    session.data_to_send();
    session.prepare("SELECT 2", &[]).expect("prepare");
    session.data_to_send();
    session.receive_bytes(&described());
    prepared(&mut session);
    assert!(session.data_to_send().is_empty());
}

#[test]
fn an_answer_that_describes_no_type_ends_the_session() {
    let begin = || {
        let mut session = opened(Catalog::default());
        session.prepare("SELECT 1", &[]).expect("prepare");
        session
    };
    let short = row(&[Some(&[0; 3][..]); 14]);
    let answer = [described(), message(b'1', &[]), message(b'2', &[]), short].concat();
    let outcomes = play(begin, &answer);
    assert!(matches!(&outcomes[..], [Outcome::Failed(text)] if text.contains("catalogs")));
}

#[test]
fn a_look_up_that_fails_fails_the_preparation() {
    let begin = || {
        let mut session = opened(Catalog::default());
        session.prepare("SELECT 1", &[]).expect("prepare");
        session
    };
    let answer = [described(), error("ERROR", "57014", "statement timeout"), ready(b'I')].concat();
    assert_eq!(play(begin, &answer), [Outcome::Failed("statement timeout".to_owned())]);
}

#[test]
fn an_abandoned_look_up_is_learned_whole() {
    let catalog = Catalog::default();
    let mut session = opened(catalog.clone());
    session.prepare("SELECT m, n FROM t", &[]).expect("prepare");
    session.receive_bytes(&described());
    session.abandon();
    session.receive_bytes(&looked_up());
    assert!(session.is_idle() && !session.is_closed());
    let statement =
        session.cached_statement("SELECT m, n FROM t", &[], Duration::ZERO).expect("kept");
    assert_eq!(statement.columns[0].pg_type.name, "mood");
}

#[test]
fn an_interrupted_look_up_leaves_nothing_behind() {
    let mut session = opened(Catalog::default());
    session.prepare("SELECT m, n FROM t", &[]).expect("prepare");
    let prepared = session.data_to_send();
    let name = prepared[5..].split(|byte| *byte == 0).next().expect("a name");
    let name = str::from_utf8(name).expect("a text");
    session.receive_bytes(&described());
    let asked = session.data_to_send();
    let closes = |sent: &[u8], name: &str| {
        let close = message(b'C', &[b"S", name.as_bytes(), b"\0"].concat());
        sent.windows(close.len()).position(|part| part == close)
    };
    let parsed = asked.windows(21).position(|part| part == b"colonnade_introspect\0");
    // An earlier one may have been interrupted between its Parse and its Close.
    assert!(closes(&asked, "colonnade_introspect") < parsed);
    let interrupted =
        [message(b'1', &[]), error("ERROR", "57014", "canceling statement"), ready(b'I')].concat();
    session.receive_bytes(&interrupted);
    assert_eq!(script::outcomes(&mut session).len(), 1);
    // The statement that was to be kept was prepared already, and nobody knows it.
    assert!(closes(&session.data_to_send(), name).is_some());
}

fn copy_data(body: &[u8]) -> Vec<u8> {
    message(b'd', body)
}

fn copying() -> Session<TestSink> {
    let mut session = opened(Catalog::default());
    session.prepare("SELECT n FROM t", &[]).expect("prepare");
    let fields = script::row_description(&[field("n", 23)]);
    let answer = [message(b'1', &[]), message(b't', &[0, 0]), fields, ready(b'I')].concat();
    session.receive_bytes(&answer);
    let statement = prepared(&mut session);
    let sink = TestSink::whole(&[("n", 23)]);
    session.copy_columns("COPY t TO STDOUT (FORMAT BINARY)", statement, sink).expect("copy");
    session
}

fn begun() -> Vec<u8> {
    message(b'H', &[1, 0, 1, 0, 1])
}

fn copied(messages: &[Vec<u8>]) -> Vec<Outcome> {
    play(copying, &[&[begun()], messages].concat().concat())
}

const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const SEVEN: &[u8] = b"\0\x01\0\0\0\x04\0\0\0\x07";
const NULL: &[u8] = b"\0\x01\xff\xff\xff\xff";
const TRAILER: &[u8] = b"\xff\xff";

fn ended(rows: usize) -> Vec<u8> {
    [message(b'c', &[]), text(b'C', &format!("COPY {rows}")), ready(b'I')].concat()
}

#[test]
fn a_copy_gives_columns_however_its_header_comes() {
    let expected = [
        Outcome::Batch(vec![Some(7), None, Some(7)]),
        Outcome::Complete { tag: Some("COPY 3".to_owned()) },
    ];
    let rest = [copy_data(NULL), copy_data(SEVEN), copy_data(TRAILER), ended(3)].concat();
    let first = copy_data(&[HEADER, SEVEN].concat());
    assert_eq!(copied(&[first, rest.clone()]), expected);
    assert_eq!(copied(&[copy_data(HEADER), copy_data(SEVEN), rest.clone()]), expected);
    // An extension of the header is passed over.
    let extended = [&HEADER[..15], b"\0\0\0\x03abc", SEVEN].concat();
    assert_eq!(copied(&[copy_data(&extended), rest]), expected);
    let nothing = [copy_data(&[HEADER, TRAILER].concat()), ended(0)].concat();
    assert_eq!(copied(&[nothing])[0], Outcome::Batch(Vec::new()));
}

#[test]
fn data_of_another_layout_is_refused() {
    let seven = copy_data(&[HEADER, SEVEN].concat());
    for wrong in [
        vec![copy_data(SEVEN)],
        vec![copy_data(&HEADER[..18])],
        vec![copy_data(&[&HEADER[..15], b"\xff\xff\xff\xff"].concat())],
        vec![copy_data(&[HEADER, &SEVEN[..9]].concat())],
        vec![copy_data(&[HEADER, b"\0\x02\0\0\0\0\0\0\0\0"].concat())],
        vec![seven.clone(), ended(2)],
        vec![seven, copy_data(TRAILER), copy_data(SEVEN)],
    ] {
        let outcomes = copied(&wrong);
        assert!(matches!(outcomes.last(), Some(Outcome::Failed(_))), "{wrong:?}: {outcomes:?}");
    }
}

#[test]
fn a_copy_abandoned_too_late_to_be_cancelled_ends_in_silence() {
    let first = copy_data(&[HEADER, SEVEN].concat());
    let parts = [begun(), first, copy_data(NULL), copy_data(TRAILER), ended(2)];
    for arrived in 0..parts.len() {
        let mut session = copying();
        let (before, after) = parts.split_at(arrived);
        session.receive_bytes(&before.concat());
        session.abandon();
        session.receive_bytes(&after.concat());
        assert!(session.is_idle() && !session.is_closed(), "after {arrived} messages");
        assert!(script::outcomes(&mut session).is_empty());
    }
}
