//! The owner's statements and portals, against a scripted server: whole and one byte at a time,
//! with the same outcome.

// Helpers stand outside of test functions; a panic in one fails the test all the same.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
// Each test program uses a part of the script.
#![allow(dead_code, reason = "shared with the other exchanges")]

mod script;

use std::sync::Arc;
use std::time::Duration;

use colonnade_protocol::frontend::EncodedParams;
use colonnade_session::{Completion, Event, Portal, Session, Statement};
use script::{Outcome, TestSink, error, field, message, play, ready, row, text};

fn opened() -> Session<TestSink> {
    let mut session = script::session();
    session.receive_bytes(&script::welcome());
    assert!(matches!(script::outcomes(&mut session).as_slice(), [Outcome::Complete { .. }]));
    session.data_to_send();
    session
}

fn completion(session: &mut Session<TestSink>) -> Completion<TestSink> {
    match session.next_event() {
        Some(Event::Complete(done)) => done,
        other => panic!("{other:?}"),
    }
}

/// Whether a portal may have more rows, and the tag.
fn ended(session: &mut Session<TestSink>) -> (bool, Option<String>) {
    let done = completion(session);
    (done.has_more, done.tag)
}

fn prepared(session: &mut Session<TestSink>, name: Option<&str>) -> Arc<Statement> {
    session.prepare_owned("SELECT n FROM t", name, &[]).expect("prepare");
    let described = script::row_description(&[field("n", 23)]);
    let answer = [message(b'1', &[]), message(b't', &[0, 0]), described, ready(b'T')].concat();
    session.receive_bytes(&answer);
    session.data_to_send();
    completion(session).statement.expect("a statement")
}

/// Binds a portal and asks for its first two rows.
fn bound(session: &mut Session<TestSink>) -> Arc<Portal> {
    let statement = prepared(session, None);
    let sink = TestSink::whole(&[("n", 23)]);
    session.open(statement, &EncodedParams::new(), 2, sink).expect("open")
}

fn more(session: &mut Session<TestSink>, portal: &Arc<Portal>) {
    let sink = TestSink::whole(&[("n", 23)]);
    session.more_rows(Arc::clone(portal), 2, sink).expect("more rows");
}

fn int_row(value: i32) -> Vec<u8> {
    row(&[Some(&value.to_be_bytes())])
}

/// The tags of the messages sent, with the names in Close messages.
fn sent(session: &mut Session<TestSink>) -> String {
    let data = session.data_to_send();
    let mut rest = data.as_slice();
    let mut tags = String::new();
    while let [tag, a, b, c, d, ..] = *rest {
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).expect("length");
        tags.push(char::from(tag));
        if tag == b'C' {
            // The kind of object closed, and the number at the end of its name.
            let named = String::from_utf8_lossy(&rest[5..length]);
            let number = named.rsplit('_').next().unwrap_or_default();
            tags.push_str(&format!("({}{number})", char::from(rest[5])));
        }
        rest = &rest[length + 1..];
    }
    tags
}

#[test]
fn a_statement_of_the_owners_is_closed_when_it_is_dropped() {
    let mut session = opened();
    let statement = prepared(&mut session, None);
    assert_eq!(session.cached_statements(), 0, "the cache does not have it");
    let copy = Arc::clone(&statement);
    drop(statement);
    session.script("SELECT 1").expect("script");
    assert_eq!(sent(&mut session), "Q", "somebody has it still");
    drop(copy);
    assert_eq!(sent(&mut session), "", "it is closed with the next exchange");
    session.receive_bytes(&[text(b'C', "SELECT 1"), ready(b'I')].concat());
    script::outcomes(&mut session);
    session.prepare_owned("SELECT 2", Some("mine"), &[]).expect("prepare");
    assert_eq!(sent(&mut session), "C(S1)PDS");
    let closed = [message(b'3', &[]), error("ERROR", "42601", "syntax error"), ready(b'I')];
    session.receive_bytes(&closed.concat());
    assert_eq!(script::outcomes(&mut session), [Outcome::Failed("syntax error".into())]);
    session.script("SELECT 1").expect("script");
    assert_eq!(sent(&mut session), "Q", "what was never prepared is not closed");
}

