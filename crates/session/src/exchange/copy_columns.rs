//! COPY ... TO STDOUT in the binary format: its rows go to a sink, as those of a query do.
//!
//! The body of a CopyData message is laid out as that of a DataRow message, and a server sends one
//! row in each. Only the first is different: a header stands before its row. Of that row a frame is
//! made anew; all the others are taken where they lie.

use std::collections::VecDeque;
use std::sync::Arc;

use colonnade_protocol::backend::Message;
use colonnade_protocol::{DataRows, Format, Frame, RemoteError, frontend, next_frame};

use super::answer::{SimpleAnswer, row_count};
use super::held_rows::{HeldRows, Replay};
use super::{Context, Exchange, Step, hand_back, unexpected};
use crate::{Error, Event, Sink, Statement};

/// What every COPY in the binary format begins with.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// The number of fields that stands for the end of the data.
const TRAILER: &[u8] = &[0xff, 0xff];

pub(crate) struct CopyColumns<S> {
    /// Selects what is copied; it is not run.
    statement: Arc<Statement>,
    sink: S,
    held: HeldRows,
    tag: Option<String>,
    state: State,
    rows: u64,
    /// To the copy, or to some other statement instead of it.
    answer: SimpleAnswer,
}

#[derive(PartialEq, Eq)]
enum State {
    /// The server has not begun to copy.
    Asked,
    /// It wants data instead, and was told that there is none.
    Refused,
    /// The header must come.
    Header,
    Rows,
    /// The trailer has come.
    End,
    /// The server has said that this is all.
    Done,
}

impl<S: Sink> CopyColumns<S> {
    pub(crate) fn start(
        sql: &str,
        statement: Arc<Statement>,
        sink: S,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        frontend::query(out, sql)?;
        let held = HeldRows::of(&statement.columns);
        let answer = SimpleAnswer::default();
        Ok(Self { statement, sink, held, tag: None, state: State::Asked, rows: 0, answer })
    }

    /// What one message carries, after its header if it has one.
    fn take_body(&mut self, body: &[u8], context: &mut Context<'_, S>) -> Result<(), Error> {
        match self.state {
            State::Header => {
                let row = without_header(body).ok_or_else(malformed)?;
                self.state = State::Rows;
                if row.is_empty() { Ok(()) } else { self.take_body(row, context) }
            }
            State::Rows if body == TRAILER => {
                self.state = State::End;
                Ok(())
            }
            State::Rows => self.take_row(body, context),
            State::Asked | State::Refused | State::End | State::Done => Err(malformed()),
        }
    }

    /// One row by itself, in a frame made for it.
    fn take_row(&mut self, body: &[u8], context: &mut Context<'_, S>) -> Result<(), Error> {
        let length = u32::try_from(body.len() + 4).map_err(|_| malformed())?;
        let frame = [b"D", &length.to_be_bytes()[..], body].concat();
        match next_frame(&frame)? {
            Some((Frame::DataRows(rows), _)) => self.take_rows(rows, context),
            _ => Err(malformed()),
        }
    }

    fn check_rows(&self, tag: &str, context: &Context<'_, S>) -> Result<(), Error> {
        match row_count(tag) {
            Some(told)
                if self.state == State::Done && told != self.rows && !context.is_abandoned =>
            {
                Err(Error::RowCount { told, found: self.rows })
            }
            _ => Ok(()),
        }
    }

    fn take_rows(&mut self, rows: DataRows<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        self.rows += rows.row_count() as u64;
        let mut batches = VecDeque::new();
        let outcome = self.held.take(&mut self.sink, rows, &mut batches);
        context.events.extend(batches.into_iter().map(Event::Batch));
        Ok(outcome?)
    }
}

impl<S: Sink> Exchange<S> for CopyColumns<S> {
    fn message(&mut self, message: Message<'_>, context: &mut Context<'_, S>) -> Result<(), Error> {
        match message {
            Message::CopyOutResponse(response) if self.state == State::Asked => {
                if response.overall != Format::Binary {
                    return Err(malformed());
                }
                self.state = State::Header;
            }
            Message::CopyData(body) => self.take_body(body, context)?,
            Message::CopyDone if self.state == State::End => self.state = State::Done,
            Message::CopyDone => return Err(malformed()),
            Message::CopyInResponse(_) if self.state == State::Asked => {
                self.state = State::Refused;
                frontend::copy_fail(context.out, "COPY FROM STDIN was run where data is read")?;
            }
            // Some other statement: it runs to its end, which then says what is wrong.
            Message::RowDescription(_) | Message::EmptyQueryResponse
                if self.state == State::Asked =>
            {
                self.answer.take(&message)?;
            }
            Message::CommandComplete(tag)
                if matches!(self.state, State::Asked | State::Done) || context.is_abandoned =>
            {
                self.answer.take(&message)?;
                self.tag = Some(tag.to_owned());
                self.check_rows(tag, context)?;
            }
            other => return Err(unexpected(other.name())),
        }
        Ok(())
    }

    fn copy_data(
        &mut self,
        mut run: DataRows<'_>,
        context: &mut Context<'_, S>,
    ) -> Result<(), Error> {
        if self.state == State::Header
            && let Some(first) = run.next_body()
        {
            self.take_body(first, context)?;
        }
        match self.state {
            _ if run.is_empty() => Ok(()),
            State::Rows => self.take_rows(run, context),
            _ => Err(malformed()),
        }
    }

    fn rows(&mut self, _rows: DataRows<'_>, _context: &mut Context<'_, S>) -> Result<(), Error> {
        self.answer.check_rows()
    }

    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        self.answer.check_whole()?;
        if self.state != State::Done {
            return Err(Error::NotACopy);
        }
        if let HeldRows::All { bytes, error } = self.held {
            let replay = Replay::new(self.statement, self.sink, self.tag.into(), bytes, error);
            return replay.look_up(context);
        }
        hand_back(None, self.sink, self.tag.into(), context)
    }
}

fn malformed() -> Error {
    Error::Protocol(RemoteError::CopyLayout.into())
}

/// What follows the signature, the flags, and the extension of the header, if they are there.
fn without_header(body: &[u8]) -> Option<&[u8]> {
    let rest = body.strip_prefix(SIGNATURE)?;
    let (_flags, rest) = rest.split_first_chunk::<4>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    rest.get(usize::try_from(u32::from_be_bytes(*length)).ok()?..)
}
