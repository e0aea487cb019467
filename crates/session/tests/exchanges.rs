//! Every exchange against a scripted server: whole and one byte at a time, with the same outcome.

// Helpers stand outside of test functions; a panic in one fails the test all the same.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
// Each test program uses a part of the script.
#![allow(dead_code, reason = "shared with the other exchanges")]

mod script;

use std::time::Duration;

use colonnade_protocol::frontend::EncodedParams;
use colonnade_session::{Announcement, Error, Session};
use script::{Outcome, TestSink, error, field, message, play, ready, row, server_error, text};

fn opened() -> Session<TestSink> {
    let mut session = script::session();
    session.receive_bytes(&script::welcome());
    assert!(matches!(script::outcomes(&mut session).as_slice(), [Outcome::Complete { .. }]));
    session
}

/// Prepares `SELECT n FROM t` with one int4 column, and begins to run it.
fn queried(session: &mut Session<TestSink>, sink: TestSink) {
    session.prepare("SELECT n FROM t", &[]).expect("prepare");
    session.receive_bytes(&described(&[field("n", 23)]));
    let Some(colonnade_session::Event::Complete(done)) = session.next_event() else {
        panic!("the statement was not prepared")
    };
    let statement = done.statement.expect("a statement");
    session.data_to_send();
    session.query(statement, &EncodedParams::new(), 0, sink).expect("query");
}

fn described(fields: &[Vec<u8>]) -> Vec<u8> {
    [message(b'1', &[]), message(b't', &[0, 0]), script::row_description(fields), ready(b'I')]
        .concat()
}

fn int_row(value: i32) -> Vec<u8> {
    row(&[Some(&value.to_be_bytes())])
}

#[test]
fn reads_are_limited() {
    let mut session = opened();
    session.limit_reads(1000);
    assert_eq!(session.receive_buffer().len(), 1000);
}

#[test]
fn a_session_opens_and_knows_its_server() {
    let session = opened();
    assert!(session.is_idle());
    assert_eq!(session.parameter("server_version"), Some("18.6"));
    assert_eq!(session.cancel_key().map(|key| key.process_id), Some(4711));
    assert!(!format!("{:?}", session.cancel_key()).contains("99"), "the secret is not shown");
}

