//! The key with which a server lets a second connection cancel the query of this one.

use std::fmt;

use colonnade_protocol::frontend;

/// Process and secret of the backend that serves a session.
#[derive(Clone, PartialEq, Eq)]
pub struct CancelKey {
    /// The backend's process identifier, as `pg_backend_pid()` gives it.
    pub process_id: i32,
    secret_key: Vec<u8>,
}

impl CancelKey {
    pub(crate) fn new(process_id: i32, secret_key: &[u8]) -> Self {
        Self { process_id, secret_key: secret_key.to_vec() }
    }

    /// The only message of a cancel connection. The server closes the connection after signalling.
    pub fn request(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        frontend::cancel_request(&mut out, self.process_id, &self.secret_key);
        out
    }
}

impl fmt::Debug for CancelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CancelKey {{ process_id: {}, secret_key: *** }}", self.process_id)
    }
}
