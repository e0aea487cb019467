//! Events and announcements that a session delivers to its owner.

use std::sync::Arc;

use colonnade_protocol::backend::ErrorFields;

use crate::{Error, Sink, Statement};

/// An event of the front exchange, delivered in the order in which events happen.
#[derive(Debug)]
pub enum Event<S: Sink> {
    /// The server waits for a GSSAPI token: answer with `gss_token`. Carries the server's own
    /// token, which is empty at the beginning.
    GssToken(Vec<u8>),
    /// A finished batch of a streaming query.
    Batch(S::Batch),
    /// The server waits for COPY data: send `copy_data`, then `copy_done` or `copy_fail`.
    CopyIn,
    /// Data of a COPY TO STDOUT: the payloads of one or more CopyData messages.
    CopyData(Vec<u8>),
    /// The exchange ended well and the server is ready for the next one.
    Complete(Completion<S>),
    /// The exchange failed. Unless the session is closed, the server is ready for the next one.
    Failed(Error),
}

/// The outcome of a successful exchange.
#[derive(Debug)]
pub struct Completion<S> {
    /// The last command tag, such as `SELECT 5`; none after start-up, prepare and empty queries.
    pub tag: Option<String>,
    /// The statement that a prepare exchange made, or the statement of a query that refined its
    /// columns.
    pub statement: Option<Arc<Statement>>,
    /// The query's sink, with the rows it collected.
    pub sink: Option<S>,
    /// Whether the portal is suspended: it may have more rows.
    pub has_more: bool,
}

impl<S> Default for Completion<S> {
    fn default() -> Self {
        Self { tag: None, statement: None, sink: None, has_more: false }
    }
}

/// A message that a server may send at any time, during an exchange or between two.
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
        /// The payload, empty if none was given.
        payload: String,
    },
}
