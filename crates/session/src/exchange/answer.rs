//! The order of a server's answers. Each message comes once and at its place, and the end of a
//! result tells how many rows it had.
//!
//! So the answer of another exchange is never taken for this one's: a message that was lost, or
//! came twice, shows, and the session ends there.

use std::mem;

use colonnade_protocol::backend::Message;

use super::unexpected;
use crate::Error;

/// What must come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    ParseComplete,
    ParameterDescription,
    /// RowDescription or NoData.
    Description,
    BindComplete,
    /// Any number of rows, and the end of the result.
    Rows,
}

/// To Parse and Describe.
pub(crate) const DESCRIBED: &[Part] =
    &[Part::ParseComplete, Part::ParameterDescription, Part::Description];

/// To Bind and Execute, after a Parse and a Describe where the statement is not kept.
pub(crate) const fn executed(is_kept: bool) -> &'static [Part] {
    if is_kept {
        &[Part::BindComplete, Part::Rows]
    } else {
        &[
            Part::ParseComplete,
            Part::ParameterDescription,
            Part::Description,
            Part::BindComplete,
            Part::Rows,
        ]
    }
}

/// As `executed`, but for a Bind alone.
pub(crate) const fn bound(is_kept: bool) -> &'static [Part] {
    match executed(is_kept) {
        [parts @ .., Part::Rows] => parts,
        parts => parts,
    }
}

/// How far the answer to messages of the extended protocol has come.
pub(crate) struct Answer {
    left: &'static [Part],
    rows: u64,
    /// What an Execute asks for at most; 0 for all.
    row_limit: i32,
}

impl Answer {
    pub(crate) const fn new(parts: &'static [Part], row_limit: i32) -> Self {
        Self { left: parts, rows: 0, row_limit }
    }

    /// Takes a message at its place.
    pub(crate) fn take(&mut self, message: &Message<'_>) -> Result<(), Error> {
        let Some((part, left)) = self.left.split_first() else {
            return Err(unexpected(message.name()));
        };
        let is_it = match part {
            Part::ParseComplete => matches!(message, Message::ParseComplete),
            Part::ParameterDescription => matches!(message, Message::ParameterDescription(_)),
            Part::Description => matches!(message, Message::RowDescription(_) | Message::NoData),
            Part::BindComplete => matches!(message, Message::BindComplete),
            Part::Rows => matches!(
                message,
                Message::CommandComplete(_)
                    | Message::EmptyQueryResponse
                    | Message::PortalSuspended
            ),
        };
        if !is_it {
            return Err(unexpected(message.name()));
        }
        self.left = left;
        Ok(())
    }

    /// Takes so many rows.
    pub(crate) fn take_rows(&mut self, count: usize) -> Result<(), Error> {
        if self.left.first() != Some(&Part::Rows) {
            return Err(unexpected("DataRow"));
        }
        self.rows += count as u64;
        Ok(())
    }

    /// At the end of a result that has rows: compares them with what the end tells of them.
    pub(crate) fn check_rows(&mut self, end: &Message<'_>) -> Result<(), Error> {
        let found = mem::take(&mut self.rows);
        let told = match end {
            Message::CommandComplete(tag) => row_count(tag),
            Message::PortalSuspended => u64::try_from(self.row_limit).ok(),
            _ => None,
        };
        match told {
            Some(told) if told != found => Err(Error::RowCount { told, found }),
            _ => Ok(()),
        }
    }

    /// Whether all has come.
    pub(crate) const fn is_whole(&self) -> bool {
        self.left.is_empty()
    }

    /// What ReadyForQuery ends is whole.
    pub(crate) fn check_whole(&self) -> Result<(), Error> {
        if self.is_whole() { Ok(()) } else { Err(unexpected("ReadyForQuery")) }
    }
}

/// How far the answer to a text of the simple protocol has come: a result, or the word that it is
/// done, for each of its statements.
#[derive(Default)]
pub(crate) struct SimpleAnswer {
    is_in_result: bool,
    has_ended: bool,
}

impl SimpleAnswer {
    /// Takes a message at its place.
    pub(crate) fn take(&mut self, message: &Message<'_>) -> Result<(), Error> {
        match message {
            Message::RowDescription(_) if !self.is_in_result => self.is_in_result = true,
            Message::CommandComplete(_) => {
                self.is_in_result = false;
                self.has_ended = true;
            }
            Message::EmptyQueryResponse if !self.is_in_result => self.has_ended = true,
            other => return Err(unexpected(other.name())),
        }
        Ok(())
    }

    /// Rows have their place here.
    pub(crate) fn check_rows(&self) -> Result<(), Error> {
        if self.is_in_result { Ok(()) } else { Err(unexpected("DataRow")) }
    }

    /// What ReadyForQuery ends is whole.
    pub(crate) fn check_whole(&self) -> Result<(), Error> {
        let is_whole = self.has_ended && !self.is_in_result;
        if is_whole { Ok(()) } else { Err(unexpected("ReadyForQuery")) }
    }
}

/// The number of rows at the end of a command tag.
pub(crate) fn row_count(tag: &str) -> Option<u64> {
    tag.rsplit(' ').next()?.parse().ok()
}
