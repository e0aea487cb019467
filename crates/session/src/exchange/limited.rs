//! A query that the server ends after a time.
//!
//! `statement_timeout` is set in the same flight and in the same transaction as the query: there is
//! one Sync, after both. So it costs no round trip, the server forgets it when the query ends,
//! however that is, and behind a pooler it reaches the query's own server. A shorter timeout that
//! the session has already stays in force.

use std::num::NonZeroU32;

use colonnade_protocol::DataRows;
use colonnade_protocol::backend::Message;
use colonnade_protocol::frontend::{self, EncodedParams};

use super::answer::{Answer, Part};
use super::{Context, Exchange, Step};
use crate::knowledge::Told;
use crate::{Error, Sink};

/// The answer to Parse, Bind and Execute.
const SET: &[Part] = &[Part::ParseComplete, Part::BindComplete, Part::Rows];

/// Sends the timeout, ahead of the messages of its query.
pub(crate) fn limit(milliseconds: NonZeroU32, out: &mut Vec<u8>) -> Result<(), Error> {
    let sql = format!(
        "SELECT pg_catalog.set_config('statement_timeout', '{milliseconds}', true) \
         WHERE pg_catalog.current_setting('statement_timeout') OPERATOR(pg_catalog.=) '0' \
         OR pg_catalog.current_setting('statement_timeout')::interval \
         OPERATOR(pg_catalog.>) '{milliseconds} milliseconds'::interval"
    );
    frontend::parse(out, "", &sql, &[])?;
    frontend::bind(out, "", "", &EncodedParams::default(), &[])?;
    Ok(frontend::execute(out, "", 0)?)
}

/// The exchange of a query whose messages follow those of `limit`.
pub(crate) struct Limited<E> {
    answer: Answer,
    query: E,
}

impl<E> Limited<E> {
    pub(crate) const fn new(query: E) -> Self {
        Self { answer: Answer::new(SET, 0), query }
    }
}

impl<S: Sink, E: Exchange<S>> Exchange<S> for Limited<E> {
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        if self.answer.is_whole() {
            return self.query.message(message, context);
        }
        self.answer.take(&message)
    }

    fn rows(&mut self, rows: DataRows<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        if self.answer.is_whole() {
            return self.query.rows(rows, context);
        }
        self.answer.take_rows(rows.row_count())
    }

    fn read_bytes(&self) -> usize {
        self.query.read_bytes()
    }

    fn is_in_vain(&self, message: &str) -> bool {
        self.query.is_in_vain(message)
    }

    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        Box::new(self.query).complete(context)
    }

    fn failed(&mut self, error: &Error, context: &mut Context<'_, S>) -> bool {
        self.query.failed(error, context)
    }

    fn told(&self) -> Told<'_> {
        if self.answer.is_whole() { self.query.told() } else { Told::OWN }
    }
}
