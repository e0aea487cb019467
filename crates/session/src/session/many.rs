//! Many executions of one statement, as the owner calls them.

use std::sync::Arc;

use colonnade_protocol::backend::TransactionStatus;
use colonnade_protocol::frontend::{self, EncodedParams};

use super::{Link, Session};
use crate::exchange::{Many, Series};
use crate::{Error, Sink, Statement};

impl<S: Sink> Session<S> {
    /// Begins to run a statement many times; the rows of all executions go to the sink. Send with
    /// `send_many` and finish with `end_many`; no other exchange may begin before that.
    ///
    /// # Errors
    /// A closed session.
    pub fn many(&mut self, statement: Arc<Statement>, sink: S) -> Result<(), Error> {
        self.talk.check_encoding()?;
        if self.is_closed() {
            return Err(self.talk.link.refusal());
        }
        let sent = Arc::new(Series::default());
        let exchange = Many::start(statement, sink, Arc::clone(&sent), &mut self.talk.out)?;
        self.talk.begin(exchange)?;
        self.talk.link.series = sent;
        self.talk.link.series_open = true;
        Ok(())
    }

    /// Sends the messages that [`BindExecute`](frontend::BindExecute) has written for the
    /// statement. Returns false if no more are wanted: the exchange ends with an error.
    pub fn send_many(&mut self, messages: &[u8]) -> bool {
        if self.talk.link.series_open {
            self.talk.out.extend_from_slice(messages);
            self.talk.link.series.add(frontend::executions(messages));
        }
        self.talk.link.series_open
    }

    /// Ends the series.
    pub fn end_many(&mut self) {
        self.talk.link.end_series(&mut self.talk.out);
    }

    /// Aborts the series and rolls it back, unless it runs in a transaction. The exchange ends as
    /// if nothing had failed.
    pub fn give_up_many(&mut self) {
        self.talk.link.give_up_series(&mut self.talk.out);
    }
}

impl Link {
    /// Sends the Sync of an open series; returns false if none is open.
    pub(crate) fn end_series(&mut self, out: &mut Vec<u8>) -> bool {
        let was_open = std::mem::take(&mut self.series_open);
        if was_open {
            frontend::sync(out);
        }
        was_open
    }

    /// As `end_series`, but rolls the series back if it is not in a transaction.
    pub(crate) fn give_up_series(&mut self, out: &mut Vec<u8>) {
        // A BEGIN that the server has not confirmed yet still encloses the series.
        let is_alone = self.transaction_status == TransactionStatus::Idle && !self.begun_ahead;
        if self.series_open && is_alone {
            // Constant texts without NUL always encode.
            let _ = frontend::parse(out, "", "ROLLBACK", &[]);
            let _ = frontend::bind(out, "", "", &EncodedParams::new(), &[]);
            let _ = frontend::execute(out, "", 0);
            self.series.undo();
        }
        self.end_series(out);
    }
}
