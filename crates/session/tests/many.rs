//! Many executions of one statement, against a scripted server.

// Helpers stand outside of test functions; a panic in one fails the test all the same.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
// Each test program uses a part of the script.
#![allow(dead_code, reason = "shared with the other exchanges")]

mod script;

use colonnade_protocol::frontend::{BindExecute, EncodedParams};
use colonnade_session::{Event, Session};
use script::{Outcome, TestSink, error, field, message, play, ready, row, text};

/// Begins `SELECT n FROM t` as a series, and sends the first of its sets.
fn begun() -> Session<TestSink> {
    begun_behind(|_| {})
}

/// As `begun`, after a command that the server has not answered yet.
fn begun_behind(send_ahead: impl FnOnce(&mut Session<TestSink>)) -> Session<TestSink> {
    let mut session = script::session();
    session.receive_bytes(&script::welcome());
    script::outcomes(&mut session);
    session.prepare("SELECT n FROM t", &[]).expect("prepare");
    let fields = script::row_description(&[field("n", 23)]);
    session
        .receive_bytes(&[message(b'1', &[]), message(b't', &[0, 0]), fields, ready(b'I')].concat());
    let Some(Event::Complete(done)) = session.next_event() else { panic!("not prepared") };
    let statement = done.statement.expect("a statement");
    send_ahead(&mut session);
    session.data_to_send();
    session.many(statement, TestSink::whole(&[("n", 23)])).expect("many");
    assert!(session.send_many(&set()));
    assert_eq!(tags(&session.data_to_send()), "BE");
    session
}

fn set() -> Vec<u8> {
    let mut out = Vec::new();
    let mut messages = BindExecute::new("s", &[], 0).expect("a name");
    messages.push(&mut out, &EncodedParams::new()).expect("a set");
    out
}

fn tags(sent: &[u8]) -> String {
    let (mut tags, mut rest) = (String::new(), sent);
    while let [tag, length @ ..] = rest {
        let length: [u8; 4] = length[..4].try_into().expect("a length");
        tags.push(char::from(*tag));
        rest = &rest[1 + u32::from_be_bytes(length) as usize..];
    }
    tags
}

fn int_row(value: i32) -> Vec<u8> {
    row(&[Some(&value.to_be_bytes())])
}

fn answer(value: i32) -> Vec<u8> {
    [message(b'2', &[]), int_row(value), text(b'C', "SELECT 1")].concat()
}

#[test]
fn the_rows_of_all_sets_are_one_result() {
    let ended = || {
        let mut session = begun();
        assert!(session.send_many(&set()));
        session.end_many();
        assert_eq!(tags(&session.data_to_send()), "BES");
        session
    };
    let reply = [answer(1), answer(2), ready(b'I')].concat();
    assert_eq!(
        play(ended, &reply),
        [
            Outcome::Batch(vec![Some(1), Some(2)]),
            // The rows of both executions.
            Outcome::Complete { tag: Some("SELECT 2".into()) }
        ]
    );
    assert!(!ended().send_many(&set()), "nothing is sent behind the Sync");
}

#[test]
fn answers_come_while_sets_are_sent() {
    let mut session = begun();
    session.receive_bytes(&answer(1));
    assert!(session.send_many(&set()));
    session.receive_bytes(&answer(2));
    session.end_many();
    session.receive_bytes(&ready(b'I'));
    assert_eq!(
        script::outcomes(&mut session).first(),
        Some(&Outcome::Batch(vec![Some(1), Some(2)]))
    );
}

#[test]
fn an_error_ends_the_sending() {
    let mut session = begun();
    session.receive_bytes(&error("ERROR", "22012", "division by zero"));
    assert_eq!(tags(&session.data_to_send()), "S", "the server waits for it");
    assert!(!session.send_many(&set()), "nothing more is wanted");
    session.end_many();
    session.give_up_many();
    assert!(session.data_to_send().is_empty());
    session.receive_bytes(&ready(b'I'));
    assert_eq!(script::outcomes(&mut session), [Outcome::Failed("division by zero".into())]);
    assert!(session.is_idle() && !session.is_closed());
}

#[test]
fn a_value_that_cannot_be_read_undoes_the_series() {
    let mut session = begun();
    session.receive_bytes(&[message(b'2', &[]), row(&[Some(b"\0\0\0")])].concat());
    assert_eq!(tags(&session.data_to_send()), "PBES");
    let undone = [text(b'C', "SELECT 1"), rolled_back(), ready(b'I')].concat();
    session.receive_bytes(&undone);
    let outcomes = script::outcomes(&mut session);
    assert!(matches!(outcomes.as_slice(), [Outcome::Failed(_)]), "{outcomes:?}");
    assert!(session.is_idle() && !session.is_closed());
}

