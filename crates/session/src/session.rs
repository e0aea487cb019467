//! The session: bytes in, events out, and the queue of exchanges between them.

mod ahead;
mod copy;
mod ending;
mod many;
mod parameters;
mod statements;
mod types;

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;

use colonnade_columnar::Catalog;
use colonnade_protocol::auth::Authenticator;
use colonnade_protocol::backend::{ErrorFields, Message, TransactionStatus};
use colonnade_protocol::frame::{self, Frame};
use colonnade_protocol::frontend;

use self::parameters::Parameters;
use crate::exchange::{Context, Exchange, Script, Series, StartupExchange, Step, unexpected};
use crate::knowledge::Knowledge;
use crate::lease::Returned;
use crate::receive_buffer::{RECEIVE_CAPACITY_BYTES, ReceiveBuffer};
use crate::{Announcement, CacheLimits, CancelKey, Error, Event, ReceiveWindow, Sink};

/// With this many undelivered events, the session asks for no more bytes: the full socket holds the
/// peer back, and a streaming query holds a few batches at most.
const EVENTS_MAX: usize = 2;

/// The SQLSTATE of the server's warning when a ROLLBACK finds no transaction.
const NO_ACTIVE_SQL_TRANSACTION: &str = "25P01";

/// Limit on announcements that nobody takes; beyond it the oldest are dropped.
const ANNOUNCEMENTS_MAX: usize = 10_000;

/// The contents of a session's start-up.
#[derive(Debug)]
pub struct Startup {
    /// `user`, `database` and further run-time parameters.
    pub parameters: Vec<(String, String)>,
    /// Answers the server's demands.
    pub authenticator: Authenticator,
}

/// Session state that outlives an exchange.
pub(crate) struct Link {
    pub(crate) cancel_key: Option<CancelKey>,
    /// Whether the server has accepted our authentication.
    pub(crate) authenticated: bool,
    /// The knowledge about statements and types.
    pub(crate) known: Knowledge,
    /// Statements and portals that the owner has dropped.
    pub(crate) returned: Returned,
    /// The server is in copy-in mode: it accepts data.
    pub(crate) copying: bool,
    /// The last exchange accepts more messages from its owner: its Sync was not sent yet.
    pub(crate) series_open: bool,
    /// The counts of the last series.
    series: Arc<Series>,
    /// How long the server may take for each query from now on.
    query_limit: Option<NonZeroU32>,
    parameters: Parameters,
    transaction_status: TransactionStatus,
    /// Whether a request was made since start-up or since the last reset.
    touched: bool,
    /// A transaction was begun ahead of the next exchange, and the server has not confirmed it yet.
    begun_ahead: bool,
    /// The total number of requests.
    exchanges: u64,
    /// Whether a run-time parameter has changed since start-up or since the last reset.
    parameters_changed: bool,
    /// Bytes of answers to commands sent ahead, since the owner last asked.
    ahead_bytes: usize,
    closed: bool,
    /// Whether this side closed the connection during an exchange, or between two of one call.
    cut_off: bool,
    /// The server's message when it ended the session.
    farewell: Option<Box<ErrorFields>>,
}

impl Link {
    /// A run-time parameter as the server last reported it.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name)
    }
}

struct Running<S: Sink> {
    /// Numbers the exchanges in the order in which they began; events are delivered in that order.
    number: u64,
    exchange: Box<dyn Exchange<S>>,
    /// The first failure; later messages are read and discarded.
    failure: Option<Error>,
    /// The server has reported the exchange's error; it sends no more of the answer.
    has_error: bool,
    /// The caller has abandoned the exchange.
    abandoned: bool,
    /// The exchange was sent ahead and never had a caller: success makes no event, failure ends the
    /// session.
    ahead: bool,
}

impl<S: Sink> Running<S> {
    /// The desired size of one read of its answer.
    fn read_bytes(&self) -> usize {
        if self.abandoned { RECEIVE_CAPACITY_BYTES } else { self.exchange.read_bytes() }
    }
}

