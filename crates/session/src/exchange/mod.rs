//! The exchanges. Each defines the messages it sends and how it handles the answers.
//!
//! Every exchange ends with the server's ReadyForQuery. The session itself handles that, errors,
//! and messages that may come at any time (notices, notifications, parameters). An exchange gets
//! the other messages, and only until something fails. It knows their order and refuses any other,
//! so that no answer is taken for another exchange's (`answer`).

mod again;
mod answer;
mod copy_in;
mod copy_out;
mod identify;
mod introspect;
mod limited;
mod many;
mod portal;
mod postponed_rows;
mod prepare;
mod query;
mod script;
mod startup;
mod unkept;

use std::collections::VecDeque;
use std::sync::Arc;

use colonnade_protocol::DataRows;
use colonnade_protocol::backend::Message;

use crate::knowledge::Told;
use crate::receive_buffer::RECEIVE_CAPACITY_BYTES;
use crate::session::Link;
use crate::{Completion, Error, Event, Sink, Statement};

pub(crate) use again::Again;
pub(crate) use copy_in::CopyIn;
pub(crate) use copy_out::CopyOut;
pub(crate) use identify::Identify;
pub(crate) use introspect::{Introspect, Then};
pub(crate) use limited::{Limited, limit};
pub(crate) use many::{Many, Series};
pub(crate) use portal::PortalRows;
pub use postponed_rows::can_be_another;
pub(crate) use prepare::{Keeper, Prepare};
pub(crate) use query::Query;
pub(crate) use script::Script;
pub(crate) use startup::StartupExchange;

/// The state an exchange can use while it handles a message.
pub(crate) struct Context<'a, S: Sink> {
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) events: &'a mut VecDeque<Event<S>>,
    pub(crate) link: &'a mut Link,
    /// The caller has abandoned the exchange: messages only its caller needed are not delivered.
    pub(crate) is_abandoned: bool,
}

/// The next step after an exchange that ended well.
pub(crate) enum Step<S: Sink> {
    /// None: this is the outcome for the owner.
    Done(Completion<S>),
    /// Another exchange, already sent, takes its place.
    Then(Box<dyn Exchange<S>>),
}

pub(crate) trait Exchange<S: Sink>: Send {
    /// Handles a message that the session does not handle itself.
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error>;

    /// Handles a run of rows.
    fn rows(&mut self, _rows: DataRows<'_>, _context: &mut Context<'_, S>) -> Result<(), Error> {
        Err(unexpected("DataRow"))
    }

    /// The desired size of one read of its answer, as [`Sink::read_bytes`].
    fn read_bytes(&self) -> usize {
        RECEIVE_CAPACITY_BYTES
    }

    /// Handles a run of CopyData messages.
    fn copy_data(
        &mut self,
        _run: DataRows<'_>,
        _context: &mut Context<'_, S>,
    ) -> Result<(), Error> {
        Err(unexpected("CopyData"))
    }

    /// Whether a message of this name is useless once the exchange is abandoned. The end of a copy
    /// is skipped together with its data, against which it would be checked.
    fn is_in_vain(&self, message: &str) -> bool {
        matches!(message, "DataRow" | "CopyData" | "CopyDone")
    }

    /// Whether the exchange includes the session's own ROLLBACK, after which the server may warn
    /// that there is no transaction in progress.
    fn is_undoing(&self) -> bool {
        false
    }

    /// Whether a failure of the exchange, sent ahead, is of no consequence.
    fn is_optional(&self) -> bool {
        false
    }

    /// Called at ReadyForQuery when nothing failed.
    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error>;

    /// Called at ReadyForQuery when the exchange failed. Returns whether its statement was refused
    /// before it ran, because its description is out of date.
    fn failed(&mut self, _error: &Error, _context: &mut Context<'_, S>) -> bool {
        false
    }

    /// Its description of the running statement.
    fn told(&self) -> Told<'_> {
        Told::OWN
    }
}

/// How the server ended a result.
#[derive(Default)]
pub(crate) struct End {
    /// The command tag; none for a suspended portal.
    pub(crate) tag: Option<String>,
    /// The portal is suspended: it may have more rows.
    pub(crate) has_more: bool,
}

impl From<Option<String>> for End {
    fn from(tag: Option<String>) -> Self {
        Self { tag, has_more: false }
    }
}

/// Ends a result: the sink finishes its last batch and goes back to its owner, together with the
/// statement if its columns were refined.
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

/// The error for a message of a known kind that is not allowed at this point.
pub(crate) fn unexpected(message: &'static str) -> Error {
    Error::OutOfTurn { message }
}
