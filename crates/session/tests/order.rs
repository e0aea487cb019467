//! The order of answers: a message that is missing, repeated, or another exchange's is never taken
//! for the expected one.

// Helpers stand outside of test functions; a panic in one fails the test all the same.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
// Each test program uses a part of the script.
#![allow(dead_code, reason = "shared with the other exchanges")]

mod script;

use std::sync::Arc;

use colonnade_protocol::frontend::{BindExecute, EncodedParams};
use colonnade_session::{Event, Session, Statement};
use script::{Outcome, TestSink, error, field, message, ready, row, text};

/// An exchange that was begun, and its answer, message by message.
struct Asked {
    name: &'static str,
    session: Session<TestSink>,
    answer: Vec<Vec<u8>>,
    /// Tags of messages that may come any number of times.
    uncounted: &'static [u8],
}

fn opened() -> Session<TestSink> {
    let mut session = script::session();
    session.receive_bytes(&script::welcome());
    assert!(matches!(script::outcomes(&mut session).as_slice(), [Outcome::Complete { .. }]));
    session
}

fn described() -> Vec<Vec<u8>> {
    let fields = script::row_description(&[field("n", 23)]);
    vec![message(b'1', &[]), message(b't', &[0, 0]), fields]
}

fn prepared(session: &mut Session<TestSink>) -> Arc<Statement> {
    session.prepare("SELECT n FROM t", &[]).expect("prepare");
    session.receive_bytes(&[described().concat(), ready(b'I')].concat());
    let Some(Event::Complete(done)) = session.next_event() else { panic!("not prepared") };
    done.statement.expect("a statement")
}

fn sink() -> TestSink {
    TestSink::whole(&[("n", 23)])
}

fn int_row(value: u8) -> Vec<u8> {
    row(&[Some(&[0, 0, 0, value])])
}

fn bind() -> Vec<u8> {
    message(b'2', &[])
}

fn preparing() -> Asked {
    let mut session = opened();
    session.prepare("SELECT n FROM t", &[]).expect("prepare");
    let answer = [described(), vec![ready(b'I')]].concat();
    Asked { name: "prepare", session, answer, uncounted: b"" }
}

fn querying() -> Asked {
    let mut session = opened();
    let statement = prepared(&mut session);
    session.query(statement, &EncodedParams::new(), 0, sink()).expect("query");
    let answer = vec![bind(), int_row(1), int_row(2), text(b'C', "SELECT 2"), ready(b'I')];
    Asked { name: "query", session, answer, uncounted: b"" }
}

fn querying_some() -> Asked {
    let mut session = opened();
    let statement = prepared(&mut session);
    session.query(statement, &EncodedParams::new(), 2, sink()).expect("query");
    let answer = vec![bind(), int_row(1), int_row(2), message(b's', &[]), ready(b'I')];
    Asked { name: "query with a limit", session, answer, uncounted: b"" }
}

fn querying_with_its_text() -> Asked {
    let mut session = script::session_with_cache(0);
    session.receive_bytes(&script::welcome());
    script::outcomes(&mut session);
    let statement = prepared(&mut session);
    session.query(statement, &EncodedParams::new(), 0, sink()).expect("query");
    let result = vec![bind(), int_row(1), text(b'C', "SELECT 1"), ready(b'I')];
    let answer = [described(), result].concat();
    Asked { name: "query with its text", session, answer, uncounted: b"" }
}

fn opening() -> Asked {
    let mut session = opened();
    let statement = prepared(&mut session);
    session.open(statement, &EncodedParams::new(), 1, sink()).expect("open");
    let answer = vec![bind(), int_row(1), message(b's', &[]), ready(b'T')];
    Asked { name: "portal", session, answer, uncounted: b"" }
}

fn repeating() -> Asked {
    let mut session = opened();
    let statement = prepared(&mut session);
    session.many(statement, sink()).expect("many");
    let mut sets = Vec::new();
    let mut messages = BindExecute::new("s", &[], 0).expect("a name");
    for _ in 0..2 {
        messages.push(&mut sets, &EncodedParams::new()).expect("a set");
    }
    assert!(session.send_many(&sets));
    session.end_many();
    let one = vec![bind(), int_row(1), text(b'C', "SELECT 1")];
    let answer = [one.clone(), one, vec![ready(b'I')]].concat();
    Asked { name: "many", session, answer, uncounted: b"" }
}

fn running_a_script() -> Asked {
    let mut session = opened();
    session.script("SELECT n FROM t").expect("script");
    let fields = script::row_description(&[field("n", 23)]);
    let answer = vec![fields, int_row(1), text(b'C', "SELECT 1"), ready(b'I')];
    // Rows are discarded, and a text may have any number of statements.
    Asked { name: "script", session, answer, uncounted: b"DC" }
}

fn copying_out() -> Asked {
    let mut session = opened();
    session.copy_out("COPY t TO STDOUT").expect("copy");
    let begun = message(b'H', &[0, 0, 1, 0, 0]);
    let data = message(b'd', b"1\n");
    let end = [message(b'c', &[]), text(b'C', "COPY 1"), ready(b'I')];
    let answer = [vec![begun, data], end.to_vec()].concat();
    Asked { name: "copy out", session, answer, uncounted: b"dC" }
}

