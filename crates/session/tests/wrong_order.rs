//! Answers in an order that no server sends: none is accepted, and the session is closed.

// Helpers stand outside of test functions; a panic in one fails the test all the same.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
// Each test program uses a part of the script.
#![allow(dead_code, reason = "shared with the other exchanges")]

mod script;

use colonnade_protocol::frontend::{BindExecute, EncodedParams};
use colonnade_session::{Conversions, Event, Session};
use script::{Outcome, TestSink, field, message, outcomes, ready, row, text};

fn opened() -> Session<TestSink> {
    let mut session = script::session();
    session.receive_bytes(&script::welcome());
    assert!(matches!(outcomes(&mut session).as_slice(), [Outcome::Complete { .. }]));
    session
}

/// One character per message, as the tags are; other characters stand for whole bodies. Command
/// tags count the rows before them.
fn reply(messages: &str) -> Vec<u8> {
    let mut rows = 0;
    let mut one = |tag| match tag {
        '1' | '2' | '3' | 's' | 'I' | 'n' | 'c' => message(tag as u8, &[]),
        'C' => text(b'C', &format!("SELECT {}", std::mem::take(&mut rows))),
        'D' => {
            rows += 1;
            row(&[Some(&7_i32.to_be_bytes())])
        }
        'd' => message(b'd', b"data"),
        'G' | 'H' => message(tag as u8, &[0, 0, 0]),
        'T' => script::row_description(&[field("n", 23)]),
        't' => message(b't', &[0, 0]),
        'Z' => ready(b'I'),
        other => panic!("no message {other}"),
    };
    messages.chars().flat_map(&mut one).collect()
}

fn prepared(session: &mut Session<TestSink>) -> std::sync::Arc<colonnade_session::Statement> {
    session.prepare("SELECT n FROM t", &[]).expect("prepare");
    session.receive_bytes(&reply("1tTZ"));
    let Some(Event::Complete(done)) = session.next_event() else { panic!("not prepared") };
    session.data_to_send();
    done.statement.expect("a statement")
}

/// Plays each answer to a new session; it ends well with `is_right`, and otherwise never.
fn assert_all(begin: impl Fn(&mut Session<TestSink>), answers: &[&str], is_right: bool) {
    for answer in answers {
        let mut session = opened();
        begin(&mut session);
        session.receive_bytes(&reply(answer));
        let outcomes = outcomes(&mut session);
        let last = outcomes.last();
        assert_eq!(matches!(last, Some(Outcome::Complete { .. })), is_right, "{answer}: {last:?}");
        assert_eq!(session.is_closed(), !is_right, "{answer}");
        if !is_right {
            let Some(Outcome::Failed(reason)) = last else { panic!("{answer}: {last:?}") };
            let is_told = ["where it is not allowed", "not laid out", "malformed row", " came"];
            assert!(is_told.iter().any(|text| reason.contains(text)), "{answer}: {reason}");
        }
    }
}

#[test]
fn what_stands_behind_the_end_is_not_heard() {
    let behind = [ready(b'I'), script::parameter("TimeZone", "Mars"), script::welcome()].concat();
    let mut session = script::session();
    session.receive_bytes(&behind);
    assert!(session.is_closed(), "ready ahead of authentication");
    assert_eq!(session.parameter("TimeZone"), None);
    assert!(session.cancel_key().is_none());
    assert_eq!(outcomes(&mut session).len(), 1);
}

#[test]
fn prepare() {
    let begin = |session: &mut Session<TestSink>| session.prepare("x", &[]).expect("prepare");
    assert_all(begin, &["1tTZ", "1tnZ"], true);
    let wrong = ["Z", "1Z", "tTZ", "1TZ", "1tZ", "11tTZ", "1ttTZ", "1tTTZ", "1tTnZ", "1tTDZ", "2"];
    assert_all(begin, &wrong, false);
}

