//! The exchanges: each says what it sends and what it does with the answers.
//!
//! Every exchange ends with the server's ReadyForQuery, which the session itself sees to, as it
//! does to errors and to what may come at any time (notices, notifications, parameters). An
//! exchange gets the other messages, and only while nothing has failed; it knows their order and
//! refuses what is out of it, so that no answer is taken for another one's (`answer`).

mod answer;
mod copy_in;
mod copy_out;
mod held_rows;
mod introspect;
mod many;
mod portal;
mod prepare;
mod query;
mod script;
mod startup;
mod unkept;

use std::collections::VecDeque;
use std::sync::Arc;

use colonnade_protocol::DataRows;
use colonnade_protocol::backend::Message;

use crate::receive_buffer::RECEIVE_CAPACITY_BYTES;
use crate::session::Link;
use crate::{Completion, Error, Event, Sink, Statement};

pub(crate) use copy_in::CopyIn;
pub(crate) use copy_out::CopyOut;
pub use held_rows::can_be_another;
pub(crate) use introspect::{Introspect, Then};
pub(crate) use many::{Many, Series};
pub(crate) use portal::PortalRows;
pub(crate) use prepare::{Keeper, Prepare};
pub(crate) use query::Query;
pub(crate) use script::Script;
pub(crate) use startup::StartupExchange;

/// What an exchange can reach while it handles a message.
pub(crate) struct Context<'a, S: Sink> {
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) events: &'a mut VecDeque<Event<S>>,
    pub(crate) link: &'a mut Link,
    /// Nobody waits for the exchange any more: what is in vain of it does not even get here.
    pub(crate) is_abandoned: bool,
}

/// What follows an exchange that ended well.
pub(crate) enum Step<S: Sink> {
    /// Nothing: the owner has what was asked for.
    Done(Completion<S>),
    /// Another exchange, which was sent, takes its place.
    Then(Box<dyn Exchange<S>>),
}

pub(crate) trait Exchange<S: Sink>: Send {
    /// A message that only this exchange can expect.
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error>;

    /// A run of rows.
    fn rows(&mut self, _rows: DataRows<'_>, _context: &mut Context<'_, S>) -> Result<(), Error> {
        Err(unexpected("DataRow"))
    }

    /// How much one read is to bring of its answer, as [`Sink::read_bytes`].
    fn read_bytes(&self) -> usize {
        RECEIVE_CAPACITY_BYTES
    }

    /// A run of CopyData messages.
    fn copy_data(
        &mut self,
        _run: DataRows<'_>,
        _context: &mut Context<'_, S>,
    ) -> Result<(), Error> {
        Err(unexpected("CopyData"))
    }

    /// Whether a message of this name is of no use once nobody waits for the exchange. The end of a
    /// copy goes with its data, which it is checked against.
    fn is_in_vain(&self, message: &str) -> bool {
        matches!(message, "DataRow" | "CopyData" | "CopyDone")
    }

    /// Whether a ROLLBACK of the session's own is part of it, behind which the server may warn that
    /// nobody began a transaction.
    fn is_undoing(&self) -> bool {
        false
    }

    /// The server is ready again and nothing failed.
    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error>;

    /// The server is ready again, but the exchange failed.
    fn failed(&mut self, _error: &Error, _context: &mut Context<'_, S>) {}
}

/// How a result ended on the server's side.
#[derive(Default)]
pub(crate) struct End {
    /// The command tag; none where the rows did not end.
    pub(crate) tag: Option<String>,
    /// The portal is suspended: it may have more rows.
    pub(crate) has_more: bool,
}

impl From<Option<String>> for End {
    fn from(tag: Option<String>) -> Self {
        Self { tag, has_more: false }
    }
}

/// Ends a result: the sink hands over what it still has, and goes back to its owner, with the
/// statement where more is known of it than before.
pub(crate) fn hand_back<S: Sink>(
    statement: Option<Arc<Statement>>,
    mut sink: S,
    end: End,
    context: &mut Context<'_, S>,
) -> Result<Step<S>, Error> {
    let mut batches = VecDeque::new();
    sink.finish(&mut batches)?;
    context.events.extend(batches.into_iter().map(Event::Batch));
    let End { tag, has_more } = end;
    Ok(Step::Done(Completion { tag, statement, sink: Some(sink), has_more }))
}

/// A message of a known kind that has no business at this point of the talk.
pub(crate) fn unexpected(message: &'static str) -> Error {
    Error::OutOfTurn { message }
}