fn copying_in() -> Asked {
    let mut session = opened();
    session.copy_in("COPY t FROM STDIN").expect("copy");
    session.receive_bytes(&message(b'G', &[0, 0, 1, 0, 0]));
    assert_eq!(script::outcomes(&mut session), [Outcome::CopyIn]);
    session.copy_done();
    let answer = vec![text(b'C', "COPY 0"), ready(b'I')];
    // More statements may follow the copy.
    Asked { name: "copy in", session, answer, uncounted: b"C" }
}

const EXCHANGES: &[fn() -> Asked] = &[
    preparing,
    querying,
    querying_some,
    querying_with_its_text,
    opening,
    repeating,
    running_a_script,
    copying_out,
    copying_in,
];

fn has_ended_well(outcomes: &[Outcome]) -> bool {
    matches!(outcomes.last(), Some(Outcome::Complete { .. }))
}

#[test]
fn each_answer_as_it_should_be() {
    for begin in EXCHANGES {
        let mut asked = begin();
        asked.session.receive_bytes(&asked.answer.concat());
        let outcomes = script::outcomes(&mut asked.session);
        assert!(has_ended_well(&outcomes), "{}: {outcomes:?}", asked.name);
        assert!(!asked.session.is_closed(), "{}", asked.name);
    }
}

#[test]
fn a_message_that_is_missing_ends_the_session() {
    for begin in EXCHANGES {
        // Without the last message, the exchange just waits.
        for missing in 0..begin().answer.len() - 1 {
            let mut asked = begin();
            let gone = asked.answer.remove(missing);
            asked.session.receive_bytes(&asked.answer.concat());
            let outcomes = script::outcomes(&mut asked.session);
            let name = format!("{} without {:?}", asked.name, char::from(gone[0]));
            if gone[0] == b'C' || !asked.uncounted.contains(&gone[0]) {
                assert!(!has_ended_well(&outcomes), "{name}: {outcomes:?}");
                assert!(asked.session.is_closed(), "{name}");
            }
        }
    }
}

#[test]
fn a_message_that_comes_twice_ends_the_session() {
    for begin in EXCHANGES {
        for twice in 0..begin().answer.len() {
            let mut asked = begin();
            let again = asked.answer[twice].clone();
            let is_last = again[0] == b'Z';
            asked.answer.insert(twice, again.clone());
            asked.session.receive_bytes(&asked.answer.concat());
            let outcomes = script::outcomes(&mut asked.session);
            let name = format!("{} with two {:?}", asked.name, char::from(again[0]));
            if !asked.uncounted.contains(&again[0]) {
                assert_eq!(has_ended_well(&outcomes), is_last, "{name}: {outcomes:?}");
                assert!(asked.session.is_closed(), "{name}");
            }
        }
    }
}

#[test]
fn what_is_left_of_an_earlier_answer_is_not_the_answer() {
    let stale = [
        ready(b'I'),
        text(b'C', "SELECT 1"),
        message(b's', &[]),
        int_row(1),
        message(b't', &[0, 0]),
        message(b'n', &[]),
        message(b'c', &[]),
        error("ERROR", "22012", "division by zero"),
    ];
    for begin in EXCHANGES {
        for earlier in &stale {
            let mut asked = begin();
            asked.session.receive_bytes(&[earlier.clone(), asked.answer.concat()].concat());
            let outcomes = script::outcomes(&mut asked.session);
            let name = format!("{} behind {:?}", asked.name, char::from(earlier[0]));
            if !asked.uncounted.contains(&earlier[0]) {
                assert!(!has_ended_well(&outcomes), "{name}: {outcomes:?}");
                let Some(Outcome::Failed(told)) = outcomes.last() else { panic!("{outcomes:?}") };
                assert_ne!(told, "division by zero", "{name}: not its own error");
                assert!(asked.session.is_closed(), "{name}");
            }
        }
    }
}

#[test]
fn what_comes_unasked_ends_the_session() {
    for unasked in [ready(b'I'), message(b'3', &[]), message(b'1', &[]), int_row(1), bind()] {
        let mut session = opened();
        session.receive_bytes(&unasked);
        assert!(session.is_closed(), "{unasked:?}");
    }
}

#[test]
fn an_abandoned_exchange_need_not_be_whole() {
    for begin in [querying, repeating, copying_out] {
        let mut asked = begin();
        asked.session.receive_bytes(&asked.answer[..2].concat());
        asked.session.abandon();
        asked.session.receive_bytes(&asked.answer[2..].concat());
        assert!(script::outcomes(&mut asked.session).is_empty(), "{}", asked.name);
        assert!(asked.session.is_idle() && !asked.session.is_closed(), "{}", asked.name);
    }
}

#[test]
fn a_copy_does_not_end_before_its_data() {
    let mut session = opened();
    session.copy_in("COPY t FROM STDIN").expect("copy");
    session.receive_bytes(&message(b'G', &[0, 0, 1, 0, 0]));
    session.receive_bytes(&[text(b'C', "COPY 0"), ready(b'I')].concat());
    assert!(session.is_closed());
}
