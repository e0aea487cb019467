//! A cursor over one message body: every read either succeeds inside the body or names the part
//! that is missing.

use std::ffi::CStr;

use crate::error::{Fault, RemoteError};
use crate::format::Format;

/// Reads the parts of a body in order. `rest` is the unread part.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    message: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(message: &'static str, body: &'a [u8]) -> Self {
        Self { message, rest: body }
    }

    pub(crate) fn fault(&self, fault: Fault) -> RemoteError {
        RemoteError::Malformed { message: self.message, fault }
    }

    fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], RemoteError> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(*head)
            }
            None => Err(self.fault(Fault::Truncated { part })),
        }
    }

    pub(crate) fn u8(&mut self, part: &'static str) -> Result<u8, RemoteError> {
        self.array::<1>(part).map(|[byte]| byte)
    }

    pub(crate) fn i16(&mut self, part: &'static str) -> Result<i16, RemoteError> {
        self.array(part).map(i16::from_be_bytes)
    }

    pub(crate) fn u16(&mut self, part: &'static str) -> Result<u16, RemoteError> {
        self.array(part).map(u16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self, part: &'static str) -> Result<i32, RemoteError> {
        self.array(part).map(i32::from_be_bytes)
    }

    pub(crate) fn u32(&mut self, part: &'static str) -> Result<u32, RemoteError> {
        self.array(part).map(u32::from_be_bytes)
    }

    pub(crate) fn salt(&mut self) -> Result<[u8; 4], RemoteError> {
        self.array("salt")
    }

    /// A 16-bit count that the protocol defines as signed and never negative.
    pub(crate) fn count(&mut self, part: &'static str) -> Result<usize, RemoteError> {
        let count = self.i16(part)?;
        usize::try_from(count)
            .map_err(|_| self.fault(Fault::Negative { part, value: i32::from(count) }))
    }

    pub(crate) fn format(&mut self, part: &'static str) -> Result<Format, RemoteError> {
        let code = self.i16(part)?;
        Format::from_code(code).ok_or_else(|| self.fault(Fault::FormatCode { code }))
    }

    /// A length-prefixed value; -1 is NULL.
    pub(crate) fn value(&mut self, part: &'static str) -> Result<Option<&'a [u8]>, RemoteError> {
        let length = self.i32(part)?;
        if length == -1 {
            return Ok(None);
        }
        let length = usize::try_from(length)
            .map_err(|_| self.fault(Fault::Negative { part, value: length }))?;
        match self.rest.split_at_checked(length) {
            Some((value, rest)) => {
                self.rest = rest;
                Ok(Some(value))
            }
            None => Err(self.fault(Fault::Truncated { part })),
        }
    }

    /// The bytes up to the next zero byte, which is consumed.
    pub(crate) fn terminated(&mut self, part: &'static str) -> Result<&'a [u8], RemoteError> {
        match CStr::from_bytes_until_nul(self.rest) {
            Ok(text) => {
                self.rest = self.rest.get(text.count_bytes().saturating_add(1)..).unwrap_or(&[]);
                Ok(text.to_bytes())
            }
            Err(_) => Err(self.fault(Fault::Truncated { part })),
        }
    }

    /// A zero-terminated text.
    pub(crate) fn text(&mut self, part: &'static str) -> Result<&'a str, RemoteError> {
        let bytes = self.terminated(part)?;
        std::str::from_utf8(bytes).map_err(|_| self.fault(Fault::NotUtf8 { part }))
    }

    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Everything not read yet.
    pub(crate) fn remainder(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Refuses bytes after the last part.
    pub(crate) fn finish(self) -> Result<(), RemoteError> {
        match self.rest.len() {
            0 => Ok(()),
            count => Err(self.fault(Fault::Trailing { count })),
        }
    }
}
