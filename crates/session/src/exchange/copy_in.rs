//! COPY ... FROM STDIN: the owner sends data once the server is ready for it.

use colonnade_protocol::backend::Message;
use colonnade_protocol::{DataRows, frontend};

use super::answer::SimpleAnswer;
use super::{Context, Exchange, Step, unexpected};
use crate::{Completion, Error, Event, Sink};

pub(crate) struct CopyIn {
    /// That of the copy, whatever follows it in the same text.
    tag: Option<String>,
    accepted: bool,
    /// Tracks the answer to the statements around the copy, or to a statement that is not a copy.
    answer: SimpleAnswer,
}

impl CopyIn {
    pub(crate) fn start(sql: &str, out: &mut Vec<u8>) -> Result<Self, Error> {
        frontend::query(out, sql)?;
        Ok(Self { tag: None, accepted: false, answer: SimpleAnswer::default() })
    }
}

impl<S: Sink> Exchange<S> for CopyIn {
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        match message {
            Message::CopyInResponse(_) if !self.accepted => {
                self.accepted = true;
                context.link.copying = true;
                context.events.push_back(Event::CopyIn);
            }
            // The owner has not sent CopyDone yet.
            Message::CommandComplete(_) if context.link.copying => {
                return Err(unexpected(message.name()));
            }
            Message::CommandComplete(tag) => {
                self.answer.take(&message)?;
                if self.accepted && self.tag.is_none() {
                    self.tag = Some(tag.to_owned());
                }
            }
            // Not a COPY FROM STDIN: it runs to its end, and the exchange then reports the mistake.
            Message::CopyOutResponse(_) | Message::CopyData(_) | Message::CopyDone
                if !self.accepted => {}
            _ if !self.accepted => self.answer.take(&message)?,
            other => return Err(unexpected(other.name())),
        }
        Ok(())
    }

    fn rows(&mut self, _rows: DataRows<'_>, _context: &mut Context<'_, S>) -> Result<(), Error> {
        self.answer.check_rows()
    }

    fn copy_data(
        &mut self,
        _run: DataRows<'_>,
        _context: &mut Context<'_, S>,
    ) -> Result<(), Error> {
        if self.accepted { Err(unexpected("CopyData")) } else { Ok(()) }
    }

    fn complete(self: Box<Self>, _context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        self.answer.check_whole()?;
        if !self.accepted {
            return Err(Error::NotACopy);
        }
        Ok(Step::Done(Completion { tag: self.tag, ..Completion::default() }))
    }
}
