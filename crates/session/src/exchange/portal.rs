//! Portals: a statement bound under a name returns its rows in pieces. Each piece is an exchange of
//! its own, so other exchanges may come in between.

use std::collections::VecDeque;
use std::sync::Arc;

use colonnade_protocol::DataRows;
use colonnade_protocol::backend::Message;
use colonnade_protocol::frontend::{self, EncodedParams};

use super::answer::{Answer, Part, bound, executed};
use super::postponed_rows::{PostponedRows, Replay};
use super::query::forget_stale;
use super::{Context, End, Exchange, Step, hand_back, unexpected, unkept};
use crate::knowledge::Told;
use crate::statement::Portal;
use crate::{Completion, Error, Event, RECEIVE_CAPACITY_BYTES, Sink};

pub(crate) struct PortalRows<S: Sink> {
    portal: Arc<Portal>,
    /// None while the portal is only being bound.
    sink: Option<S>,
    postponed: PostponedRows,
    answer: Answer,
    end: End,
}

impl<S: Sink> PortalRows<S> {
    /// Binds the portal without fetching rows.
    pub(crate) fn bind(
        portal: Arc<Portal>,
        parameters: &EncodedParams,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        bind(&portal, parameters, out)?;
        frontend::sync(out);
        let end = End { tag: None, has_more: true };
        let answer = Answer::new(bound(portal.statement.server_name().is_some()), 0);
        Ok(Self { portal, sink: None, postponed: PostponedRows::Nothing, answer, end })
    }

    /// Binds the portal and fetches the first rows.
    pub(crate) fn open(
        portal: Arc<Portal>,
        parameters: &EncodedParams,
        row_limit: i32,
        sink: S,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        bind(&portal, parameters, out)?;
        let answer = Answer::new(executed(portal.statement.server_name().is_some()), row_limit);
        Ok(Self { answer, ..Self::more(portal, row_limit, sink, out)? })
    }

    /// Fetches the next rows.
    pub(crate) fn more(
        portal: Arc<Portal>,
        row_limit: i32,
        sink: S,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        frontend::execute(out, portal.name(), row_limit)?;
        frontend::sync(out);
        let postponed = PostponedRows::of(&portal.statement.columns);
        let answer = Answer::new(&[Part::Rows], row_limit);
        Ok(Self { portal, sink: Some(sink), postponed, answer, end: End::default() })
    }
}

fn bind(portal: &Portal, parameters: &EncodedParams, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    let statement = unkept::bring(&portal.statement, Some(parameters), out)?;
    let bound = frontend::bind(out, portal.name(), statement, parameters, &portal.formats);
    if bound.is_err() {
        out.truncate(start);
    }
    Ok(bound?)
}

impl<S: Sink> Exchange<S> for PortalRows<S> {
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
        let columns = &self.portal.statement.columns;
        if matches!(message, Message::CommandComplete(_) | Message::PortalSuspended)
            && !columns.is_empty()
            && !context.is_abandoned
        {
            self.answer.check_rows(&message)?;
        }
        match message {
            Message::RowDescription(fields) => {
                let columns = self.portal.statement.columns.iter();
                let known = columns.map(|column| column.pg_type.oid);
                if fields.iter().map(|field| field.type_oid).ne(known) {
                    return Err(Error::ResultChanged);
                }
            }
            Message::PortalSuspended => self.end.has_more = true,
            Message::CommandComplete(tag) => self.end.tag = Some(tag.to_owned()),
            _ => {}
        }
        Ok(())
    }

    fn rows(&mut self, rows: DataRows<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        self.answer.take_rows(rows.row_count())?;
        let Some(sink) = &mut self.sink else { return Err(unexpected("DataRow")) };
        let mut batches = VecDeque::new();
        let outcome = self.postponed.take(sink, rows, &mut batches);
        context.events.extend(batches.into_iter().map(Event::Batch));
        Ok(outcome?)
    }

    fn read_bytes(&self) -> usize {
        self.sink.as_ref().map_or(RECEIVE_CAPACITY_BYTES, Sink::read_bytes)
    }

    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        self.answer.check_whole()?;
        let Some(sink) = self.sink else {
            let has_more = self.end.has_more;
            return Ok(Step::Done(Completion { has_more, ..Completion::default() }));
        };
        if let PostponedRows::All { bytes, error } = self.postponed {
            let statement = Arc::clone(&self.portal.statement);
            return Replay::new(statement, sink, self.end, bytes, error).look_up(context);
        }
        hand_back(None, sink, self.end, context)
    }

    fn failed(&mut self, error: &Error, context: &mut Context<'_, S>) -> bool {
        let has_run = self.answer.is_running();
        forget_stale(&self.portal.statement, error, has_run, context)
    }

    fn told(&self) -> Told<'_> {
        let sql = Some(self.portal.statement.sql.as_str());
        Told { sql, has_columns: !self.portal.statement.columns.is_empty() }
    }
}
