//! Holds rows back while their types may be out of date: a composite may have been altered since
//! its catalog lookup, or an anonymous record may hold a type that was never looked up. The query
//! has run and cannot run again, so its rows wait for a new lookup and are decoded after it.

use std::collections::VecDeque;
use std::sync::Arc;

use colonnade_columnar::{DecodeError, ResultColumn, Shape, Type};
use colonnade_protocol::{DataRows, Frame, Oid, next_frame};

use super::{Context, End, Introspect, Step, Then, hand_back};
use crate::{Error, Event, Sink, SinkError, Statement};

/// Once this many bytes of rows have decoded, the types of the result are taken as confirmed; a
/// later value that does not fit is an error.
const FIRST_BYTES: usize = 256 * 1024;

/// Limit on catalog lookups per result: a record may hold further records of unknown types.
const ROUNDS: u8 = 8;

pub(crate) enum PostponedRows {
    /// The types of the result are confirmed, or can never change.
    Nothing,
    /// The first rows, all decoded without error so far.
    First(Vec<u8>),
    /// A row failed to decode: all rows are postponed.
    All { bytes: Vec<u8>, error: Box<DecodeError> },
}

impl PostponedRows {
    pub(crate) fn of(columns: &[ResultColumn]) -> Self {
        if columns.iter().any(|column| can_be_another(&column.pg_type)) {
            Self::First(Vec::new())
        } else {
            Self::Nothing
        }
    }

    /// Passes rows on to the sink, or holds them.
    pub(crate) fn take<S: Sink>(
        &mut self,
        sink: &mut S,
        rows: DataRows<'_>,
        batches: &mut VecDeque<S::Batch>,
    ) -> Result<(), SinkError> {
        let kept = match self {
            Self::Nothing => return sink.rows(rows, batches),
            Self::All { bytes, .. } => {
                bytes.extend_from_slice(rows.rest());
                return Ok(());
            }
            Self::First(kept) => kept,
        };
        kept.extend_from_slice(rows.rest());
        match sink.rows(rows, batches) {
            Err(SinkError::Decode(error)) if error.reason.is_stale_type() && sink.is_whole() => {
                *self = Self::All { bytes: std::mem::take(kept), error: Box::new(error) };
                Ok(())
            }
            outcome => {
                if kept.len() > FIRST_BYTES {
                    *self = Self::Nothing;
                }
                outcome
            }
        }
    }
}

/// Whether a value can reveal that its type has changed since its lookup.
pub fn can_be_another(pg_type: &Type) -> bool {
    match &pg_type.shape {
        Shape::Composite(_) | Shape::Record(_) => true,
        Shape::Array(part)
        | Shape::Range(part)
        | Shape::Multirange(part)
        | Shape::Domain { base: part, .. }
        | Shape::Custom { under: part, .. } => can_be_another(part),
        _ => false,
    }
}

/// A result that waits for a lookup of its types.
pub(crate) struct Replay<S> {
    pub(crate) statement: Arc<Statement>,
    pub(crate) sink: S,
    end: End,
    bytes: Vec<u8>,
    error: Box<DecodeError>,
    /// How many more lookups are allowed.
    rounds_left: u8,
}

impl<S: Sink> Replay<S> {
    pub(crate) fn new(
        statement: Arc<Statement>,
        sink: S,
        end: End,
        bytes: Vec<u8>,
        error: Box<DecodeError>,
    ) -> Self {
        Self { statement, sink, end, bytes, error, rounds_left: ROUNDS }
    }

    /// Looks up all types of the statement again, and those that are unknown.
    pub(crate) fn look_up(mut self, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        let Some(rounds_left) = self.rounds_left.checked_sub(1) else {
            return Err(Error::Decode(self.error));
        };
        self.rounds_left = rounds_left;
        let types = &mut context.link.known.types;
        let mut wanted: Vec<Oid> = self.error.reason.unknown_type().into_iter().collect();
        if wanted.is_empty() {
            for column in self.statement.columns.iter() {
                types.catalog().forget(&column.pg_type);
                wanted.push(column.pg_type.oid);
            }
            types.tell_outdated();
        }
        let missing = types.missing(wanted);
        let then = Then::Replay(Box::new(self));
        let next = Introspect::start(missing, then, context.link, context.out)?;
        Ok(Step::Then(Box::new(next)))
    }

    /// Decodes the postponed rows with the types just looked up.
    pub(crate) fn run(mut self, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        let seen = |(index, column): (usize, &ResultColumn)| {
            let conversions = self.statement.conversions;
            let found = conversions.of_column(&context.link.known.types, column.pg_type.oid, index);
            column.with_type(found.unwrap_or_else(|| Arc::clone(&column.pg_type)))
        };
        let columns: Arc<[ResultColumn]> =
            self.statement.columns.iter().enumerate().map(seen).collect();
        let mut sink = self.sink.renewed(&columns)?;
        let mut batches = VecDeque::new();
        let mut rest = self.bytes.as_slice();
        while let Some((frame, length)) = next_frame(rest)? {
            let Frame::DataRows(rows) = frame else { break };
            match sink.rows(rows, &mut batches) {
                Ok(()) => {}
                Err(SinkError::Decode(error)) if error.reason.is_stale_type() => {
                    self.error = Box::new(error);
                    return self.look_up(context);
                }
                Err(error) => return Err(error.into()),
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        context.events.extend(batches.into_iter().map(Event::Batch));
        let statement = self.statement.with_columns(columns);
        context.link.known.statements.renew(&statement);
        hand_back(Some(statement), sink, self.end, context)
    }
}
