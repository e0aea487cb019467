//! Commands sent ahead of the next exchange: success makes no event, failure ends the session.

// Helpers stand outside of test functions; a panic in one fails the test all the same.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
// Each test program uses a part of the script.
#![allow(dead_code, reason = "shared with the other exchanges")]

mod script;

use colonnade_session::Session;
use script::{Outcome, TestSink, error, message, outcomes, play, ready, text};

const RESET: &str = "CLOSE ALL; RESET ALL";

fn opened() -> Session<TestSink> {
    let mut session = script::session();
    session.receive_bytes(&script::welcome());
    assert!(matches!(outcomes(&mut session).as_slice(), [Outcome::Complete { .. }]));
    session.data_to_send();
    session
}

/// A session that was used and is idle again, with the given transaction status.
fn used(status: u8) -> Session<TestSink> {
    let mut session = opened();
    session.script("SELECT f()").expect("a script");
    session.receive_bytes(&done("SELECT 1", status));
    assert_eq!(outcomes(&mut session).len(), 1);
    session.data_to_send();
    session
}

fn done(tag: &str, status: u8) -> Vec<u8> {
    [text(b'C', tag), ready(status)].concat()
}

fn parameter(name: &str, value: &str) -> Vec<u8> {
    message(b'S', &[name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat())
}

fn complete(tag: &str) -> Outcome {
    Outcome::Complete { tag: Some(tag.to_owned()) }
}

/// A used session with a reset on its way, followed by a script.
fn reset_and_asked() -> Session<TestSink> {
    let mut session = used(b'I');
    assert!(session.script_ahead(RESET).expect("a reset"));
    session.script("SELECT 2").expect("a script");
    session
}

#[test]
fn a_session_is_untouched_until_something_is_asked() {
    let mut session = opened();
    assert!(session.is_untouched());
    assert_eq!(session.exchanges(), 0);
    session.script("SELECT 1").expect("a script");
    assert!(!session.is_untouched());
    assert_eq!(session.exchanges(), 1);
}

#[test]
fn a_reset_says_nothing_and_holds_nobody_up() {
    let mut session = used(b'I');
    assert!(session.script_ahead(RESET).expect("a reset"));
    assert!(session.is_untouched() && session.is_idle() && session.runs_ahead());
    assert_eq!(session.exchanges(), 1, "it is not counted");
    session.receive_bytes(&done("RESET", b'I'));
    assert!(!session.runs_ahead());
    assert_eq!(outcomes(&mut session), []);
}

#[test]
fn what_is_asked_behind_a_reset_gets_its_own_answer() {
    let reply = [text(b'C', "CLOSE CURSOR ALL"), done("RESET", b'I'), done("SELECT 2", b'I')];
    assert_eq!(play(reset_and_asked, &reply.concat()), [complete("SELECT 2")]);
}

#[test]
fn a_failed_reset_ends_the_session() {
    let reply = [error("ERROR", "57014", "canceling statement"), ready(b'I')].concat();
    let outcomes = play(reset_and_asked, &reply);
    let [Outcome::Failed(text)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(text.contains("could not be reset: canceling statement"), "{text}");
    let mut session = used(b'I');
    session.script_ahead(RESET).expect("a reset");
    session.receive_bytes(&reply);
    assert!(session.is_closed());
}

#[test]
fn who_waits_behind_a_reset_learns_why_the_server_left() {
    let fatal = error("FATAL", "57P01", "terminating connection");
    assert_eq!(play(reset_and_asked, &fatal), [Outcome::Failed("terminating connection".into())]);
    let mut session = reset_and_asked();
    session.receive_eof();
    let outcomes = outcomes(&mut session);
    let [Outcome::Failed(text)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(text.contains("closed in the middle"), "{text}");
}

#[test]
fn an_abandoned_exchange_behind_a_reset_goes_quietly() {
    let begin = || {
        let mut session = reset_and_asked();
        session.abandon();
        assert!(!session.is_idle() && session.runs_ahead());
        session
    };
    let cancelled = [error("ERROR", "57014", "canceling statement"), ready(b'I')].concat();
    assert_eq!(play(begin, &[done("RESET", b'I'), cancelled].concat()), []);
}

#[test]
fn a_reset_that_must_be_waited_for_is_not_begun() {
    let mut open = used(b'T');
    assert!(!open.script_ahead(RESET).expect("an answer"));
    assert_eq!(open.data_to_send(), b"");
    let mut busy = opened();
    busy.script("SELECT 1").expect("a script");
    assert!(!busy.script_ahead(RESET).expect("an answer"));
}

#[test]
fn a_changed_parameter_is_waited_for() {
    let mut session = opened();
    session.script("SET TimeZone TO 'UTC'").expect("a script");
    session.receive_bytes(&[parameter("TimeZone", "UTC"), done("SET", b'I')].concat());
    assert_eq!(outcomes(&mut session).len(), 1);
    assert!(!session.script_ahead(RESET).expect("an answer"));
    session.mark_untouched();
    assert!(session.script_ahead(RESET).expect("a reset"));
}

#[test]
fn a_parameter_that_a_reset_changes_is_no_change() {
    let mut session = reset_and_asked();
    let reply = [parameter("TimeZone", "UTC"), done("RESET", b'I'), done("SELECT 2", b'I')];
    session.receive_bytes(&reply.concat());
    assert_eq!(outcomes(&mut session), [complete("SELECT 2")]);
    assert!(session.script_ahead(RESET).expect("a reset"));
}

#[test]
fn a_closed_session_is_not_reset() {
    let mut session = opened();
    session.terminate();
    assert!(session.script_ahead(RESET).is_err());
}