/// One connection's end of a session.
///
#[doc = include_str!("session/states.md")]
pub struct Session<S: Sink> {
    buffer: ReceiveBuffer,
    /// See [`Session::limit_reads`].
    read_bytes_max: usize,
    talk: Talk<S>,
}

/// Everything in a session except its receive buffer, which is borrowed while it is parsed.
struct Talk<S: Sink> {
    link: Link,
    out: Vec<u8>,
    events: VecDeque<Event<S>>,
    announcements: VecDeque<Announcement>,
    /// The front exchange gets the messages; the others were sent ahead of their answers.
    running: VecDeque<Running<S>>,
    begun_count: u64,
    /// Events of exchanges that began after one that is still under way because it had to ask
    /// again.
    held: BTreeMap<u64, VecDeque<Event<S>>>,
}

impl<S: Sink> Session<S> {
    /// A session that keeps prepared statements within `limits`, and shares its knowledge of the
    /// database's types with every session that has the same catalog.
    pub fn new(limits: CacheLimits, catalog: Catalog) -> Self {
        let link = Link {
            cancel_key: None,
            authenticated: false,
            known: Knowledge::new(limits, catalog),
            returned: Returned::default(),
            copying: false,
            series_open: false,
            series: Arc::default(),
            query_limit: None,
            parameters: Parameters::default(),
            transaction_status: TransactionStatus::Idle,
            touched: false,
            begun_ahead: false,
            exchanges: 0,
            parameters_changed: false,
            ahead_bytes: 0,
            closed: false,
            cut_off: false,
            farewell: None,
        };
        let talk = Talk {
            link,
            out: Vec::new(),
            events: VecDeque::new(),
            announcements: VecDeque::new(),
            running: VecDeque::new(),
            begun_count: 0,
            held: BTreeMap::new(),
        };
        Self { buffer: ReceiveBuffer::new(), read_bytes_max: RECEIVE_CAPACITY_BYTES, talk }
    }

    /// The window for the next read of the socket.
    pub fn receive_buffer(&mut self) -> ReceiveWindow {
        let front = self.talk.running.front();
        let wanted = front.map_or(RECEIVE_CAPACITY_BYTES, Running::read_bytes);
        self.buffer.window(wanted.min(self.read_bytes_max))
    }

    /// Limits the reads of an owner that does more in a turn than to read and decode.
    pub fn limit_reads(&mut self, bytes: usize) {
        self.read_bytes_max = bytes.max(1);
    }

    /// Records that `len` bytes were read into the window; parses and decodes all complete frames.
    pub fn receive_data(&mut self, len: usize) {
        self.buffer.filled(len);
        if self.is_closed() {
            // A read was in progress while this side closed the connection.
            return;
        }
        if let Err(error) = self.parse() {
            self.talk.close(error);
        }
    }

