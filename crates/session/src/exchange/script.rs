//! The simple protocol: one text with any number of statements, no parameters; rows are discarded.

use colonnade_protocol::backend::Message;
use colonnade_protocol::{DataRows, frontend};

use super::answer::SimpleAnswer;
use super::{Context, Exchange, Step};
use crate::knowledge::Told;
use crate::{Completion, Error, Sink};

/// The longest text that is remembered while it runs.
const SQL_BYTES_MAX: usize = 4_096;

pub(crate) struct Script {
    answer: SimpleAnswer,
    sql: Option<String>,
    tag: Option<String>,
}

impl Script {
    pub(crate) fn start(sql: &str, out: &mut Vec<u8>) -> Result<Self, Error> {
        frontend::query(out, sql)?;
        let sql = (sql.len() <= SQL_BYTES_MAX).then(|| sql.to_owned());
        Ok(Self { answer: SimpleAnswer::default(), sql, tag: None })
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

    fn told(&self) -> Told<'_> {
        Told { sql: self.sql.as_deref(), has_columns: self.answer.is_in_result() }
    }

    fn complete(self: Box<Self>, _context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        self.answer.check_whole()?;
        Ok(Step::Done(Completion { tag: self.tag, ..Completion::default() }))
    }
}
