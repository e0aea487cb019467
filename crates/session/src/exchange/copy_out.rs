//! COPY ... TO STDOUT: the server's data goes to the owner as bytes.

use colonnade_protocol::backend::Message;
use colonnade_protocol::{DataRows, frontend};

use super::answer::SimpleAnswer;
use super::{Context, Exchange, Step, unexpected};
use crate::{Completion, Error, Event, Sink};

/// Payloads are joined up to this size, because the server sends one message per row.
const CHUNK_BYTES: usize = 64 * 1024;

pub(crate) struct CopyOut {
    tag: Option<String>,
    state: State,
    /// Tracks the answer to the statements around the copy, or to a statement that is not a copy.
    answer: SimpleAnswer,
}

#[derive(PartialEq, Eq)]
enum State {
    /// The server has not begun the copy.
    Asked,
    /// The server asked for data instead, and was sent CopyFail.
    Refused,
    /// Data is coming.
    Data,
    /// All data has come.
    Done,
}

impl CopyOut {
    pub(crate) fn start(sql: &str, out: &mut Vec<u8>) -> Result<Self, Error> {
        frontend::query(out, sql)?;
        let answer = SimpleAnswer::default();
        Ok(Self { tag: None, state: State::Asked, answer })
    }
}

impl<S: Sink> Exchange<S> for CopyOut {
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        match message {
            Message::CopyOutResponse(_) if self.state == State::Asked => self.state = State::Data,
            Message::CopyData(bytes) if self.state == State::Data => hand_over(bytes, context),
            Message::CopyDone if self.state == State::Data => self.state = State::Done,
            Message::CommandComplete(tag) if self.state != State::Data || context.is_abandoned => {
                self.answer.take(&message)?;
                self.tag = Some(tag.to_owned());
            }
            Message::CopyInResponse(_) if self.state == State::Asked => {
                self.state = State::Refused;
                frontend::copy_fail(context.out, "COPY FROM STDIN was run where data is read")?;
            }
            // Not a COPY TO STDOUT: it runs to its end, and the exchange then reports the mistake.
            Message::RowDescription(_) | Message::EmptyQueryResponse
                if self.state == State::Asked =>
            {
                self.answer.take(&message)?;
            }
            other => return Err(unexpected(other.name())),
        }
        Ok(())
    }

    fn rows(&mut self, _rows: DataRows<'_>, _context: &mut Context<'_, S>) -> Result<(), Error> {
        self.answer.check_rows()
    }

    fn copy_data(
        &mut self,
        mut run: DataRows<'_>,
        context: &mut Context<'_, S>,
    ) -> Result<(), Error> {
        if self.state != State::Data {
            return Err(unexpected("CopyData"));
        }
        while let Some(body) = run.next_body() {
            hand_over(body, context);
        }
        Ok(())
    }

    fn complete(self: Box<Self>, _context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        self.answer.check_whole()?;
        if matches!(self.state, State::Asked | State::Refused) {
            return Err(Error::NotACopy);
        }
        Ok(Step::Done(Completion { tag: self.tag, ..Completion::default() }))
    }
}

fn hand_over<S: Sink>(bytes: &[u8], context: &mut Context<'_, S>) {
    match context.events.back_mut() {
        Some(Event::CopyData(chunk)) if chunk.len() < CHUNK_BYTES => chunk.extend_from_slice(bytes),
        _ => context.events.push_back(Event::CopyData(bytes.to_vec())),
    }
}