/// The answer to a description: one parameter of a type, and one column of `int4`.
fn description(parameter: u32, column: &str) -> Vec<u8> {
    let parameters = [&[0, 1], parameter.to_be_bytes().as_slice()].concat();
    let columns = script::row_description(&[field(column, 23)]);
    [message(b'1', &[]), message(b't', &parameters), columns, ready(b'I')].concat()
}

/// Describes a statement anew after a change, to which the server answers so.
fn again(session: &mut Session<TestSink>, statement: &Arc<Statement>, answer: &[u8]) {
    assert!(!session.is_outdated(statement, Duration::ZERO));
    session.script("ALTER TABLE t").expect("script");
    session.data_to_send();
    session.receive_bytes(&[text(b'C', "ALTER TABLE"), ready(b'I')].concat());
    script::outcomes(session);
    assert!(session.is_outdated(statement, Duration::ZERO));
    session.describe_again(statement).expect("describe again");
    assert_eq!(sent(session), "C(S1)PDS");
    session.receive_bytes(&[message(b'3', &[]).as_slice(), answer].concat());
}

#[test]
fn a_statement_described_anew_has_its_name() {
    let mut session = opened();
    session.prepare_owned("SELECT n FROM t", None, &[]).expect("prepare");
    session.receive_bytes(&description(23, "n"));
    let first = completion(&mut session).statement.expect("a statement");
    session.data_to_send();
    again(&mut session, &first, &description(23, "n"));
    let same = completion(&mut session).statement.expect("a statement");
    assert_eq!(same.server_name(), Some(first.name.as_str()));
    drop(first);
    again(&mut session, &same, &description(25, "n"));
    let other = completion(&mut session).statement.expect("a statement");
    assert_eq!(other.server_name(), Some(same.name.as_str()));
    assert_eq!(other.parameters.first().map(|parameter| parameter.oid), Some(25));
    drop(same);
    again(&mut session, &other, &description(25, "m"));
    let outcomes = script::outcomes(&mut session);
    assert!(matches!(outcomes.as_slice(), [Outcome::Failed(text)] if text.contains("columns")));
    assert!(session.is_outdated(&other, Duration::ZERO), "the next use tells it again");
    drop(other);
    session.script("SELECT 1").expect("script");
    assert_eq!(sent(&mut session), "C(S1)Q");
}

#[test]
fn a_statement_that_could_not_be_prepared_anew_is_prepared_the_next_time() {
    let mut session = opened();
    session.prepare_owned("SELECT n FROM t", None, &[]).expect("prepare");
    session.receive_bytes(&description(23, "n"));
    let first = completion(&mut session).statement.expect("a statement");
    session.data_to_send();
    again(&mut session, &first, &[error("ERROR", "42P01", "no table"), ready(b'I')].concat());
    assert_eq!(script::outcomes(&mut session), [Outcome::Failed("no table".into())]);
    assert!(session.is_outdated(&first, Duration::ZERO), "the server has forgotten it");
    session.describe_again(&first).expect("describe again");
    session.receive_bytes(&[message(b'3', &[]), description(23, "n")].concat());
    assert!(completion(&mut session).statement.is_some());
}

#[test]
fn a_closed_session_takes_what_is_dropped() {
    let mut session = opened();
    let statement = prepared(&mut session, Some("mine"));
    session.receive_eof();
    drop(statement);
    assert!(session.script("SELECT 1").is_err());
    let mut session = opened();
    let statement = prepared(&mut session, None);
    drop(session);
    drop(statement);
}

#[test]
fn the_unnamed_statement_is_not_closed() {
    let mut session = opened();
    drop(prepared(&mut session, Some("")));
    session.script("SELECT 1").expect("script");
    assert_eq!(sent(&mut session), "Q");
}

#[test]
fn a_portal_gives_rows_until_it_has_no_more() {
    let mut session = opened();
    let portal = bound(&mut session);
    assert_eq!(sent(&mut session), "BES");
    let first =
        [message(b'2', &[]), int_row(1), int_row(2), message(b's', &[]), ready(b'T')].concat();
    session.receive_bytes(&first);
    assert!(matches!(session.next_event(), Some(Event::Batch(_))));
    assert_eq!(ended(&mut session), (true, None));
    more(&mut session, &portal);
    assert_eq!(sent(&mut session), "ES");
    session.receive_bytes(&[int_row(3), text(b'C', "SELECT 1"), ready(b'T')].concat());
    assert!(matches!(session.next_event(), Some(Event::Batch(_))));
    assert_eq!(ended(&mut session), (false, Some("SELECT 1".into())));
    drop(portal);
    session.script("SELECT 1").expect("script");
    assert_eq!(sent(&mut session), "C(P2)C(S1)Q");
}

