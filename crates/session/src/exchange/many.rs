//! Many executions of one statement: a Bind and an Execute for each set of arguments, and one Sync
//! after all of them. Outside a transaction block, the whole series is one transaction.
//!
//! The owner keeps sending while answers arrive. The series is open until the Sync is sent.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use colonnade_protocol::DataRows;
use colonnade_protocol::backend::Message;
use colonnade_protocol::frontend;

use super::answer::{Answer, DESCRIBED, executed, row_count};
use super::postponed_rows::{PostponedRows, Replay};
use super::query::forget_stale;
use super::{Context, Exchange, Step, hand_back, unexpected, unkept};
use crate::knowledge::Told;
use crate::{Error, Event, Sink, Statement};

/// Counts the executions sent in a series. Each series has its own count, because another one may
/// be under way before it.
#[derive(Default)]
pub(crate) struct Series {
    executions: AtomicU64,
    is_undone: AtomicBool,
}

impl Series {
    /// Records that `executions` more were sent.
    pub(crate) fn add(&self, executions: u64) {
        self.executions.fetch_add(executions, Ordering::Relaxed);
    }

    /// Records that a ROLLBACK was sent, which counts as one execution.
    pub(crate) fn undo(&self) {
        self.is_undone.store(true, Ordering::Relaxed);
        self.add(1);
    }

    fn is_undone(&self) -> bool {
        self.is_undone.load(Ordering::Relaxed)
    }
}

pub(crate) struct Many<S: Sink> {
    statement: Arc<Statement>,
    sink: S,
    postponed: PostponedRows,
    answer: Answer,
    /// The number of executions that have ended.
    ended: u64,
    sent: Arc<Series>,
    tag: Option<String>,
    /// The sum of the row counts in the command tags.
    row_count: u64,
}

impl<S: Sink> Many<S> {
    pub(crate) fn start(
        statement: Arc<Statement>,
        sink: S,
        sent: Arc<Series>,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        unkept::bring(&statement, None, out)?;
        let postponed = PostponedRows::of(&statement.columns);
        let brought = if statement.server_name().is_some() { &[] } else { DESCRIBED };
        let answer = Answer::new(brought, 0);
        Ok(Self { statement, sink, postponed, answer, ended: 0, sent, tag: None, row_count: 0 })
    }
}

impl<S: Sink> Many<S> {
    /// Records that one execution has ended.
    fn end_one(
        &mut self,
        tag: &str,
        end: &Message<'_>,
        context: &Context<'_, S>,
    ) -> Result<(), Error> {
        self.ended += 1;
        if !self.statement.columns.is_empty() && !context.is_abandoned && !self.sent.is_undone() {
            self.answer.check_rows(end)?;
        }
        self.row_count = self.row_count.saturating_add(row_count(tag).unwrap_or(0));
        if self.tag.as_deref() != Some(tag) {
            self.tag = Some(tag.to_owned());
        }
        Ok(())
    }
}

impl<S: Sink> Exchange<S> for Many<S> {
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        match message {
            Message::CopyInResponse(_) => {
                // With several executions, the second one makes the server abort the copy and close
                // the connection. With a single one, the server ignores the Sync that was already
                // sent.
                frontend::copy_fail(context.out, "COPY FROM STDIN was run as a query")?;
                if !context.link.end_series(context.out) {
                    frontend::sync(context.out);
                }
                return Err(Error::UnexpectedCopy);
            }
            Message::CopyOutResponse(_) => return Err(Error::UnexpectedCopy),
            Message::ParseComplete if self.answer.is_whole() && self.sent.is_undone() => {
                // The ROLLBACK that abandons the series.
            }
            Message::BindComplete if self.answer.is_whole() => {
                self.answer = Answer::new(executed(true), 0);
                self.answer.take(&message)?;
            }
            _ => self.answer.take(&message)?,
        }
        match message {
            Message::NoData | Message::RowDescription(_) => {
                unkept::follow(message, &mut self.statement, &mut self.sink, context)?;
                self.postponed = PostponedRows::of(&self.statement.columns);
            }
            Message::CommandComplete(tag) => self.end_one(tag, &message, context)?,
            Message::EmptyQueryResponse => self.ended += 1,
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

    fn is_undoing(&self) -> bool {
        self.sent.is_undone()
    }

    fn complete(mut self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        self.answer.check_whole()?;
        if self.ended != self.sent.executions.load(Ordering::Relaxed) {
            return Err(unexpected("ReadyForQuery"));
        }
        self.tag = self.tag.map(|tag| in_all(tag, self.row_count));
        if let PostponedRows::All { bytes, error } = self.postponed {
            let replay = Replay::new(self.statement, self.sink, self.tag.into(), bytes, error);
            return replay.look_up(context);
        }
        hand_back(Some(self.statement), self.sink, self.tag.into(), context)
    }

    fn failed(&mut self, error: &Error, context: &mut Context<'_, S>) -> bool {
        let has_run = self.answer.is_running() || self.ended > 0;
        forget_stale(&self.statement, error, has_run, context)
    }

    fn told(&self) -> Told<'_> {
        let sql = Some(self.statement.sql.as_str());
        Told { sql, has_columns: !self.statement.columns.is_empty() }
    }
}

/// The last execution's command tag, with the row counts of all executions added up.
fn in_all(tag: String, row_count: u64) -> String {
    match tag.rsplit_once(' ') {
        Some((command, count)) if count.parse::<u64>().is_ok() => format!("{command} {row_count}"),
        _ => tag,
    }
}
