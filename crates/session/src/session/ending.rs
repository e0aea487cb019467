//! How an error ends an exchange or the whole session.

use colonnade_protocol::backend::ErrorFields;

use super::{Link, Talk};
use crate::exchange::unexpected;
use crate::{Announcement, Error, Event, Sink};

impl Link {
    /// The error for requests after the end.
    pub(super) fn refusal(&self) -> Error {
        if self.cut_off { Error::CutOff } else { Error::Closed }
    }
}

impl<S: Sink> Talk<S> {
    /// Handles an ErrorResponse.
    pub(super) fn take_error(&mut self, fields: ErrorFields) -> Result<(), Error> {
        self.link.copying = false;
        let fatal = matches!(fields.severity(), Some("FATAL" | "PANIC"));
        let fields = Box::new(fields);
        if fatal {
            // Before the end of start-up the server refuses the connection; nothing was
            // interrupted.
            let has_started = self.link.cancel_key.is_some();
            return Err(if has_started {
                self.link.farewell = Some(fields.clone());
                Error::ClosedByServer(fields)
            } else {
                Error::Server(fields)
            });
        }
        let error = Error::Server(fields);
        match self.running.front_mut() {
            Some(front) if front.has_error => {
                front.failure = None;
                return Err(unexpected("ErrorResponse"));
            }
            Some(front) => {
                front.has_error = true;
                front.failure.get_or_insert(error);
            }
            None => return Err(error),
        }
        if self.running.len() == 1 {
            // The server waits for the Sync, and runs nothing before it.
            self.link.end_series(&mut self.out);
        }
        Ok(())
    }

    /// Ends the session: the front exchange gets the reason, unless it has failed already, and the
    /// exchanges after it fail because they never ran.
    pub(super) fn close(&mut self, error: Error) {
        self.link.closed = true;
        self.link.copying = false;
        self.link.series_open = false;
        self.running.retain(|running| !running.ahead);
        let mut reason = Some(error);
        if self.running.is_empty()
            && let Some(Error::Server(fields) | Error::ClosedByServer(fields)) = reason.take()
        {
            // No exchange was under way, so the error is delivered as a notice.
            self.announce(Announcement::Notice(fields));
        }
        while let Some(done) = self.running.pop_front() {
            let error = done.failure.or_else(|| reason.take()).unwrap_or(Error::Closed);
            reason = None;
            if !done.abandoned {
                self.held.entry(done.number).or_default().push_back(Event::Failed(error));
            }
        }
        self.release_held();
    }
}