/// The server's answer to a ROLLBACK outside a transaction.
fn rolled_back() -> Vec<u8> {
    let warning = "there is no transaction in progress";
    [
        message(b'1', &[]),
        message(b'2', &[]),
        script::server_error(b'N', "WARNING", "25P01", warning),
        text(b'C', "ROLLBACK"),
    ]
    .concat()
}

#[test]
fn what_is_given_up_is_undone_in_silence() {
    let given_up = || {
        let mut session = begun();
        session.give_up_many();
        assert_eq!(tags(&session.data_to_send()), "PBES");
        session
    };
    let reply = [answer(1), rolled_back(), ready(b'I')].concat();
    let outcomes = play(given_up, &reply);
    assert_eq!(outcomes.last(), Some(&Outcome::Complete { tag: Some("ROLLBACK".into()) }));
    let mut session = given_up();
    session.receive_bytes(&reply);
    assert!(session.next_announcement().is_none(), "the warning is not the user's");
    // But the next one is.
    session.script("ROLLBACK").expect("script");
    session.receive_bytes(&rolled_back()[10..]);
    assert!(session.next_announcement().is_some());
}

#[test]
fn a_transaction_around_it_is_left_to_its_owner() {
    let mut session = begun();
    session.end_many();
    session.receive_bytes(&[answer(1), ready(b'T')].concat());
    session.data_to_send();
    let Some(Event::Batch(_)) = session.next_event() else { panic!("no rows") };
    let Some(Event::Complete(done)) = session.next_event() else { panic!("no end") };
    let statement = done.statement.expect("a statement");
    session.many(statement, TestSink::whole(&[("n", 23)])).expect("many");
    session.give_up_many();
    assert_eq!(tags(&session.data_to_send()), "S");
}

#[test]
fn a_transaction_that_is_on_its_way_is_left_to_its_owner() {
    let mut session = begun_behind(|session| {
        assert!(session.begin_ahead("BEGIN").expect("a begin"));
    });
    session.give_up_many();
    assert_eq!(tags(&session.data_to_send()), "S");
    let reply = [text(b'C', "BEGIN"), ready(b'T'), answer(1), ready(b'T')];
    session.receive_bytes(&reply.concat());
    let outcomes = script::outcomes(&mut session);
    assert_eq!(outcomes.last(), Some(&Outcome::Complete { tag: Some("SELECT 1".into()) }));
    assert!(session.is_idle() && !session.is_closed());
}

#[test]
fn what_is_given_up_behind_a_reset_is_undone_in_silence() {
    let mut session = begun_behind(|session| {
        assert!(session.script_ahead("RESET ALL").expect("a reset"));
    });
    session.give_up_many();
    assert_eq!(tags(&session.data_to_send()), "PBES");
    let reset = [text(b'C', "RESET"), ready(b'I')].concat();
    session.receive_bytes(&[reset, answer(1), rolled_back(), ready(b'I')].concat());
    let outcomes = script::outcomes(&mut session);
    assert_eq!(outcomes.last(), Some(&Outcome::Complete { tag: Some("ROLLBACK".into()) }));
    assert!(session.next_announcement().is_none(), "the warning is not the user's");
    assert!(session.is_idle() && !session.is_closed());
}

#[test]
fn an_abandoned_series_is_undone() {
    let mut session = begun();
    session.abandon();
    assert_eq!(tags(&session.data_to_send()), "PBES");
    assert!(!session.send_many(&set()));
    session.receive_bytes(&[answer(1), rolled_back(), ready(b'I')].concat());
    assert!(session.is_idle() && session.next_event().is_none());
}

#[test]
fn a_copy_is_refused_and_the_session_goes_on() {
    let mut session = begun();
    session.end_many();
    session.data_to_send();
    session.receive_bytes(&[message(b'2', &[]), message(b'G', &[0, 0, 0])].concat());
    assert_eq!(tags(&session.data_to_send()), "fS");
    session.receive_bytes(&[error("ERROR", "57014", "COPY failed"), ready(b'I')].concat());
    let outcomes = script::outcomes(&mut session);
    assert!(matches!(outcomes.as_slice(), [Outcome::Failed(text)] if text.contains("COPY")));
    assert!(session.is_idle() && !session.is_closed());
}

#[test]
fn the_end_of_the_connection_ends_a_series() {
    let mut session = begun();
    session.receive_eof();
    assert!(!session.send_many(&set()));
    session.end_many();
    assert!(session.data_to_send().is_empty());
    assert!(matches!(script::outcomes(&mut session).as_slice(), [Outcome::Failed(_)]));
}
