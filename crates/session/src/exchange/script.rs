//! The simple protocol: one text with any number of statements, no parameters; rows are discarded.

use colonnade_protocol::backend::Message;
use colonnade_protocol::{DataRows, frontend};

use super::answer::SimpleAnswer;
use super::{Context, Exchange, Step};
use crate::{Completion, Error, Sink};

pub(crate) struct Script {
    answer: SimpleAnswer,
    tag: Option<String>,
}

impl Script {
    pub(crate) fn start(sql: &str, out: &mut Vec<u8>) -> Result<Self, Error> {
        frontend::query(out, sql)?;
        Ok(Self { answer: SimpleAnswer::default(), tag: None })
    }
}

impl<S: Sink> Exchange<S> for Script {
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        match message {
            Message::CopyInResponse(_) => {
                frontend::copy_fail(context.out, "COPY FROM STDIN was run as a query")?;
                return Err(Error::UnexpectedCopy);
            }
            Message::CopyOutResponse(_) => return Err(Error::UnexpectedCopy),
            _ => self.answer.take(&message)?,
        }
        if let Message::CommandComplete(tag) = message {
            self.tag = Some(tag.to_owned());
        }
        Ok(())
    }

    fn rows(&mut self, _rows: DataRows<'_>, _context: &mut Context<'_, S>) -> Result<(), Error> {
        self.answer.check_rows()
    }

    fn complete(self: Box<Self>, _context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        self.answer.check_whole()?;
        Ok(Step::Done(Completion { tag: self.tag, ..Completion::default() }))
    }
}
