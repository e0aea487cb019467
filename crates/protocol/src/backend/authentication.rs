//! Authentication requests: one tag, distinguished by a code.

use super::Message;
use crate::error::{Fault, RemoteError};
use crate::reader::Reader;

/// The SASL mechanisms that the server offers, most preferred first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SaslMechanisms<'a> {
    /// At least one name; each is UTF-8, not empty and followed by a zero byte.
    names: &'a str,
}

impl<'a> SaslMechanisms<'a> {
    /// The names, such as `SCRAM-SHA-256`.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        self.names.split_terminator('\0')
    }

    fn parse(mut reader: Reader<'a>) -> Result<Self, RemoteError> {
        const PART: &str = "list of mechanisms";
        let bytes = reader.clone().remainder();
        while !reader.terminated(PART)?.is_empty() {}
        let names_len = bytes.len().saturating_sub(reader.left()).saturating_sub(1);
        let names = bytes.get(..names_len).unwrap_or(&[]);
        let names =
            std::str::from_utf8(names).map_err(|_| reader.fault(Fault::NotUtf8 { part: PART }))?;
        if names.is_empty() {
            return Err(reader.fault(Fault::NoMechanisms));
        }
        reader.finish()?;
        Ok(Self { names })
    }
}

pub(super) fn parse(mut reader: Reader<'_>) -> Result<Message<'_>, RemoteError> {
    let message = match reader.i32("request code")? {
        0 => Message::AuthenticationOk,
        3 => Message::AuthenticationCleartextPassword,
        5 => Message::AuthenticationMd5Password { salt: reader.salt()? },
        7 => Message::AuthenticationGss,
        8 => return Ok(Message::AuthenticationGssContinue(reader.remainder())),
        10 => return SaslMechanisms::parse(reader).map(Message::AuthenticationSasl),
        11 => return Ok(Message::AuthenticationSaslContinue(reader.remainder())),
        12 => return Ok(Message::AuthenticationSaslFinal(reader.remainder())),
        // The rest belongs to a method that will be refused.
        code => return Ok(Message::AuthenticationUnsupported(code)),
    };
    reader.finish()?;
    Ok(message)
}