    /// As [`receive_data`](Self::receive_data), for bytes the owner already holds; any length.
    pub fn receive_bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_closed() {
            let taken = self.buffer.copy_in(bytes);
            bytes = bytes.get(taken..).unwrap_or_default();
            self.receive_data(taken);
        }
    }

    /// Records that the peer has closed its side.
    pub fn receive_eof(&mut self) {
        if !self.is_closed() {
            self.talk.close(Error::ConnectionLost);
        }
    }

    /// Closes the connection from this side, even if an exchange is under way.
    pub fn cut_off(&mut self) {
        if !self.is_closed() {
            self.talk.link.cut_off = true;
            self.talk.close(Error::CutOff);
        }
    }

    fn parse(&mut self) -> Result<(), Error> {
        while let Some((frame, len)) = frame::next_frame(self.buffer.unread())? {
            self.talk.note_ahead(len);
            self.talk.take_frame(frame)?;
            self.buffer.consume(len);
            if self.talk.link.closed {
                // Bytes after the end have no meaning, however many one read brought.
                return Ok(());
            }
        }
        let claimed = frame::claimed_len(self.buffer.unread())?;
        self.buffer.make_room(claimed);
        Ok(())
    }

    /// The next event of the exchanges, oldest first.
    pub fn next_event(&mut self) -> Option<Event<S>> {
        self.talk.events.pop_front()
    }

    /// The next message that the server sent out of turn, oldest first.
    pub fn next_announcement(&mut self) -> Option<Announcement> {
        self.talk.announcements.pop_front()
    }

    /// Takes the bytes to write to the socket.
    pub fn data_to_send(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.talk.out)
    }

    /// Whether to go on reading; false holds the server back.
    pub fn wants_read(&self) -> bool {
        self.talk.events.len() < EVENTS_MAX
    }

    /// Whether no exchange is under way except those sent ahead of the next one.
    pub fn is_idle(&self) -> bool {
        self.talk.running.iter().all(|running| running.ahead)
    }

    /// Whether the session is open, no exchange is under way, and nothing waits to be sent or
    /// delivered except events.
    pub fn is_quiet(&self) -> bool {
        let talk = &self.talk;
        !talk.link.closed
            && talk.running.is_empty()
            && talk.out.is_empty()
            && talk.announcements.is_empty()
            && self.wants_read()
    }

    /// Whether the session has ended, for whatever reason.
    pub fn is_closed(&self) -> bool {
        self.talk.link.closed
    }

    /// The server's message when it ended the session, during an exchange or between two.
    pub fn farewell(&self) -> Option<&ErrorFields> {
        self.talk.link.farewell.as_deref()
    }

    /// Whether the server has accepted our authentication, and goes on to start the session.
    pub fn is_authenticated(&self) -> bool {
        self.talk.link.authenticated
    }

    /// The transaction status of the last ReadyForQuery, or the status expected once a transaction
    /// that was begun ahead is confirmed.
    pub fn transaction_status(&self) -> TransactionStatus {
        if self.talk.link.begun_ahead {
            return TransactionStatus::InTransaction;
        }
        self.talk.link.transaction_status
    }

    /// A run-time parameter as the server last reported it.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.talk.link.parameter(name)
    }

    /// All reported run-time parameters.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.talk.link.parameters.iter()
    }

    /// The key with which a second connection can cancel this session's query.
    pub fn cancel_key(&self) -> Option<&CancelKey> {
        self.talk.link.cancel_key.as_ref()
    }

    /// The number of prepared statements kept.
    pub fn cached_statements(&self) -> usize {
        self.talk.link.known.statements.len()
    }

    /// Opens the session: its first exchange.
    ///
    /// # Errors
    /// A parameter that cannot be sent.
    pub fn startup(&mut self, startup: Startup) -> Result<(), Error> {
        let parameters = startup.parameters.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        frontend::startup(&mut self.talk.out, parameters)?;
        self.talk.queue(StartupExchange::new(startup.authenticator), false)
    }

    /// Answers [`Event::GssToken`] with the client's token.
    ///
    /// # Errors
    /// A closed session, or a token longer than one message can be.
    pub fn gss_token(&mut self, token: &[u8]) -> Result<(), Error> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        Ok(frontend::gss_response(&mut self.talk.out, token)?)
    }

    /// Begins to run a script by the simple protocol; its rows are discarded.
    ///
    /// # Errors
    /// A closed session, or a text that cannot be sent.
    pub fn script(&mut self, sql: &str) -> Result<(), Error> {
        self.talk.close_returned();
        let exchange = Script::start(sql, &mut self.talk.out)?;
        self.talk.begin(exchange)
    }

    /// Abandons the exchanges under way: the rest of their answers is read and discarded, and the
    /// session is idle when the server is ready again. Undelivered events of earlier exchanges are
    /// discarded too.
    pub fn abandon(&mut self) {
        self.talk.events.clear();
        self.talk.held.clear();
        for running in &mut self.talk.running {
            running.abandoned = true;
        }
        Talk::<S>::fail_copy(&mut self.talk.link, &mut self.talk.out);
        self.talk.link.give_up_series(&mut self.talk.out);
    }

    /// Sends Terminate: no further requests are possible.
    pub fn terminate(&mut self) {
        if !self.is_closed() {
            frontend::terminate(&mut self.talk.out);
            self.talk.close(Error::Closed);
        }
    }
}

