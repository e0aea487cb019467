//! The single byte that answers a request for encryption, before frames begin.

use crate::error::{Error, RemoteError};

/// What the server says to [`ssl_request`](crate::frontend::ssl_request) or
/// [`gssenc_request`](crate::frontend::gssenc_request).
///
/// Exactly one byte may be read before the handshake starts: whatever follows it arrived
/// unencrypted and may have been put there by someone else, so it must be refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EncryptionReply {
    /// Begin the handshake.
    Accepted,
    /// Go on without encryption, or give up.
    Refused,
    /// An `ErrorResponse` begins: the server is too old or out of resources. Its text was not
    /// authenticated and should not be shown to users.
    Error,
}

impl EncryptionReply {
    /// Reads the byte.
    pub fn parse(byte: u8) -> Result<Self, Error> {
        match byte {
            b'S' | b'G' => Ok(Self::Accepted),
            b'N' => Ok(Self::Refused),
            b'E' => Ok(Self::Error),
            tag => Err(RemoteError::UnknownTag { tag }.into()),
        }
    }
}