#[test]
fn a_refused_start_up_closes_the_session() {
    for reply in [
        error("FATAL", "28P01", "password authentication failed for user \"ada\""),
        error("FATAL", "53300", "sorry, too many clients already"),
    ] {
        let outcomes = play(script::session, &reply);
        let [Outcome::Failed(text)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
        assert!(text.contains("password") || text.contains("too many"));
    }
}

#[test]
fn a_query_gives_its_rows_in_columns() {
    let reply = [
        message(b'2', &[]),
        int_row(1),
        row(&[None]),
        int_row(3),
        text(b'C', "SELECT 3"),
        ready(b'T'),
    ]
    .concat();
    let begin = || {
        let mut session = opened();
        queried(&mut session, TestSink::whole(&[("n", 23)]));
        session
    };
    let outcomes = play(begin, &reply);
    assert_eq!(
        outcomes,
        [
            Outcome::Batch(vec![Some(1), None, Some(3)]),
            Outcome::Complete { tag: Some("SELECT 3".into()) }
        ]
    );
}

#[test]
fn a_stream_gives_batches_and_holds_the_server_back() {
    let mut session = opened();
    queried(&mut session, TestSink::batched(&[("n", 23)], 2));
    session.receive_bytes(&message(b'2', &[]));
    for value in 0..3 {
        session.receive_bytes(&int_row(value));
    }
    assert!(session.wants_read(), "one batch waits");
    session.receive_bytes(&int_row(3));
    assert!(!session.wants_read(), "two batches wait: no more is wanted");
    assert_eq!(
        script::outcomes(&mut session),
        [Outcome::Batch(vec![Some(0), Some(1)]), Outcome::Batch(vec![Some(2), Some(3)])]
    );
    assert!(session.wants_read());
    session.receive_bytes(&[int_row(4), text(b'C', "SELECT 5"), ready(b'I')].concat());
    assert_eq!(
        script::outcomes(&mut session),
        [Outcome::Batch(vec![Some(4)]), Outcome::Complete { tag: Some("SELECT 5".into()) }]
    );
}

#[test]
fn a_result_without_rows_is_one_empty_batch() {
    let mut session = opened();
    queried(&mut session, TestSink::batched(&[("n", 23)], 2));
    session.receive_bytes(&[message(b'2', &[]), text(b'C', "SELECT 0"), ready(b'I')].concat());
    assert_eq!(
        script::outcomes(&mut session),
        [Outcome::Batch(vec![]), Outcome::Complete { tag: Some("SELECT 0".into()) }]
    );
}

#[test]
fn a_server_error_in_mid_result_fails_the_exchange_and_no_more() {
    let reply =
        [message(b'2', &[]), int_row(1), error("ERROR", "22012", "division by zero"), ready(b'E')]
            .concat();
    let begin = || {
        let mut session = opened();
        queried(&mut session, TestSink::whole(&[("n", 23)]));
        session
    };
    let outcomes = play(begin, &reply);
    assert_eq!(outcomes, [Outcome::Failed("division by zero".into())]);
    let mut session = begin();
    session.receive_bytes(&reply);
    assert!(session.is_idle() && !session.is_closed());
    assert_eq!(session.cached_statements(), 1, "an ordinary error does not cost the statement");
}

#[test]
fn a_value_that_cannot_be_decoded_is_named_and_the_rest_is_read() {
    let mut session = opened();
    queried(&mut session, TestSink::whole(&[("n", 23)]));
    let bad = row(&[Some(b"\0\0\0")]);
    session.receive_bytes(&[message(b'2', &[]), int_row(1), bad, int_row(3)].concat());
    assert!(script::outcomes(&mut session).is_empty(), "the server is not ready yet");
    session.receive_bytes(&[text(b'C', "SELECT 3"), ready(b'I')].concat());
    let Some(colonnade_session::Event::Failed(Error::Decode(error))) = session.next_event() else {
        panic!("the decode error is lost")
    };
    assert_eq!((error.column.as_str(), error.row), ("n", 1));
    assert!(session.is_idle() && !session.is_closed());
}

#[test]
fn rows_that_break_the_protocol_close_the_session() {
    let mut session = opened();
    queried(&mut session, TestSink::whole(&[("n", 23)]));
    let two_columns = row(&[None, None]);
    session.receive_bytes(&[message(b'2', &[]), two_columns].concat());
    assert!(session.is_closed());
    assert!(matches!(script::outcomes(&mut session).as_slice(), [Outcome::Failed(_)]));
}

#[test]
fn a_message_out_of_turn_closes_the_session() {
    for reply in [ready(b'I'), message(b'2', &[]), int_row(1), message(b'G', &[0, 0, 0])] {
        let mut session = opened();
        session.receive_bytes(&reply);
        assert!(session.is_closed(), "{reply:?}");
    }
}

#[test]
fn the_end_of_the_connection_reaches_who_waits() {
    let mut session = opened();
    queried(&mut session, TestSink::whole(&[("n", 23)]));
    session.receive_bytes(&[message(b'2', &[]), int_row(1)].concat());
    session.receive_eof();
    assert!(session.is_closed());
    assert!(matches!(
        session.next_event(),
        Some(colonnade_session::Event::Failed(Error::ConnectionLost))
    ));
    assert!(matches!(session.script("SELECT 1"), Err(Error::Closed)));
}

#[test]
fn who_waits_learns_that_this_side_closed_and_what_comes_later_is_not_read() {
    let mut session = opened();
    queried(&mut session, TestSink::whole(&[("n", 23)]));
    session.cut_off();
    session.receive_bytes(&[message(b'2', &[]), int_row(1)].concat());
    session.receive_eof();
    assert!(session.is_closed());
    assert!(matches!(session.next_event(), Some(colonnade_session::Event::Failed(Error::CutOff))));
    assert!(session.next_event().is_none());
}

#[test]
fn a_fatal_error_is_the_reason_and_not_the_eof_behind_it() {
    let mut session = opened();
    queried(&mut session, TestSink::whole(&[("n", 23)]));
    let fatal = error("FATAL", "57P01", "terminating connection due to administrator command");
    session.receive_bytes(&fatal);
    session.receive_eof();
    assert!(session.is_closed());
    let outcomes = script::outcomes(&mut session);
    assert_eq!(
        outcomes,
        [Outcome::Failed("terminating connection due to administrator command".into())]
    );
}

#[test]
fn a_fatal_error_without_an_exchange_is_announced() {
    let mut session = opened();
    session.receive_bytes(&error("FATAL", "57P01", "shutting down"));
    assert!(session.is_closed());
    let Some(Announcement::Notice(fields)) = session.next_announcement() else {
        panic!("nothing was announced")
    };
    assert_eq!(fields.code(), Some("57P01"));
}

#[test]
fn what_comes_out_of_turn_by_right_disturbs_nobody() {
    let reply = [
        message(b'2', &[]),
        int_row(1),
        server_error(b'N', "NOTICE", "00000", "hello"),
        script::parameter("TimeZone", "UTC"),
        script::notification(7, "news", "extra"),
        int_row(2),
        text(b'C', "SELECT 2"),
        ready(b'I'),
    ]
    .concat();
    let mut session = opened();
    queried(&mut session, TestSink::whole(&[("n", 23)]));
    session.receive_bytes(&reply);
    assert_eq!(
        script::outcomes(&mut session).first(),
        Some(&Outcome::Batch(vec![Some(1), Some(2)]))
    );
    assert_eq!(session.parameter("TimeZone"), Some("UTC"));
    assert!(matches!(session.next_announcement(), Some(Announcement::Notice(_))));
    let Some(Announcement::Notification { process_id, channel, payload }) =
        session.next_announcement()
    else {
        panic!("the notification is lost")
    };
    assert_eq!((process_id, channel.as_str(), payload.as_str()), (7, "news", "extra"));
}

#[test]
fn an_abandoned_exchange_ends_in_silence() {
    let mut session = opened();
    queried(&mut session, TestSink::batched(&[("n", 23)], 1));
    session.receive_bytes(&[message(b'2', &[]), int_row(1), int_row(2)].concat());
    session.abandon();
    assert!(session.wants_read(), "the rest must be read");
    assert!(!session.is_idle());
    session.receive_bytes(
        &[int_row(3), error("ERROR", "57014", "canceling statement"), ready(b'I')].concat(),
    );
    assert!(session.is_idle() && !session.is_closed());
    assert!(script::outcomes(&mut session).is_empty());
    assert!(session.script("SELECT 1").is_ok());
}

#[test]
fn scripts_run_many_statements_and_tell_the_last_tag() {
    let reply = [
        text(b'C', "CREATE TABLE"),
        script::row_description(&[field("n", 23)]),
        row(&[Some(b"1")]),
        text(b'C', "SELECT 1"),
        message(b'I', &[]),
        ready(b'I'),
    ]
    .concat();
    let begin = || {
        let mut session = opened();
        session.script("CREATE TABLE t (); SELECT 1; ;").expect("script");
        session
    };
    let outcomes = play(begin, &reply);
    assert_eq!(outcomes, [Outcome::Complete { tag: Some("SELECT 1".into()) }]);
}

#[test]
fn a_server_that_is_ready_before_authentication_ends_the_session() {
    let mut session = script::session();
    session.receive_bytes(&ready(b'I'));
    assert!(session.is_closed());
    let outcomes = script::outcomes(&mut session);
    let [Outcome::Failed(reason)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(reason.contains("ReadyForQuery where it is not allowed"), "{reason}");
}

#[test]
fn copy_in_asks_for_data_and_sends_it() {
    let mut session = opened();
    session.copy_in("COPY t FROM STDIN").expect("copy");
    assert!(!session.copy_data(b"early").expect("data"), "the server has not asked yet");
    session.data_to_send();
    session.receive_bytes(&message(b'G', &[0, 0, 0]));
    assert_eq!(script::outcomes(&mut session), [Outcome::CopyIn]);
    assert!(session.copy_data(b"1\n").expect("data"));
    session.copy_done();
    assert_eq!(session.data_to_send(), [message(b'd', b"1\n"), message(b'c', &[])].concat());
    session.receive_bytes(&[text(b'C', "COPY 1"), ready(b'I')].concat());
    assert_eq!(script::outcomes(&mut session), [Outcome::Complete { tag: Some("COPY 1".into()) }]);
}

#[test]
fn a_refused_copy_takes_no_more_data() {
    let mut session = opened();
    session.copy_in("COPY t FROM STDIN").expect("copy");
    session.receive_bytes(&message(b'G', &[0, 0, 0]));
    script::outcomes(&mut session);
    session.receive_bytes(&[error("ERROR", "22P04", "bad row"), ready(b'I')].concat());
    assert!(!session.copy_data(b"2\n").expect("data"));
    assert_eq!(script::outcomes(&mut session), [Outcome::Failed("bad row".into())]);
}

#[test]
fn an_abandoned_copy_is_given_up_on_the_server_too() {
    let mut session = opened();
    session.copy_in("COPY t FROM STDIN").expect("copy");
    session.receive_bytes(&message(b'G', &[0, 0, 0]));
    session.data_to_send();
    session.abandon();
    assert_eq!(session.data_to_send().first(), Some(&b'f'));
}

#[test]
fn a_copy_abandoned_before_it_began_is_given_up_when_it_does() {
    let mut session = opened();
    session.copy_in("COPY t FROM STDIN").expect("copy");
    session.data_to_send();
    session.abandon();
    assert!(session.data_to_send().is_empty());
    session.receive_bytes(&message(b'G', &[0, 0, 0]));
    assert_eq!(session.data_to_send().first(), Some(&b'f'));
    assert!(script::outcomes(&mut session).is_empty());
    session.receive_bytes(&[error("ERROR", "57014", "COPY was cancelled"), ready(b'I')].concat());
    assert!(session.is_idle());
}

#[test]
fn copy_out_gives_the_bytes_put_together() {
    let reply = [
        message(b'H', &[0, 0, 0]),
        message(b'd', b"1\n"),
        message(b'd', b"2\n"),
        message(b'c', &[]),
        text(b'C', "COPY 2"),
        ready(b'I'),
    ]
    .concat();
    let begin = || {
        let mut session = opened();
        session.copy_out("COPY t TO STDOUT").expect("copy");
        session
    };
    let outcomes = play(begin, &reply);
    let bytes: Vec<u8> = outcomes
        .iter()
        .flat_map(|outcome| match outcome {
            Outcome::CopyData(bytes) => bytes.clone(),
            _ => Vec::new(),
        })
        .collect();
    assert_eq!(bytes, b"1\n2\n");
    assert_eq!(outcomes.last(), Some(&Outcome::Complete { tag: Some("COPY 2".into()) }));
}

#[test]
fn a_copy_where_a_query_belongs_fails_and_the_session_goes_on() {
    let mut session = opened();
    session.script("COPY t FROM STDIN").expect("script");
    session.data_to_send();
    session.receive_bytes(&message(b'G', &[0, 0, 0]));
    assert_eq!(
        session.data_to_send().first(),
        Some(&b'f'),
        "the copy is refused, not left hanging"
    );
    session
        .receive_bytes(&[error("ERROR", "57014", "COPY from stdin failed"), ready(b'I')].concat());
    assert!(matches!(script::outcomes(&mut session).as_slice(), [Outcome::Failed(_)]));

    session.script("COPY t TO STDOUT").expect("script");
    session.receive_bytes(
        &[
            message(b'H', &[0, 0, 0]),
            message(b'd', b"1\n"),
            message(b'c', &[]),
            text(b'C', "COPY 1"),
            ready(b'I'),
        ]
        .concat(),
    );
    let outcomes = script::outcomes(&mut session);
    let [Outcome::Failed(text)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(text.contains("copy methods"));
    assert!(session.is_idle() && !session.is_closed());
}

#[test]
fn a_statement_that_is_no_copy_is_told_so() {
    for begin in [Session::copy_in, Session::copy_out] {
        let mut session = opened();
        begin(&mut session, "SELECT 1").expect("copy");
        session.receive_bytes(
            &[
                script::row_description(&[field("n", 23)]),
                row(&[Some(b"1")]),
                text(b'C', "SELECT 1"),
                ready(b'I'),
            ]
            .concat(),
        );
        let outcomes = script::outcomes(&mut session);
        let [Outcome::Failed(text)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
        assert!(text.contains("not a COPY"));
    }
}

#[test]
fn a_stale_plan_leaves_the_cache() {
    for code in ["0A000", "26000"] {
        let mut session = opened();
        queried(&mut session, TestSink::whole(&[("n", 23)]));
        assert_eq!(session.cached_statements(), 1);
        session.receive_bytes(
            &[error("ERROR", code, "cached plan must not change result type"), ready(b'I')]
                .concat(),
        );
        assert_eq!(session.cached_statements(), 0);
    }
}

#[test]
fn a_server_that_forgets_its_statements_empties_the_cache() {
    for tag in ["DISCARD ALL", "DEALLOCATE ALL"] {
        let mut session = opened();
        queried(&mut session, TestSink::whole(&[("n", 23)]));
        session.receive_bytes(&[message(b'2', &[]), text(b'C', "SELECT 0"), ready(b'I')].concat());
        session.script(tag).expect("script");
        session.receive_bytes(&[text(b'C', tag), ready(b'I')].concat());
        assert_eq!(session.cached_statements(), 0);
    }
}

#[test]
fn another_client_encoding_is_refused_before_it_makes_wrong_text() {
    let mut session = opened();
    session.receive_bytes(&script::parameter("client_encoding", "LATIN1"));
    let Err(error) = session.prepare("SELECT 1", &[]) else { panic!("accepted") };
    assert!(error.to_string().contains("LATIN1"));
    assert!(session.script("SET client_encoding TO 'UTF8'").is_ok());
}

#[test]
fn a_statement_that_leaves_the_cache_is_closed_on_the_server() {
    let mut session = script::session_with_cache(1);
    session.receive_bytes(&script::welcome());
    script::outcomes(&mut session);
    session.data_to_send();
    let mut parsed = Vec::new();
    for sql in ["SELECT 1", "SELECT 2"] {
        session.prepare(sql, &[]).expect("prepare");
        parsed.push(session.data_to_send());
        session.receive_bytes(&described(&[field("n", 23)]));
    }
    let name = parsed[0][5..].split(|byte| *byte == 0).next().expect("a name");
    assert!(name.starts_with(b"colonnade_") && name.ends_with(b"_1"));
    assert_eq!(session.data_to_send(), message(b'C', &[b"S", name, b"\0"].concat()));
    script::outcomes(&mut session);
    session.script("SELECT 1").expect("script");
    session.receive_bytes(&[message(b'3', &[]), text(b'C', "SELECT 1"), ready(b'I')].concat());
    assert_eq!(
        script::outcomes(&mut session),
        [Outcome::Complete { tag: Some("SELECT 1".into()) }]
    );
}

#[test]
fn events_keep_the_order_of_the_exchanges_when_one_has_to_ask_again() {
    const MOOD: u32 = 99_001;
    let begin = || {
        let mut session = opened();
        session.prepare("SELECT m FROM t", &[]).expect("prepare");
        session.script("SELECT 2").expect("script");
        session.data_to_send();
        session
    };
    let first = described(&[field("m", MOOD)]);
    let second = [text(b'C', "SELECT 2"), ready(b'I')].concat();
    let asked = [
        message(b'1', &[]),
        message(b'2', &[]),
        text(b'C', "SELECT 0"),
        message(b'3', &[]),
        ready(b'I'),
    ]
    .concat();
    let both =
        [Outcome::Complete { tag: None }, Outcome::Complete { tag: Some("SELECT 2".into()) }];
    assert_eq!(play(begin, &[first.clone(), second.clone(), asked].concat()), both);
    let mut session = begin();
    session.receive_bytes(&[first.clone(), second.clone()].concat());
    assert!(session.next_event().is_none(), "the second one waits for the first one");
    session.receive_eof();
    let outcomes = script::outcomes(&mut session);
    assert!(matches!(outcomes.as_slice(), [Outcome::Failed(_), Outcome::Complete { .. }]));
    let mut session = begin();
    session.receive_bytes(&[first, second].concat());
    session.abandon();
    session.receive_eof();
    assert!(session.next_event().is_none());
}

/// A session that keeps nothing on the server, and remembers `SELECT n FROM t`.
fn unkept() -> (Session<TestSink>, std::sync::Arc<colonnade_session::Statement>) {
    let mut session = script::session_with_cache(0);
    session.receive_bytes(&script::welcome());
    script::outcomes(&mut session);
    session.prepare("SELECT n FROM t", &[]).expect("prepare");
    session.receive_bytes(&described(&[field("n", 23)]));
    script::outcomes(&mut session);
    session.data_to_send();
    let statement =
        session.cached_statement("SELECT n FROM t", &[], Duration::ZERO).expect("remembered");
    (session, statement)
}

#[test]
fn a_text_that_is_not_kept_travels_with_its_arguments() {
    let begin = || {
        let (mut session, statement) = unkept();
        let sink = TestSink::whole(&[("n", 23)]);
        session.query(statement, &EncodedParams::new(), 0, sink).expect("query");
        let sent = session.data_to_send();
        for (tag, count) in [(b'P', 1), (b'D', 1), (b'B', 1), (b'E', 1), (b'S', 1)] {
            assert!(sent.iter().filter(|byte| **byte == tag).count() >= count);
        }
        session
    };
    let described = |fields: &[Vec<u8>]| {
        [message(b'1', &[]), message(b't', &[0, 0]), script::row_description(fields)].concat()
    };
    let rows = [message(b'2', &[]), int_row(7), text(b'C', "SELECT 1"), ready(b'I')].concat();
    let expected =
        [Outcome::Batch(vec![Some(7)]), Outcome::Complete { tag: Some("SELECT 1".into()) }];
    let same = described(&[field("n", 23)]);
    assert_eq!(play(begin, &[same, rows.clone()].concat()), expected);
    let renamed = described(&[field("other", 23)]);
    assert_eq!(play(begin, &[renamed.clone(), rows.clone()].concat()), expected);
    let mut session = begin();
    session.receive_bytes(&[renamed, rows.clone()].concat());
    let now = session.cached_statement("SELECT n FROM t", &[], Duration::ZERO).expect("remembered");
    assert_eq!(&*now.columns[0].name, "other");
    // With an unknown type the rows are lost, and the text is described again next time.
    let mut session = begin();
    session.receive_bytes(&[described(&[field("n", 99_001)]), rows].concat());
    let outcomes = script::outcomes(&mut session);
    assert!(matches!(outcomes.as_slice(), [Outcome::Failed(text)] if text.contains("changed")));
    assert!(session.cached_statement("SELECT n FROM t", &[], Duration::ZERO).is_none());
    assert!(session.is_idle() && !session.is_closed());
}

#[test]
fn what_the_server_no_longer_takes_is_described_anew() {
    for (code, is_forgotten) in [("42703", true), ("08P01", true), ("22012", false)] {
        let (mut session, statement) = unkept();
        let sink = TestSink::whole(&[("n", 23)]);
        session.query(statement, &EncodedParams::new(), 0, sink).expect("query");
        session.receive_bytes(&[error("ERROR", code, "no"), ready(b'I')].concat());
        assert_eq!(
            session.cached_statement("SELECT n FROM t", &[], Duration::ZERO).is_none(),
            is_forgotten,
            "{code}"
        );
    }
}
