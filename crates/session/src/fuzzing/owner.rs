//! The owner of a session: makes arbitrary requests and records the events it receives.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use colonnade_columnar::{Catalog, DecodeOptions, ResultColumn};
use colonnade_protocol::auth::{AuthPolicy, Authenticator, ChannelBinding};
use colonnade_protocol::frontend::{BindExecute, EncodedParams};
use colonnade_protocol::fuzzing::Input;
use colonnade_protocol::trace::trace_frontend;
use colonnade_protocol::{DataRows, Error as ProtocolError, Format, RemoteError};

use super::Cut;
use super::answers::Expected;
use crate::{Announcement, Startup, Statement};
use crate::{CacheLimits, ColumnSink, Error, Event, Portal, Session, Sink, SinkError};

/// Limit on the events taken from one answer; a session that reaches it never ends.
const EVENTS_MAX: usize = 100_000;

#[derive(Debug)]
struct Rows(ColumnSink);

impl Sink for Rows {
    type Batch = RecordBatch;

    fn formats(&self) -> Option<Vec<Format>> {
        Some(self.0.formats())
    }

    fn is_whole(&self) -> bool {
        self.0.is_whole()
    }

    fn renewed(&self, columns: &Arc<[ResultColumn]>) -> Result<Self, SinkError> {
        let renewed = self.0.renewed(columns);
        renewed.map(Self).map_err(|error| SinkError::Foreign(Box::new(error)))
    }

    fn rows(
        &mut self,
        rows: DataRows<'_>,
        batches: &mut VecDeque<RecordBatch>,
    ) -> Result<(), SinkError> {
        self.0.rows(rows, batches)
    }

    fn finish(&mut self, batches: &mut VecDeque<RecordBatch>) -> Result<(), SinkError> {
        self.0.finish(batches)
    }
}

/// The events an owner received, and the messages it sent.
#[derive(PartialEq, Debug)]
pub(super) struct Told {
    events: Vec<String>,
    batches: Vec<RecordBatch>,
    announcements: Vec<String>,
    parameters: Vec<(String, String)>,
    copied: Vec<u8>,
    /// The kinds of the messages only, because statement names contain random digits.
    sent: String,
}

pub(super) struct Owner {
    session: Session<Rows>,
    told: Told,
    statement: Option<Arc<Statement>>,
    portal: Option<Arc<Portal>>,
    expected: Expected,
    /// The number of exchanges whose end has not been delivered.
    open: usize,
}

impl Owner {
    pub(super) fn new(input: &mut Input<'_>) -> Self {
        let limits = CacheLimits::of_capacity(input.below(3));
        let mut session = Session::new(limits, Catalog::default());
        let authenticator = Authenticator::new(
            "ada",
            Some(b"secret"),
            ChannelBinding::NotUsed,
            AuthPolicy::default(),
        );
        let parameters = vec![("user".to_owned(), "ada".to_owned())];
        let begun = session.startup(Startup { parameters, authenticator });
        let told = Told {
            events: Vec::new(),
            batches: Vec::new(),
            announcements: Vec::new(),
            parameters: Vec::new(),
            copied: Vec::new(),
            sent: String::new(),
        };
        Self {
            session,
            told,
            statement: None,
            portal: None,
            expected: Expected(b"RSKZ"),
            open: begun.is_ok().into(),
        }
    }

    /// The answer that a server would give to the last request.
    pub(super) fn expects(&self) -> Expected {
        self.expected
    }

