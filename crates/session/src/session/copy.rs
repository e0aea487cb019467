//! COPY, from the owner's side.

use colonnade_protocol::frontend;

use super::Session;
use crate::exchange::{CopyIn, CopyOut};
use crate::{Error, Sink};

/// The memory that stays for the next query; a larger message gives its memory back.
const KEPT_BYTES_MAX: usize = 4 * 1024;

impl<S: Sink> Session<S> {
    /// Begins a COPY ... FROM STDIN; [`Event::CopyIn`](crate::Event::CopyIn) says when data may be
    /// sent.
    ///
    /// # Errors
    /// A closed session, or a text that cannot be sent.
    pub fn copy_in(&mut self, sql: &str) -> Result<(), Error> {
        let exchange = CopyIn::start(sql, &mut self.talk.out)?;
        self.talk.begin(exchange)
    }

    /// Begins a COPY ... TO STDOUT; its data comes as [`Event::CopyData`](crate::Event::CopyData).
    ///
    /// # Errors
    /// A closed session, or a text that cannot be sent.
    pub fn copy_out(&mut self, sql: &str) -> Result<(), Error> {
        let exchange = CopyOut::start(sql, &mut self.talk.out)?;
        self.talk.begin(exchange)
    }

    /// Sends COPY data. False where the server takes none any more: it has refused the copy, and
    /// the exchange ends in that error.
    ///
    /// # Errors
    /// Data longer than one message can be.
    pub fn copy_data(&mut self, data: &[u8]) -> Result<bool, Error> {
        if self.talk.link.copying {
            frontend::copy_data(&mut self.talk.out, data)?;
        }
        Ok(self.talk.link.copying)
    }

    /// As [`copy_data`](Self::copy_data), of data that `write` appends to the vector it is given.
    /// Nothing is sent where it answers false, and it is not asked where nothing is taken.
    ///
    /// # Errors
    /// Data longer than one message can be.
    pub fn copy_data_with(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> Result<bool, Error> {
        if self.talk.link.copying {
            let out = &mut self.talk.out;
            let start = out.len();
            let mut is_wanted = false;
            frontend::copy_data_with(out, |out| is_wanted = write(out))?;
            if !is_wanted {
                out.truncate(start);
            }
        }
        Ok(self.talk.link.copying)
    }

    /// How many bytes wait to be written to the socket; `None` where the server takes no data: it
    /// has not asked for it, or has refused the copy since.
    pub fn copy_waiting(&self) -> Option<usize> {
        self.talk.link.copying.then_some(self.talk.out.len())
    }

    /// Says that all COPY data was sent.
    pub fn copy_done(&mut self) {
        if std::mem::take(&mut self.talk.link.copying) {
            frontend::copy_done(&mut self.talk.out);
        }
    }

    /// Gives the COPY up; the exchange fails with the server's error, which quotes the reason.
    ///
    /// # Errors
    /// A reason that cannot be sent.
    pub fn copy_fail(&mut self, reason: &str) -> Result<(), Error> {
        if std::mem::take(&mut self.talk.link.copying) {
            frontend::copy_fail(&mut self.talk.out, reason)?;
        }
        Ok(())
    }

    /// Lends the bytes that must be written to the socket to `read`. As `data_to_send`, but the
    /// memory stays where the next call needs it: that of a small query, and during a COPY, whose
    /// new pages would cost more than the data in them.
    pub fn send_with<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> T {
        if !self.talk.link.copying && self.talk.out.capacity() > KEPT_BYTES_MAX {
            return read(&self.data_to_send());
        }
        let answer = read(&self.talk.out);
        self.talk.out.clear();
        answer
    }
}
