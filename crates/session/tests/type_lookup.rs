//! Type lookups in the catalogs, against a scripted server.

// Helpers stand outside of test functions; a panic in one fails the test all the same.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
// Each test program uses a part of the script.
#![allow(dead_code, reason = "shared with the other exchanges")]

mod script;

use std::sync::Arc;
use std::time::Duration;

use colonnade_columnar::{Catalog, Catalogs};
use colonnade_session::{CacheLimits, Event, Session, Statement};
use script::{Outcome, TestSink, error, field, message, play, ready, row, text};

const MOOD: u32 = 99_001;

fn opened(catalog: Catalog) -> Session<TestSink> {
    opened_with(CacheLimits::of_capacity(100), catalog)
}

fn opened_with(limits: CacheLimits, catalog: Catalog) -> Session<TestSink> {
    let mut session = script::session_with(limits, catalog);
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
fn a_type_is_looked_up_again_at_the_age_of_a_statement() {
    let at = |seconds: u64| Duration::from_secs(1_000 + seconds);
    let lifetime = Some(Duration::from_secs(300));
    let limits = CacheLimits { lifetime, ..CacheLimits::of_capacity(100) };
    let mut session = opened_with(limits, Catalog::default());
    let mut ask = |sql: &str, now, is_looked_up: bool| {
        assert!(session.cached_statement(sql, &[], now).is_none(), "{sql}");
        session.prepare(sql, &[]).expect("prepare");
        session.receive_bytes(&described());
        assert_eq!(session.is_idle(), !is_looked_up, "{sql}");
        if is_looked_up {
            session.receive_bytes(&looked_up());
        }
        assert_eq!(script::outcomes(&mut session).len(), 1);
        session.data_to_send();
        let mut is_kept = |now| session.cached_statement(sql, &[], now).is_some();
        [is_kept(now), is_kept(at(299)), is_kept(at(300))]
    };
    // The second is as old as the type that it uses; a new text meets the type's age, too.
    assert_eq!(ask("SELECT m, n FROM t", at(0), true), [true, true, false]);
    assert_eq!(ask("SELECT m, n FROM u", at(200), false), [true, true, false]);
    assert_eq!(ask("SELECT m, n FROM v", at(300), true), [true, true, true]);
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
    // An earlier lookup may have been interrupted between its Parse and its Close.
    assert!(closes(&asked, "colonnade_introspect") < parsed);
    let interrupted =
        [message(b'1', &[]), error("ERROR", "57014", "canceling statement"), ready(b'I')].concat();
    session.receive_bytes(&interrupted);
    assert_eq!(script::outcomes(&mut session).len(), 1);
    // The statement was prepared already, and has no user.
    assert!(closes(&session.data_to_send(), name).is_some());
}

#[test]
fn a_server_that_cannot_tell_who_it_is_shares_nothing() {
    let catalogs = Arc::new(Catalogs::default());
    let mut session = opened(Catalog::default());
    session.data_to_send();
    session.share_catalogs(Arc::clone(&catalogs)).expect("an idle session");
    session.prepare("SELECT m, n FROM t", &[]).expect("prepare");
    let sent = session.data_to_send();
    let question = b"pg_postmaster_start_time";
    assert!(sent.windows(question.len()).any(|part| part == question), "in the same flight");
    session.receive_bytes(&[error("ERROR", "42883", "no such function"), ready(b'I')].concat());
    session.receive_bytes(&described());
    session.receive_bytes(&looked_up());
    assert!(session.is_idle() && !session.is_closed());
    assert_eq!(script::outcomes(&mut session).len(), 1);
    assert!(session.cached_statement("SELECT m, n FROM t", &[], Duration::ZERO).is_some());
    assert!(catalogs.is_empty());
}
