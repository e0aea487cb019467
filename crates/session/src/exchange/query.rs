//! Bind and Execute: the rows of a prepared statement go to a sink.

use std::collections::VecDeque;
use std::sync::Arc;

use colonnade_protocol::DataRows;
use colonnade_protocol::backend::Message;
use colonnade_protocol::frontend::{self, EncodedParams};

use super::answer::{Answer, executed};
use super::held_rows::{HeldRows, Replay};
use super::{Context, Exchange, Step, hand_back, unkept};
use crate::{Error, Event, Sink, Statement};

pub(crate) struct Query<S: Sink> {
    statement: Arc<Statement>,
    sink: S,
    held: HeldRows,
    answer: Answer,
    tag: Option<String>,
}

impl<S: Sink> Query<S> {
    /// `row_limit` 0 asks for every row.
    pub(crate) fn start(
        statement: Arc<Statement>,
        parameters: &EncodedParams,
        row_limit: i32,
        sink: S,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        let formats = sink.formats().unwrap_or_else(|| statement.formats());
        let start = out.len();
        let name = unkept::bring(&statement, out)?;
        if let Err(error) = frontend::bind(out, "", name, parameters, &formats) {
            out.truncate(start);
            return Err(error.into());
        }
        frontend::execute(out, "", row_limit)?;
        frontend::sync(out);
        let held = HeldRows::of(&statement.columns);
        let answer = Answer::new(executed(statement.server_name().is_some()), row_limit);
        Ok(Self { statement, sink, held, answer, tag: None })
    }
}

impl<S: Sink> Exchange<S> for Query<S> {
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        match message {
            Message::CopyInResponse(_) => {
                frontend::copy_fail(context.out, "COPY FROM STDIN was run as a query")?;
                // The Sync that was sent already counts for nothing while the server copies.
                frontend::sync(context.out);
                return Err(Error::UnexpectedCopy);
            }
            Message::CopyOutResponse(_) => return Err(Error::UnexpectedCopy),
            _ => self.answer.take(&message)?,
        }
        match message {
            Message::NoData | Message::RowDescription(_) => {
                unkept::follow(message, &mut self.statement, &mut self.sink, context)?;
                self.held = HeldRows::of(&self.statement.columns);
            }
            Message::CommandComplete(_) | Message::PortalSuspended => {
                if !self.statement.columns.is_empty() && !context.is_abandoned {
                    self.answer.check_rows(&message)?;
                }
                if let Message::CommandComplete(tag) = message {
                    self.tag = Some(tag.to_owned());
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn rows(&mut self, rows: DataRows<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        self.answer.take_rows(rows.row_count())?;
        let mut batches = VecDeque::new();
        let outcome = self.held.take(&mut self.sink, rows, &mut batches);
        context.events.extend(batches.into_iter().map(Event::Batch));
        Ok(outcome?)
    }

    fn read_bytes(&self) -> usize {
        self.sink.read_bytes()
    }

    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        self.answer.check_whole()?;
        if let HeldRows::All { bytes, error } = self.held {
            let replay = Replay::new(self.statement, self.sink, self.tag.into(), bytes, error);
            return replay.look_up(context);
        }
        hand_back(None, self.sink, self.tag.into(), context)
    }

    fn failed(&mut self, error: &Error, context: &mut Context<'_, S>) {
        forget_stale(&self.statement, error, context);
    }
}

/// Forgets what an error has shown to be out of date, so that the next use of the text prepares it
/// anew: the statement, and for all who share them the types that it is made of.
pub(crate) fn forget_stale<S: Sink>(
    statement: &Statement,
    error: &Error,
    context: &mut Context<'_, S>,
) {
    let is_of_text = statement.name.is_empty() && is_stale_text(error);
    if is_stale_type(error) {
        let parameters = statement.parameters.iter().map(AsRef::as_ref);
        let columns = statement.columns.iter().map(|column| column.pg_type.as_ref());
        for pg_type in parameters.chain(columns) {
            context.link.types.catalog().forget(pg_type);
        }
        context.link.types.tell_outdated();
    } else if is_altered_result(error) {
        context.link.types.tell_outdated();
    } else if !is_of_text && !is_stale_plan(error) {
        return;
    }
    if let Some(statement) = context.link.statements.remove(statement) {
        // A name without NUL cannot fail to encode: it was sent before.
        let _ = frontend::close_statement(context.out, &statement.name);
    }
}

/// A type was altered since the catalogs were asked for it: what the server sends has another
/// shape, or the server says so of what was sent.
fn is_stale_type(error: &Error) -> bool {
    const DATATYPE_MISMATCH: &str = "42804";
    const INVALID_BINARY_REPRESENTATION: &str = "22P03";
    match error {
        Error::Decode(error) => error.reason.is_stale_type(),
        Error::Server(fields) => {
            matches!(fields.code(), Some(DATATYPE_MISMATCH | INVALID_BINARY_REPRESENTATION))
        }
        _ => false,
    }
}

/// The plan itself is what failed: its result type changed, or the server has forgotten it. The
/// next use of the text must prepare it anew.
fn is_stale_plan(error: &Error) -> bool {
    const FEATURE_NOT_SUPPORTED: &str = "0A000";
    const INVALID_SQL_STATEMENT_NAME: &str = "26000";
    const INTERNAL_ERROR: &str = "XX000";
    match error {
        Error::Server(fields) => match fields.code() {
            Some(FEATURE_NOT_SUPPORTED | INVALID_SQL_STATEMENT_NAME) => true,
            // The type of a parameter was dropped. Such messages are in English always.
            Some(INTERNAL_ERROR) => fields
                .message()
                .is_some_and(|text| text.starts_with("cache lookup failed for type")),
            _ => false,
        },
        _ => false,
    }
}

/// The server has planned a statement anew and found another result: something was altered that
/// other connections have statements about, too.
fn is_altered_result(error: &Error) -> bool {
    // The one who raises it; the message is translated.
    const ROUTINE: &str = "RevalidateCachedQuery";
    matches!(error, Error::Server(fields) if fields.field(b'R') == Some(ROUTINE))
}

/// A text that travels along is no longer what it was known for.
fn is_stale_text(error: &Error) -> bool {
    const PROTOCOL_VIOLATION: &str = "08P01";
    const SYNTAX_OR_ACCESS: &str = "42";
    match error {
        Error::Server(fields) => fields.code().is_some_and(|code| {
            // Fewer or more columns than formats were asked for.
            code == PROTOCOL_VIOLATION || code.starts_with(SYNTAX_OR_ACCESS)
        }),
        Error::ResultChanged => true,
        _ => false,
    }
}
