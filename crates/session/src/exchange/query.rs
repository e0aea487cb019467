//! Bind and Execute: the rows of a prepared statement go to a sink.

use std::collections::VecDeque;
use std::sync::Arc;

use colonnade_protocol::DataRows;
use colonnade_protocol::backend::Message;
use colonnade_protocol::frontend::{self, EncodedParams};

use super::answer::{Answer, executed};
use super::postponed_rows::{PostponedRows, Replay};
use super::{Context, Exchange, Step, hand_back, unkept};
use crate::knowledge::{Told, Verdict, verdict};
use crate::{Error, Event, Sink, Statement};

pub(crate) struct Query<S: Sink> {
    statement: Arc<Statement>,
    sink: S,
    postponed: PostponedRows,
    answer: Answer,
    tag: Option<String>,
}

impl<S: Sink> Query<S> {
    /// Sends the query. `row_limit` 0 fetches every row.
    pub(crate) fn start(
        statement: Arc<Statement>,
        parameters: &EncodedParams,
        row_limit: i32,
        sink: S,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        let formats = sink.formats().unwrap_or_else(|| statement.formats());
        let start = out.len();
        let name = unkept::bring(&statement, Some(parameters), out)?;
        if let Err(error) = frontend::bind(out, "", name, parameters, &formats) {
            out.truncate(start);
            return Err(error.into());
        }
        frontend::execute(out, "", row_limit)?;
        frontend::sync(out);
        let postponed = PostponedRows::of(&statement.columns);
        let answer = Answer::new(executed(statement.server_name().is_some()), row_limit);
        Ok(Self { statement, sink, postponed, answer, tag: None })
    }
}

impl<S: Sink> Exchange<S> for Query<S> {
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        match message {
            Message::CopyInResponse(_) => {
                frontend::copy_fail(context.out, "COPY FROM STDIN was run as a query")?;
                // The server ignores the Sync that was already sent while it copies.
                frontend::sync(context.out);
                return Err(Error::UnexpectedCopy);
            }
            Message::CopyOutResponse(_) => return Err(Error::UnexpectedCopy),
            _ => self.answer.take(&message)?,
        }
        match message {
            Message::NoData | Message::RowDescription(_) => {
                unkept::follow(message, &mut self.statement, &mut self.sink, context)?;
                self.postponed = PostponedRows::of(&self.statement.columns);
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
        let outcome = self.postponed.take(&mut self.sink, rows, &mut batches);
        context.events.extend(batches.into_iter().map(Event::Batch));
        Ok(outcome?)
    }

    fn read_bytes(&self) -> usize {
        self.sink.read_bytes()
    }

    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        self.answer.check_whole()?;
        if let PostponedRows::All { bytes, error } = self.postponed {
            let replay = Replay::new(self.statement, self.sink, self.tag.into(), bytes, error);
            return replay.look_up(context);
        }
        hand_back(None, self.sink, self.tag.into(), context)
    }

    fn failed(&mut self, error: &Error, context: &mut Context<'_, S>) -> bool {
        let has_run = self.answer.is_running();
        forget_stale(&self.statement, error, has_run, context)
    }

    fn told(&self) -> Told<'_> {
        let sql = Some(self.statement.sql.as_str());
        Told { sql, has_columns: !self.statement.columns.is_empty() }
    }
}

/// Forgets the statement that an error has shown to be out of date, and its types in the shared
/// catalog, so that the next query with this text prepares it again. Returns whether that may help:
/// it was refused, before it ran, because of its description.
pub(crate) fn forget_stale<S: Sink>(
    statement: &Statement,
    error: &Error,
    has_run: bool,
    context: &mut Context<'_, S>,
) -> bool {
    let known = &mut context.link.known;
    let is_dropped = statement.is_owned() && is_missing(error);
    let verdict = if has_run || is_dropped { Verdict::None } else { verdict(error) };
    if verdict == Verdict::Outdated || is_stale_type(error) {
        known.forget_types_of(statement);
    }
    if is_stale_type(error) || is_altered_result(error) {
        // What others have to learn ends all that this session knows, too.
        known.types.tell_outdated();
        known.end_epoch();
    }
    let is_outdated = verdict != Verdict::None
        || is_stale_type(error)
        || is_altered_result(error)
        || matches!(error, Error::ResultChanged);
    if is_outdated {
        statement.doubt();
        if let Some(statement) = known.statements.remove(statement) {
            // The name has no NUL, as it was sent before, so encoding cannot fail.
            let _ = frontend::close_statement(context.out, &statement.name);
        }
    }
    verdict == Verdict::Outdated
}

/// Whether a type was altered since its lookup: a value has another shape, or the server rejects a
/// parameter for that reason.
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

/// Whether the server has no such statement. The owner is told that one of theirs was dropped.
fn is_missing(error: &Error) -> bool {
    const INVALID_SQL_STATEMENT_NAME: &str = "26000";
    matches!(error, Error::Server(fields) if fields.code() == Some(INVALID_SQL_STATEMENT_NAME))
}

/// Whether the server replanned a statement and got other result columns: an object was altered
/// that other connections may also have statements about.
fn is_altered_result(error: &Error) -> bool {
    // The server function that raises the error; the message itself is translated.
    const ROUTINE: &str = "RevalidateCachedQuery";
    matches!(error, Error::Server(fields) if fields.field(b'R') == Some(ROUTINE))
}