impl<S: Sink> Talk<S> {
    fn begin(&mut self, exchange: impl Exchange<S> + 'static) -> Result<(), Error> {
        self.queue(exchange, false)?;
        self.link.touched = true;
        self.link.exchanges += 1;
        Ok(())
    }

    fn queue(&mut self, exchange: impl Exchange<S> + 'static, ahead: bool) -> Result<(), Error> {
        if self.link.closed {
            return Err(self.link.refusal());
        }
        debug_assert!(!self.link.series_open, "the owner ends a series first");
        self.begun_count += 1;
        let (number, exchange) = (self.begun_count, Box::new(exchange));
        self.running.push_back(Running {
            number,
            exchange,
            failure: None,
            has_error: false,
            abandoned: false,
            ahead,
        });
        Ok(())
    }

    /// Closes statements and portals that the owner has dropped, before an exchange begins.
    fn close_returned(&mut self) {
        self.link.returned.close(&mut self.out);
    }

    /// Ends the copy of an abandoned exchange: otherwise the server would wait for its data, and
    /// meanwhile take no cancel request.
    fn fail_copy(link: &mut Link, out: &mut Vec<u8>) {
        if std::mem::take(&mut link.copying) {
            // A constant text without NUL always encodes.
            let _ = frontend::copy_fail(out, "COPY was cancelled by the client");
        }
    }

    /// Text is read and written as UTF-8; a session switched to another encoding would turn correct
    /// bytes into wrong text.
    fn check_encoding(&self) -> Result<(), Error> {
        match self.link.parameters.get("client_encoding") {
            None | Some("UTF8" | "UNICODE") => Ok(()),
            Some(name) => Err(Error::ClientEncoding(name.to_owned())),
        }
    }

    fn take_frame(&mut self, frame: Frame<'_>) -> Result<(), Error> {
        match frame {
            Frame::DataRows(rows) => {
                self.with_exchange("DataRow", |exchange, context| exchange.rows(rows, context))
            }
            Frame::CopyData(run) => {
                self.with_exchange("CopyData", |exchange, context| exchange.copy_data(run, context))
            }
            Frame::Message { tag, body } => self.take_message(Message::parse(tag, body)?),
        }
    }

    fn take_message(&mut self, message: Message<'_>) -> Result<(), Error> {
        match message {
            Message::NoticeResponse(fields) => {
                let is_undoing =
                    self.running.front().is_some_and(|running| running.exchange.is_undoing());
                if is_undoing && fields.code() == Some(NO_ACTIVE_SQL_TRANSACTION) {
                    return Ok(());
                }
                self.announce(Announcement::Notice(Box::new(fields)));
                Ok(())
            }
            Message::NotificationResponse { process_id, channel, payload } => {
                self.announce(Announcement::Notification {
                    process_id,
                    channel: channel.to_owned(),
                    payload: payload.to_owned(),
                });
                Ok(())
            }
            Message::ParameterStatus { name, value } => {
                let set = self.link.parameters.set(name, value);
                set.map_err(|error| Error::Protocol(error.into()))?;
                self.note_parameter(name, value);
                Ok(())
            }
            // Statements that left the cache are closed during some exchange.
            Message::CloseComplete if !self.running.is_empty() => Ok(()),
            Message::ErrorResponse(fields) => self.take_error(fields),
            Message::ReadyForQuery(status) => self.take_ready(status),
            other => {
                if let (Message::CommandComplete(tag), Some(front)) = (&other, self.running.front())
                {
                    self.link.known.note_tag(tag, || front.exchange.told());
                }
                let name = other.name();
                self.with_exchange(name, |exchange, context| exchange.message(other, context))
            }
        }
    }

