//! The errors of this crate, distinguished by their cause: the caller, the server, or
//! authentication.
//!
//! Every variant is data; `Display` makes the message, which names what was found, where, and, if
//! the reader can act on it, what to do. A server's `ErrorResponse` is not one of these: it is a
//! message like any other, see [`ErrorFields`](crate::ErrorFields).

mod auth;
mod local;
mod remote;

use std::fmt;

pub use auth::{AuthError, BindingGap, ScramFault};
pub use local::LocalError;
pub use remote::{Fault, RemoteError, RowFault};

/// Any failure of this crate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The caller asked for something that the protocol cannot carry. Nothing was sent.
    Local(LocalError),
    /// The server broke the protocol. The connection can no longer be trusted.
    Remote(RemoteError),
    /// The client refused to authenticate, or refused the server's proof.
    Auth(AuthError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(error) => error.fmt(f),
            Self::Remote(error) => error.fmt(f),
            Self::Auth(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Local(error) => Some(error),
            Self::Remote(error) => Some(error),
            Self::Auth(error) => Some(error),
        }
    }
}

impl From<LocalError> for Error {
    fn from(error: LocalError) -> Self {
        Self::Local(error)
    }
}

impl From<RemoteError> for Error {
    fn from(error: RemoteError) -> Self {
        Self::Remote(error)
    }
}

impl From<AuthError> for Error {
    fn from(error: AuthError) -> Self {
        Self::Auth(error)
    }
}