    /// Makes a request when idle; otherwise sometimes makes another one, or abandons.
    pub(super) fn act(&mut self, input: &mut Input<'_>) {
        let choice = input.below(32);
        if !self.session.is_idle() && choice < 24 {
            // Requests made while others are under way form a pipeline.
            return;
        }
        let columns = self.statement.as_ref().map_or_else(Arc::default, |it| it.columns.clone());
        let batch_rows = if input.flag() { usize::MAX } else { 2 };
        let sink = ColumnSink::batched(&columns, DecodeOptions::default(), batch_rows);
        let begun = match (choice % 16, sink.map(Rows), self.statement.clone()) {
            (0 | 1, ..) => self.ask(b"1tTZ", |session| session.prepare("SELECT 1", &[])),
            (2..7, Ok(sink), Some(statement)) => self
                .ask(b"2DDCZ", |session| session.query(statement, &EncodedParams::new(), 0, sink)),
            (7, Ok(sink), Some(statement)) => self.ask(b"2DC2DCZ", |session| {
                session.many(statement, sink)?;
                let mut messages = Vec::new();
                BindExecute::new("s", &[], 0)?.push(&mut messages, &EncodedParams::new())?;
                session.send_many(&messages);
                session.end_many();
                Ok(())
            }),
            (8, Ok(sink), Some(statement)) => {
                let mut made = None;
                let begun = self.ask(b"2DsZ", |session| {
                    made = Some(session.open(statement, &EncodedParams::new(), 2, sink)?);
                    Ok(())
                });
                self.portal = made;
                begun
            }
            (9, Ok(sink), _) if self.portal.is_some() => {
                let portal = self.portal.clone();
                self.ask(b"DCZ", |session| match portal {
                    Some(portal) => session.more_rows(portal, 2, sink),
                    None => Err(Error::Closed),
                })
            }
            (10 | 11, ..) => self.ask(b"HddcCZ", |session| session.copy_out("COPY")),
            (12, ..) => self.ask(b"G", |session| session.copy_in("COPY")),
            (13, ..) => self.ask(b"CTDCZ", |session| session.script("SELECT 1")),
            (14, ..) => {
                let oids = [50_000, 50_001];
                let mut has_begun = false;
                let begun = self.ask(b"31i2iC3Z", |session| {
                    has_begun = session.introspect(&oids)?;
                    Ok(())
                });
                begun && has_begun
            }
            _ if choice == 31 => {
                self.session.abandon();
                self.open = 0;
                false
            }
            _ => {
                // Either starts ahead of the next exchange or does nothing; it has no end event.
                let _ = self.session.script_ahead("RESET ALL");
                self.expected = Expected(b"CZ");
                false
            }
        };
        self.open += usize::from(begun);
    }

    fn ask(
        &mut self,
        expected: &'static [u8],
        begin: impl FnOnce(&mut Session<Rows>) -> Result<(), Error>,
    ) -> bool {
        self.expected = Expected(expected);
        begin(&mut self.session).is_ok()
    }

    /// Receives the server's bytes, then takes the events.
    pub(super) fn hear(&mut self, bytes: &[u8], cut: Cut) {
        let piece = match cut {
            Cut::Whole => bytes.len(),
            Cut::Bytes => 1,
            Cut::Pieces(len) => len,
        };
        for piece in bytes.chunks(piece.max(1)) {
            self.session.receive_bytes(piece);
        }
        self.take_events();
        self.told.sent.push_str(&kinds(&self.session.data_to_send()));
    }

    fn take_events(&mut self) {
        while let Some(event) = self.session.next_event() {
            assert!(self.told.events.len() < EVENTS_MAX, "events without end");
            let said = match event {
                Event::GssToken(token) => {
                    let _ = self.session.gss_token(b"token");
                    format!("token of {}", token.len())
                }
                Event::Batch(batch) => {
                    self.told.batches.push(batch);
                    "batch".to_owned()
                }
                Event::CopyIn => {
                    let taken = self.session.copy_data(b"1\n");
                    assert!(taken.is_ok());
                    self.session.copy_done();
                    self.expected = Expected(b"CZ");
                    "copy in".to_owned()
                }
                Event::CopyData(data) => {
                    // Payloads may be split anywhere.
                    self.told.copied.extend(data);
                    continue;
                }
                Event::Complete(done) => {
                    self.open = self.open.checked_sub(1).unwrap_or_else(|| lost("a second end"));
                    self.statement = done.statement.or(self.statement.take());
                    format!("complete {:?} {}", done.tag, done.has_more)
                }
                Event::Failed(error) => {
                    self.open = self.open.checked_sub(1).unwrap_or_else(|| lost("a second end"));
                    format!("failed {}", reason(error))
                }
            };
            self.told.events.push(said);
        }
        while let Some(announcement) = self.session.next_announcement() {
            self.told.announcements.push(match announcement {
                Announcement::Notice(fields) => format!("{:?}", fields.message()),
                Announcement::Notification { channel, payload, .. } => channel + &payload,
            });
        }
    }

    /// The connection is lost, which ends every exchange under way.
    pub(super) fn end(mut self) -> Told {
        self.session.receive_eof();
        self.take_events();
        assert!(self.session.is_closed());
        assert_eq!(self.open, 0, "an exchange without an end: {:?}", self.told.events);
        let parameters = self.session.parameters();
        self.told.parameters =
            parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        self.told
    }
}

#[allow(clippy::panic, reason = "a fuzzer looks for panics")]
fn lost(what: &str) -> ! {
    panic!("{what}")
}

/// The first word of each message, such as `Query`.
fn kinds(sent: &[u8]) -> String {
    let lines = trace_frontend(sent);
    assert!(!lines.contains("F ("), "{lines}");
    lines.lines().flat_map(|line| line.split(' ').nth(1)).collect::<Vec<_>>().join(" ")
}

/// An error without the row's position in its run, which depends on how the bytes were split.
fn reason(error: Error) -> String {
    match error {
        Error::Protocol(ProtocolError::Remote(RemoteError::Row { fault, .. })) => fault.to_string(),
        other => other.to_string(),
    }
}
