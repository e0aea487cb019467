//! Many executions of one statement, from the owner's side.

use std::sync::Arc;

use colonnade_protocol::backend::TransactionStatus;
use colonnade_protocol::frontend::{self, EncodedParams};

use super::{Link, Session};
use crate::exchange::{Many, Series};
use crate::{Error, Sink, Statement};

impl<S: Sink> Session<S> {
    /// Begins to run a statement many times; the rows of all of them go to the sink. `send_many`
    /// sends, and `end_many` says that this was all: nothing else may be begun before.
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

    /// Sends what [`BindExecute`](frontend::BindExecute) has written for the statement. False where
    /// nothing more is wanted: the exchange ends in an error.
    pub fn send_many(&mut self, messages: &[u8]) -> bool {
        if self.talk.link.series_open {
            self.talk.out.extend_from_slice(messages);
            self.talk.link.series.add(frontend::executions(messages));
        }
        self.talk.link.series_open
    }

    /// Says that all was sent.
    pub fn end_many(&mut self) {
        self.talk.link.end_series(&mut self.talk.out);
    }

    /// Gives up what was begun, and undoes it, unless a transaction surrounds it. The exchange ends
    /// as if nothing had failed.
    pub fn give_up_many(&mut self) {
        self.talk.link.give_up_series(&mut self.talk.out);
    }
}

impl Link {
    /// Sends the Sync of an open series; false where there is none.
    pub(crate) fn end_series(&mut self, out: &mut Vec<u8>) -> bool {
        let was_open = std::mem::take(&mut self.series_open);
        if was_open {
            frontend::sync(out);
        }
        was_open
    }

    /// As `end_series`, but what the series did is undone where no transaction surrounds it.
    pub(crate) fn give_up_series(&mut self, out: &mut Vec<u8>) {
        // A BEGIN on its way surrounds the series, though the server has not said so yet.
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
