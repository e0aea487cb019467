//! What is sent ahead of the next exchange, and nobody waits for: a pool's reset, and BEGIN.

use colonnade_protocol::backend::TransactionStatus;

use super::{Session, Talk};
use crate::exchange::Script;
use crate::{Error, Event, Sink};

impl<S: Sink> Session<S> {
    /// Whether nothing was asked of the server since start-up, or since the last reset: then the
    /// state of its session is what it was.
    pub fn is_untouched(&self) -> bool {
        !self.talk.link.touched
    }

    /// How much was asked of the server, without start-up and what was sent ahead.
    pub fn exchanges(&self) -> u64 {
        self.talk.link.exchanges
    }

    /// The state of the server's session is what it was after start-up: a reset has ended well.
    pub fn mark_untouched(&mut self) {
        self.talk.link.touched = false;
        self.talk.link.parameters_changed = false;
    }

    /// Begins to reset the server's session by a script that nobody waits for. Its success makes no
    /// event; its failure ends the session, and the exchange behind it fails with that.
    ///
    /// False, and nothing is begun, where its end must be waited for before anything else is asked:
    /// another exchange is under way, a transaction is open, or a run-time parameter has changed.
    /// What the session knows of these would be wrong for whoever comes next.
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

    /// Begins a transaction by a command that nobody waits for: it travels with the next exchange.
    /// Its success makes no event; its failure ends the session, as that of `script_ahead`.
    ///
    /// False, and nothing is begun, where another exchange is under way or a transaction is open.
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

    /// Whether the server is busy with what was sent ahead: a cancel request would hit that, and
    /// not the exchange behind it.
    pub fn runs_ahead(&self) -> bool {
        self.talk.running.front().is_some_and(|running| running.ahead)
    }

    /// How many bytes have come, since this was last asked, that answer what was sent ahead: they
    /// belong to nobody's query.
    pub fn take_ahead_bytes(&mut self) -> usize {
        std::mem::take(&mut self.talk.link.ahead_bytes)
    }
}

impl<S: Sink> Talk<S> {
    /// So many bytes are about to be handled: are they of an answer that nobody waits for?
    pub(super) fn note_ahead(&mut self, len: usize) {
        if self.running.front().is_some_and(|running| running.ahead) {
            self.link.ahead_bytes = self.link.ahead_bytes.saturating_add(len);
        }
    }

    /// A parameter was reported. At start-up, and while a reset runs, that is no change.
    pub(super) fn note_parameter(&mut self) {
        let is_asked = self.running.front().is_some_and(|running| !running.ahead);
        self.link.parameters_changed |= self.link.touched && is_asked;
    }

    /// What was sent ahead has ended.
    pub(super) fn ended_ahead(&mut self, event: Event<S>) {
        if let Event::Failed(error) = event {
            self.close(Error::Ahead(Box::new(error)));
        }
    }
}
