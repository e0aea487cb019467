//! The simple protocol: one text, any number of statements, no parameters, rows thrown away.

use colonnade_protocol::backend::Message;
use colonnade_protocol::{DataRows, frontend};

use super::{Context, Exchange, Step, unexpected};
use crate::{Completion, Error, Sink};

pub(crate) struct Script {
    tag: Option<String>,
    /// The last statement that began has ended.
    is_ended: bool,
}

impl Script {
    pub(crate) fn start(sql: &str, out: &mut Vec<u8>) -> Result<Self, Error> {
        frontend::query(out, sql)?;
        Ok(Self { tag: None, is_ended: false })
    }
}

impl<S: Sink> Exchange<S> for Script {
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        match message {
            Message::RowDescription(_) => self.is_ended = false,
            Message::EmptyQueryResponse => self.is_ended = true,
            Message::CommandComplete(tag) => {
                self.is_ended = true;
                self.tag = Some(tag.to_owned());
            }
            Message::CopyInResponse(_) => {
                frontend::copy_fail(context.out, "COPY FROM STDIN was run as a query")?;
                return Err(Error::UnexpectedCopy);
            }
            Message::CopyOutResponse(_) => return Err(Error::UnexpectedCopy),
            other => return Err(unexpected(other.name())),
        }
        Ok(())
    }

    fn rows(&mut self, _rows: DataRows<'_>, _context: &mut Context<'_, S>) -> Result<(), Error> {
        Ok(())
    }

    fn complete(self: Box<Self>, _context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        if !self.is_ended {
            return Err(unexpected("ReadyForQuery"));
        }
        Ok(Step::Done(Completion { tag: self.tag, ..Completion::default() }))
    }
}