#[test]
fn a_portal_may_be_bound_before_rows_are_asked_for() {
    let mut session = opened();
    let statement = prepared(&mut session, None);
    let portal = session.bind(statement, &EncodedParams::new(), None).expect("bind");
    assert_eq!(sent(&mut session), "BS");
    session.receive_bytes(&[message(b'2', &[]), ready(b'T')].concat());
    assert!(completion(&mut session).has_more);
    more(&mut session, &portal);
    assert_eq!(sent(&mut session), "ES");
}

#[test]
fn portals_byte_by_byte() {
    let more_of = |reply: Vec<u8>| {
        let begin = || {
            let mut session = opened();
            let portal = bound(&mut session);
            let first = [message(b'2', &[]), int_row(1), int_row(2), message(b's', &[])];
            session.receive_bytes(&[first.concat(), ready(b'T')].concat());
            script::outcomes(&mut session);
            more(&mut session, &portal);
            session
        };
        play(begin, &reply)
    };
    assert_eq!(
        more_of([int_row(3), int_row(4), message(b's', &[]), ready(b'T')].concat()),
        [Outcome::Batch(vec![Some(3), Some(4)]), Outcome::Complete { tag: None }]
    );
    assert_eq!(
        more_of([text(b'C', "SELECT 0"), ready(b'T')].concat()),
        [Outcome::Batch(vec![]), Outcome::Complete { tag: Some("SELECT 0".into()) }]
    );
    let gone = [error("ERROR", "34000", "portal does not exist"), ready(b'E')].concat();
    assert_eq!(more_of(gone), [Outcome::Failed("portal does not exist".into())]);
    let late = [int_row(3), error("ERROR", "22012", "division by zero"), ready(b'E')].concat();
    assert_eq!(more_of(late), [Outcome::Failed("division by zero".into())]);
    for nonsense in [message(b't', &[0, 0]), message(b'1', &[]), message(b'c', &[])] {
        let outcomes = more_of(nonsense);
        assert!(matches!(outcomes.as_slice(), [Outcome::Failed(_)]), "{outcomes:?}");
    }
}

#[test]
fn rows_of_a_portal_that_asked_for_none_close_the_session() {
    let begin = || {
        let mut session = opened();
        let statement = prepared(&mut session, None);
        let _portal = session.bind(statement, &EncodedParams::new(), None).expect("bind");
        session
    };
    let outcomes = play(begin, &[message(b'2', &[]), int_row(1)].concat());
    assert!(matches!(outcomes.as_slice(), [Outcome::Failed(_)]), "{outcomes:?}");
}

#[test]
fn an_abandoned_portal_leaves_the_session_usable() {
    let mut session = opened();
    let portal = bound(&mut session);
    session.abandon();
    drop(portal);
    let rest = [message(b'2', &[]), int_row(1), error("ERROR", "57014", "cancelled"), ready(b'E')];
    session.receive_bytes(&rest.concat());
    assert!(session.is_idle() && session.next_event().is_none());
    session.data_to_send();
    session.script("ROLLBACK").expect("script");
    assert_eq!(sent(&mut session), "C(P2)C(S1)Q");
}

#[test]
fn a_statement_of_the_owners_does_not_cost_the_kept_one() {
    let mut session = opened();
    session.prepare("SELECT n FROM t", &[]).expect("prepare");
    let described = script::row_description(&[field("n", 23)]);
    let answer = [message(b'1', &[]), message(b't', &[0, 0]), described, ready(b'I')].concat();
    session.receive_bytes(&answer);
    completion(&mut session);
    let mine = prepared(&mut session, None);
    let sink = TestSink::whole(&[("n", 23)]);
    session.query(mine, &EncodedParams::new(), 0, sink).expect("query");
    session.receive_bytes(&[error("ERROR", "26000", "does not exist"), ready(b'I')].concat());
    assert_eq!(script::outcomes(&mut session), [Outcome::Failed("does not exist".into())]);
    assert_eq!(session.cached_statements(), 1);
}