    /// Passes a message to the front exchange, unless the exchange failed before.
    fn with_exchange(
        &mut self,
        name: &'static str,
        handle: impl FnOnce(&mut dyn Exchange<S>, &mut Context<'_, S>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Self { link, out, events, running, held, .. } = self;
        let is_overtaking = is_overtaking(running);
        let Some(front) = running.front_mut() else { return Err(unexpected(name)) };
        if front.has_error {
            // Either the error belonged to another exchange, or this message does.
            front.failure = None;
            return Err(unexpected(name));
        }
        if front.failure.is_some() {
            return Ok(());
        }
        if front.abandoned && front.exchange.is_in_vain(name) {
            return Ok(());
        }
        let events_before = events.len();
        let is_abandoned = front.abandoned;
        let mut context = Context { out, events, link, is_abandoned };
        let outcome = handle(front.exchange.as_mut(), &mut context);
        if is_overtaking {
            held.entry(front.number).or_default().extend(events.drain(events_before..));
        }
        if front.abandoned {
            events.clear();
            // The server asks for data only now, and no caller is left to send it.
            Self::fail_copy(link, out);
        }
        match outcome {
            Err(error) if error.ends_session() => Err(error),
            Err(error) => {
                front.failure = Some(error);
                if running.len() == 1 {
                    // The caller wants nothing more of the series.
                    link.give_up_series(out);
                }
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn take_ready(&mut self, status: TransactionStatus) -> Result<(), Error> {
        self.link.transaction_status = status;
        self.link.copying = false;
        let is_overtaking = is_overtaking(&self.running);
        let Some(mut done) = self.running.pop_front() else {
            return Err(unexpected("ReadyForQuery"));
        };
        let Self { link, out, events, running, .. } = self;
        let events_before = events.len();
        let is_abandoned = done.abandoned;
        let is_optional = done.exchange.is_optional();
        link.known.note_ready(status, done.failure.is_some());
        let mut context = Context { out, events, link, is_abandoned };
        let event = match done.failure {
            Some(error) if done.exchange.failed(&error, &mut context) => {
                Event::Failed(Error::Outdated(Box::new(error)))
            }
            Some(error) => Event::Failed(error),
            None => match done.exchange.complete(&mut context) {
                Ok(Step::Then(next)) => {
                    // Goes behind all exchanges already sent: the server answers in that order.
                    running.push_back(Running { exchange: next, failure: None, ..done });
                    return Ok(());
                }
                Ok(Step::Done(completion)) => {
                    if matches!(completion.tag.as_deref(), Some("DISCARD ALL" | "DEALLOCATE ALL")) {
                        self.link.known.statements.clear();
                        if completion.tag.as_deref() == Some("DISCARD ALL") {
                            self.link.known.path.discard();
                        }
                    }
                    Event::Complete(completion)
                }
                Err(error) => Event::Failed(error),
            },
        };
        if done.ahead {
            if !is_optional {
                self.link.begun_ahead = false;
                self.ended_ahead(event);
            }
            return Ok(());
        }
        let ends = matches!(&event, Event::Failed(error) if error.ends_session());
        if done.abandoned {
            self.events.clear();
        } else {
            self.events.push_back(event);
        }
        if is_overtaking {
            let own = self.events.drain(events_before.min(self.events.len())..);
            self.held.entry(done.number).or_default().extend(own);
        } else {
            self.release_held();
        }
        if ends {
            // The exchange has its reason; the ones after it never run.
            self.close(Error::Closed);
        }
        Ok(())
    }

    /// Delivers the events held back by an exchange before them.
    fn release_held(&mut self) {
        let first_running = self.running.iter().map(|running| running.number).min();
        while let Some(entry) = self.held.first_entry() {
            if first_running.is_some_and(|number| number < *entry.key()) {
                break;
            }
            self.events.extend(entry.remove());
        }
    }

    fn announce(&mut self, announcement: Announcement) {
        if self.announcements.len() >= ANNOUNCEMENTS_MAX {
            self.announcements.pop_front();
        }
        self.announcements.push_back(announcement);
    }
}

/// Whether an exchange that began before the front one is still under way.
fn is_overtaking<S: Sink>(running: &VecDeque<Running<S>>) -> bool {
    let mut numbers = running.iter().map(|running| running.number);
    numbers.next().is_some_and(|front| numbers.any(|number| number < front))
}
