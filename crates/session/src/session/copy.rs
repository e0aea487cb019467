//! COPY, as the owner calls it.

use colonnade_protocol::frontend;

use super::Session;
use crate::exchange::{CopyIn, CopyOut};
use crate::{Error, Sink};

/// The memory kept for the next query; after a larger message the memory is freed.
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

    /// Sends COPY data. Returns false if the server no longer accepts data: it has refused the
    /// copy, and the exchange ends with that error.
    ///
    /// # Errors
    /// Data longer than one message can be.
    pub fn copy_data(&mut self, data: &[u8]) -> Result<bool, Error> {
        if self.talk.link.copying {
            frontend::copy_data(&mut self.talk.out, data)?;
        }
        Ok(self.talk.link.copying)
    }

    /// As [`copy_data`](Self::copy_data), for data that `write` appends to the given vector.
    /// Nothing is sent if `write` returns false, and `write` is not called if the server accepts no
    /// data.
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

    /// The number of bytes waiting to be written to the socket; `None` if the server accepts no
    /// data: it has not asked for it, or has since refused the copy.
    pub fn copy_waiting(&self) -> Option<usize> {
        self.talk.link.copying.then_some(self.talk.out.len())
    }

    /// Ends the COPY data.
    pub fn copy_done(&mut self) {
        if std::mem::take(&mut self.talk.link.copying) {
            frontend::copy_done(&mut self.talk.out);
        }
    }

    /// Aborts the COPY; the exchange fails with the server's error, which quotes the reason.
    ///
    /// # Errors
    /// A reason that cannot be sent.
    pub fn copy_fail(&mut self, reason: &str) -> Result<(), Error> {
        if std::mem::take(&mut self.talk.link.copying) {
            frontend::copy_fail(&mut self.talk.out, reason)?;
        }
        Ok(())
    }

    /// Passes the bytes to write to the socket to `read`: as `data_to_send`, but the memory is kept
    /// for the next call if the bytes are few, and during a COPY, because fresh pages cost more
    /// than the data in them.
    pub fn send_with<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> T {
        if !self.talk.link.copying && self.talk.out.capacity() > KEPT_BYTES_MAX {
            return read(&self.data_to_send());
        }
        let answer = read(&self.talk.out);
        self.talk.out.clear();
        answer
    }
}