#[test]
fn query() {
    let begin = |session: &mut Session<TestSink>| {
        let statement = prepared(session);
        let sink = TestSink::whole(&[("n", 23)]);
        session.query(statement, &EncodedParams::new(), 0, sink).expect("query");
    };
    assert_all(begin, &["2CZ", "2DDCZ", "2IZ", "2DD3CZ"], true);
    let wrong = [
        "Z", "2Z", "2DZ", "DCZ", "CZ", "22DCZ", "2DC2DCZ", "2DCDZ", "2DCCZ", "2DCsZ", "12DCZ",
        "2DsZ", "2TDCZ", "2DTDCZ", "2DtCZ", "2nCZ", "sZ", "IZ", "2d", "2c",
    ];
    assert_all(begin, &wrong, false);
}

#[test]
fn query_whose_text_travels_along() {
    let begin = |session: &mut Session<TestSink>| {
        session.describe("SELECT n FROM t", Conversions::Owners).expect("describe");
        session.receive_bytes(&reply("1tTZ"));
        let Some(Event::Complete(done)) = session.next_event() else { panic!("not described") };
        let (statement, sink) = (done.statement.expect("one"), TestSink::whole(&[("n", 23)]));
        session.query(statement, &EncodedParams::new(), 0, sink).expect("query");
    };
    assert_all(begin, &["1tT2DCZ"], true);
    assert_all(begin, &["1tTZ", "1tT2D1CZ", "1tT2TDCZ", "1tTDCZ", "1tT2DZ"], false);
}

#[test]
fn portal() {
    let bind = |session: &mut Session<TestSink>| {
        let statement = prepared(session);
        session.bind(statement, &EncodedParams::new(), None).map(drop).expect("bind");
    };
    assert_all(bind, &["2Z"], true);
    assert_all(bind, &["Z", "22Z", "2CZ", "2sZ", "2DZ"], false);
    let open = |session: &mut Session<TestSink>| {
        let (statement, sink) = (prepared(session), TestSink::whole(&[("n", 23)]));
        session.open(statement, &EncodedParams::new(), 2, sink).map(drop).expect("open");
    };
    assert_all(open, &["2DDsZ", "2DCZ", "2IZ"], true);
    assert_all(open, &["Z", "2DZ", "DsZ", "2DsDZ", "2DssZ", "2DsCZ", "22sZ"], false);
}

#[test]
fn series() {
    let begin = |session: &mut Session<TestSink>| {
        let (statement, sink) = (prepared(session), TestSink::whole(&[("n", 23)]));
        session.many(statement, sink).expect("many");
        let mut out = Vec::new();
        let mut messages = BindExecute::new("s", &[], 0).expect("a name");
        for _ in 0..2 {
            messages.push(&mut out, &EncodedParams::new()).expect("a set");
        }
        session.send_many(&out);
        session.end_many();
    };
    assert_all(begin, &["2DC2DCZ", "2I2CZ", "2C2DDCZ"], true);
    assert_all(
        begin,
        &["2Z", "2DCZ", "2C2C2CZ", "2DZ", "DCZ", "CZ", "2D2DCZ", "2DCDZ", "2DCCZ", "2tDCZ"],
        false,
    );
}

#[test]
fn script() {
    let begin = |session: &mut Session<TestSink>| session.script("x").expect("script");
    assert_all(begin, &["CZ", "TDDCZ", "CTDCZ", "IZ"], true);
    assert_all(begin, &["Z", "TZ", "TDZ", "CTDZ", "1CZ", "2CZ", "sCZ"], false);
}

#[test]
fn copy_in() {
    let begin = |session: &mut Session<TestSink>| session.copy_in("x").expect("copy");
    // The owner has not ended the copy.
    assert_all(begin, &["GCZ", "GGCZ", "GdCZ", "GZCZ", "GDCZ"], false);
    let mut session = opened();
    begin(&mut session);
    session.receive_bytes(&reply("G"));
    session.copy_done();
    session.receive_bytes(&reply("Z"));
    assert!(session.is_closed(), "ready without an end of the copy");
}

#[test]
fn copy_out() {
    let begin = |session: &mut Session<TestSink>| session.copy_out("x").expect("copy");
    assert_all(begin, &["HddcCZ", "HcCZ"], true);
    let wrong = ["HZ", "HdZ", "HdcZ", "HdCZ", "HdcdCZ", "HdccCZ", "HHdcCZ", "dcCZ", "GGZ", "HGZ"];
    assert_all(begin, &wrong, false);
}
