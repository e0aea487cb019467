//! Checks the order of a server's answer: each message comes once and in its place, and the command
//! tag gives the number of rows.
//!
//! So an exchange never takes another exchange's answer for its own. A lost or repeated message is
//! detected, and the session ends there.

use std::mem;

use colonnade_protocol::backend::Message;

use super::unexpected;
use crate::Error;

/// The next expected part of an answer.
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

/// The answer to Parse and Describe.
pub(crate) const DESCRIBED: &[Part] =
    &[Part::ParseComplete, Part::ParameterDescription, Part::Description];

/// The answer to Bind and Execute, preceded by Parse and Describe unless the server keeps the
/// statement.
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

/// Progress through the answer to a series of extended-protocol messages.
pub(crate) struct Answer {
    left: &'static [Part],
    rows: u64,
    /// The row limit of the Execute; 0 for all rows.
    row_limit: i32,
}

impl Answer {
    pub(crate) const fn new(parts: &'static [Part], row_limit: i32) -> Self {
        Self { left: parts, rows: 0, row_limit }
    }

    /// Accepts a message in its place.
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

    /// Accepts `count` rows.
    pub(crate) fn take_rows(&mut self, count: usize) -> Result<(), Error> {
        if self.left.first() != Some(&Part::Rows) {
            return Err(unexpected("DataRow"));
        }
        self.rows += count as u64;
        Ok(())
    }

    /// At the end of a result with rows: compares their number with the command tag.
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

    /// Whether the answer is complete.
    pub(crate) const fn is_whole(&self) -> bool {
        self.left.is_empty()
    }

    /// Whether the statement was bound, and the end of its result is still to come.
    pub(crate) fn is_running(&self) -> bool {
        self.left == [Part::Rows]
    }

    /// Checks at ReadyForQuery that the answer is complete.
    pub(crate) fn check_whole(&self) -> Result<(), Error> {
        if self.is_whole() { Ok(()) } else { Err(unexpected("ReadyForQuery")) }
    }
}

/// Progress through the answer to a simple query: for each statement a result or a command tag.
#[derive(Default)]
pub(crate) struct SimpleAnswer {
    is_in_result: bool,
    has_ended: bool,
}

impl SimpleAnswer {
    /// Accepts a message in its place.
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

    /// Whether the present statement has a result with columns.
    pub(crate) const fn is_in_result(&self) -> bool {
        self.is_in_result
    }

    /// Checks that rows are allowed here.
    pub(crate) fn check_rows(&self) -> Result<(), Error> {
        if self.is_in_result { Ok(()) } else { Err(unexpected("DataRow")) }
    }

    /// Checks at ReadyForQuery that the answer is complete.
    pub(crate) fn check_whole(&self) -> Result<(), Error> {
        let is_whole = self.has_ended && !self.is_in_result;
        if is_whole { Ok(()) } else { Err(unexpected("ReadyForQuery")) }
    }
}

/// The row count at the end of a command tag.
pub(crate) fn row_count(tag: &str) -> Option<u64> {
    tag.rsplit(' ').next()?.parse().ok()
}
