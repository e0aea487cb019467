//! Commands sent ahead of the next exchange without a caller that waits: a pool's reset, and BEGIN.

use colonnade_protocol::backend::TransactionStatus;

use super::{Session, Talk};
use crate::exchange::Script;
use crate::{Error, Event, Sink};

impl<S: Sink> Session<S> {
    /// Whether no request was made since start-up or since the last reset: then the state of the
    /// server's session is unchanged.
    pub fn is_untouched(&self) -> bool {
        !self.talk.link.touched
    }

    /// The number of requests, without start-up and commands sent ahead.
    pub fn exchanges(&self) -> u64 {
        self.talk.link.exchanges
    }

    /// Records that a reset has ended well: the server's session is as it was after start-up.
    pub fn mark_untouched(&mut self) {
        self.talk.link.touched = false;
        self.talk.link.parameters_changed = false;
    }

    /// Begins to reset the server's session by a script that no caller waits for. Its success makes
    /// no event; its failure ends the session, and the exchange after it fails with that error.
    ///
    /// Returns false and does nothing if the reset must be waited for: another exchange is under
    /// way, a transaction is open, or a run-time parameter has changed. The session's record of
    /// these would be wrong for the next user.
    ///
    /// # Errors
    /// A closed session, or a text that cannot be sent.
    pub fn script_ahead(&mut self, sql: &str) -> Result<bool, Error> {
        let link = &self.talk.link;
        let is_ready = self.talk.running.is_empty()
            && link.transaction_status == TransactionStatus::Idle
            && !link.parameters_changed;
        if !link.closed && !is_ready {
            return Ok(false);
        }
        let exchange = Script::start(sql, &mut self.talk.out)?;
        self.talk.queue(exchange, true)?;
        self.mark_untouched();
        Ok(true)
    }

    /// Begins a transaction without waiting for it: the command travels with the next exchange. Its
    /// success makes no event; its failure ends the session, as for `script_ahead`.
    ///
    /// Returns false and does nothing if another exchange is under way or a transaction is open.
    ///
    /// # Errors
    /// A closed session, or a text that cannot be sent.
    pub fn begin_ahead(&mut self, sql: &str) -> Result<bool, Error> {
        let is_ready = self.is_idle() && self.transaction_status() == TransactionStatus::Idle;
        if !self.is_closed() && !is_ready {
            return Ok(false);
        }
        let exchange = Script::start(sql, &mut self.talk.out)?;
        self.talk.queue(exchange, true)?;
        self.talk.link.touched = true;
        self.talk.link.exchanges += 1;
        self.talk.link.begun_ahead = true;
        Ok(true)
    }

    /// Whether the server is busy with a command sent ahead: a cancel request would hit that
    /// command and not the exchange after it.
    pub fn runs_ahead(&self) -> bool {
        self.talk.running.front().is_some_and(|running| running.ahead)
    }

    /// The number of bytes received since the last call that answer commands sent ahead: they
    /// belong to no caller's query.
    pub fn take_ahead_bytes(&mut self) -> usize {
        std::mem::take(&mut self.talk.link.ahead_bytes)
    }
}

impl<S: Sink> Talk<S> {
    /// Counts `len` bytes about to be handled, if they answer a command sent ahead.
    pub(super) fn note_ahead(&mut self, len: usize) {
        if self.running.front().is_some_and(|running| running.ahead) {
            self.link.ahead_bytes = self.link.ahead_bytes.saturating_add(len);
        }
    }

    /// Records a reported parameter. At start-up, and while a reset runs, it is not a change.
    pub(super) fn note_parameter(&mut self, name: &str, value: &str) {
        if name == "search_path" {
            self.link.known.path.take_report(value);
        }
        let is_asked = self.running.front().is_some_and(|running| !running.ahead);
        self.link.parameters_changed |= self.link.touched && is_asked;
    }

    /// Ends a command sent ahead.
    pub(super) fn ended_ahead(&mut self, event: Event<S>) {
        if let Event::Failed(error) = event {
            self.close(Error::Ahead(Box::new(error)));
        }
    }
}
