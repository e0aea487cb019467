//! What a session tells its owner.

use std::sync::Arc;

use colonnade_protocol::backend::ErrorFields;

use crate::{Error, Sink, Statement};

/// One step of the exchange at the front, in the order things happened.
#[derive(Debug)]
pub enum Event<S: Sink> {
    /// The server wants a token of GSSAPI: `gss_token`. With the server's own, which is empty at
    /// the beginning.
    GssToken(Vec<u8>),
    /// A finished batch of a streaming query.
    Batch(S::Batch),
    /// The server waits for COPY data: `copy_data`, then `copy_done` or `copy_fail`.
    CopyIn,
    /// Bytes of a COPY out, whole CopyData payloads put together.
    CopyData(Vec<u8>),
    /// The exchange ended well and the server is ready for the next one.
    Complete(Completion<S>),
    /// The exchange failed. Unless the session is closed, the server is ready for the next one.
    Failed(Error),
}

/// What an exchange that ended well leaves behind.
#[derive(Debug)]
pub struct Completion<S> {
    /// The last command tag, such as `SELECT 5`; none after start-up, prepare and empty queries.
    pub tag: Option<String>,
    /// The statement that a prepare exchange made, or of which a query has learned more.
    pub statement: Option<Arc<Statement>>,
    /// The sink of a query, with what it gathered.
    pub sink: Option<S>,
    /// Whether a portal was left before its end: it may have more rows.
    pub has_more: bool,
}

impl<S> Default for Completion<S> {
    fn default() -> Self {
        Self { tag: None, statement: None, sink: None, has_more: false }
    }
}

/// What a server may say at any time, exchange or not.
#[derive(Debug, Clone)]
pub enum Announcement {
    /// A NoticeResponse: a warning, a notice, a log message.
    Notice(Box<ErrorFields>),
    /// A NotificationResponse to a `LISTEN`.
    Notification {
        /// The backend that notified.
        process_id: i32,
        /// The channel's name.
        channel: String,
        /// The payload, empty where none was given.
        payload: String,
    },
}
