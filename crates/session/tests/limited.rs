//! Queries that the server ends after a time, against a scripted server.

// Helpers stand outside of test functions; a panic in one fails the test all the same.
#![allow(clippy::expect_used, clippy::panic)]
// Each test program uses a part of the script.
#![allow(dead_code, reason = "shared with the other exchanges")]

mod script;

use std::num::NonZeroU32;

use colonnade_protocol::frontend::EncodedParams;
use colonnade_session::{Event, Session};
use script::{Outcome, TestSink, error, field, message, ready, row, text};

/// The answer to the timeout that travels ahead of a query.
fn limit_set() -> Vec<u8> {
    let bound = [message(b'1', &[]), message(b'2', &[])].concat();
    [bound, row(&[Some(b"500")]), text(b'C', "SELECT 1")].concat()
}

/// A session with such a query under way.
fn limited(session: &mut Session<TestSink>) {
    session.receive_bytes(&script::welcome());
    assert!(matches!(script::outcomes(session).as_slice(), [Outcome::Complete { .. }]));
    session.prepare("SELECT n FROM t", &[]).expect("prepare");
    let described = script::row_description(&[field("n", 23)]);
    let parsed = [message(b'1', &[]), message(b't', &[0, 0])].concat();
    session.receive_bytes(&[parsed, described, ready(b'I')].concat());
    let Some(Event::Complete(done)) = session.next_event() else {
        panic!("the statement was not prepared")
    };
    session.data_to_send();
    session.limit_queries(NonZeroU32::new(500));
    let (statement, sink) = (done.statement.expect("a statement"), TestSink::whole(&[("n", 23)]));
    session.query(statement, &EncodedParams::new(), 0, sink).expect("query");
}

#[test]
fn a_limit_travels_with_its_query() {
    let rows = [row(&[Some(&7_i32.to_be_bytes())]), text(b'C', "SELECT 1")].concat();
    let mut session = script::session();
    limited(&mut session);
    let sent = session.data_to_send();
    assert!(sent.ends_with(&[b'S', 0, 0, 0, 4]));
    assert!(!sent.windows(6).any(|part| part == [b'S', 0, 0, 0, 4, b'B']), "one Sync");
    session.receive_bytes(&[limit_set(), message(b'2', &[]), rows, ready(b'I')].concat());
    let outcomes = script::outcomes(&mut session);
    assert!(matches!(outcomes.as_slice(), [.., Outcome::Complete { .. }]), "{outcomes:?}");
    assert!(session.is_idle());
}

#[test]
fn a_limited_query_needs_both_answers() {
    for answer in [
        [limit_set(), ready(b'I')].concat(),
        [message(b'1', &[]), ready(b'I')].concat(),
        [message(b'2', &[]), ready(b'I')].concat(),
        [limit_set(), limit_set(), ready(b'I')].concat(),
    ] {
        let mut session = script::session();
        limited(&mut session);
        session.receive_bytes(&answer);
        assert!(session.is_closed(), "an answer out of turn was taken");
    }
}

#[test]
fn the_error_of_a_limited_query_leaves_the_session() {
    for before in [Vec::new(), limit_set()] {
        let mut session = script::session();
        limited(&mut session);
        let refused = error("ERROR", "57014", "too late");
        session.receive_bytes(&[before, refused, ready(b'I')].concat());
        assert!(session.is_idle());
        assert!(!session.is_closed());
    }
}
