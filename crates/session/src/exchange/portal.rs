//! Portals: a statement that is bound under a name, and gives its rows piece by piece. Each piece
//! is an exchange of its own, so that others may come in between.

use std::collections::VecDeque;
use std::sync::Arc;

use colonnade_protocol::DataRows;
use colonnade_protocol::backend::Message;
use colonnade_protocol::frontend::{self, EncodedParams};

use super::held_rows::{HeldRows, Replay};
use super::query::forget_stale;
use super::stage::Stage;
use super::{Context, End, Exchange, Step, hand_back, unexpected, unkept};
use crate::statement::Portal;
use crate::{Completion, Error, Event, Sink};

pub(crate) struct PortalRows<S: Sink> {
    portal: Arc<Portal>,
    /// None where it is bound and gives no rows yet.
    sink: Option<S>,
    held: HeldRows,
    stage: Stage,
    end: End,
}

impl<S: Sink> PortalRows<S> {
    /// Binds it, without asking for rows.
    pub(crate) fn bind(
        portal: Arc<Portal>,
        parameters: &EncodedParams,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        bind(&portal, parameters, out)?;
        frontend::sync(out);
        let end = End { tag: None, has_more: true };
        Ok(Self { portal, sink: None, held: HeldRows::Nothing, stage: Stage::Asked, end })
    }

    /// Binds it, and asks for the first rows.
    pub(crate) fn open(
        portal: Arc<Portal>,
        parameters: &EncodedParams,
        row_limit: i32,
        sink: S,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        bind(&portal, parameters, out)?;
        let more = Self::more(portal, row_limit, sink, out)?;
        Ok(Self { stage: Stage::Asked, ..more })
    }

    /// Asks for the next rows.
    pub(crate) fn more(
        portal: Arc<Portal>,
        row_limit: i32,
        sink: S,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        frontend::execute(out, portal.name(), row_limit)?;
        frontend::sync(out);
        let held = HeldRows::of(&portal.statement.columns);
        Ok(Self { portal, sink: Some(sink), held, stage: Stage::Bound, end: End::default() })
    }

    /// The text travels along, and the server has not bound it yet.
    fn is_described_anew(&self) -> bool {
        self.stage == Stage::Asked && self.portal.statement.server_name().is_none()
    }
}

fn bind(portal: &Portal, parameters: &EncodedParams, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    let statement = unkept::bring(&portal.statement, out)?;
    let bound = frontend::bind(out, portal.name(), statement, parameters, &portal.formats);
    if bound.is_err() {
        out.truncate(start);
    }
    Ok(bound?)
}

impl<S: Sink> Exchange<S> for PortalRows<S> {
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        match message {
            Message::BindComplete if self.stage == Stage::Asked => self.stage.bind()?,
            Message::ParseComplete | Message::ParameterDescription(_) | Message::NoData
                if self.is_described_anew() => {}
            Message::RowDescription(fields) if self.is_described_anew() => {
                let columns = self.portal.statement.columns.iter();
                let known = columns.map(|column| column.pg_type.oid);
                if fields.iter().map(|field| field.type_oid).ne(known) {
                    return Err(Error::ResultChanged);
                }
            }
            Message::EmptyQueryResponse if self.sink.is_some() => {
                self.stage.end("EmptyQueryResponse")?;
            }
            Message::PortalSuspended if self.sink.is_some() => {
                self.stage.end("PortalSuspended")?;
                self.end.has_more = true;
            }
            Message::CommandComplete(tag) if self.sink.is_some() => {
                self.stage.end("CommandComplete")?;
                self.end.tag = Some(tag.to_owned());
            }
            Message::CopyInResponse(_) => {
                frontend::copy_fail(context.out, "COPY FROM STDIN was run as a query")?;
                // The Sync that was sent already counts for nothing while the server copies.
                frontend::sync(context.out);
                return Err(Error::UnexpectedCopy);
            }
            Message::CopyOutResponse(_) => return Err(Error::UnexpectedCopy),
            other => return Err(unexpected(other.name())),
        }
        Ok(())
    }

    fn rows(&mut self, rows: DataRows<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        let Some(sink) = &mut self.sink else { return Err(unexpected("DataRow")) };
        self.stage.check_bound("DataRow")?;
        let mut batches = VecDeque::new();
        let outcome = self.held.take(sink, rows, &mut batches);
        context.events.extend(batches.into_iter().map(Event::Batch));
        Ok(outcome?)
    }

    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        let Some(sink) = self.sink else {
            self.stage.check_bound("ReadyForQuery")?;
            let has_more = self.end.has_more;
            return Ok(Step::Done(Completion { has_more, ..Completion::default() }));
        };
        self.stage.check_ended()?;
        if let HeldRows::All { bytes, error } = self.held {
            let statement = Arc::clone(&self.portal.statement);
            return Replay::new(statement, sink, self.end, bytes, error).look_up(context);
        }
        hand_back(None, sink, self.end, context)
    }

    fn failed(&mut self, error: &Error, context: &mut Context<'_, S>) {
        forget_stale(&self.portal.statement, error, context);
    }
}
