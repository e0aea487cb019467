//! What the bytes of the PostgreSQL protocol 3.0 mean, in both directions, without any I/O.
//!
//! The crate is a set of pure functions over slices and vectors, in the order in which a byte
//! meets them:
//!
//! * [`frame`] cuts the receive buffer into frames. A run of whole `DataRow` frames stays one
//!   borrowed slice, [`DataRows`]; every other frame is one message.
//! * [`data_rows`] checks a run once and notes where each value lies, column by column.
//! * [`backend`] parses one message body into a [`Message`].
//! * [`frontend`] appends one message to the send buffer.
//! * [`auth`] answers the server's authentication requests and verifies its proof.
//! * [`trace`] prints either direction for people and for test snapshots.
//!
//! Three rules hold everywhere. The peer is not trusted: whatever it sends gives a value or a
//! [`RemoteError`], never a panic, and memory is taken in proportion to what arrived, not to what
//! was claimed. The crate knows no types, no SQL, no clock and no socket. Fault is told apart:
//! [`LocalError`] is the caller's, [`RemoteError`] the server's, [`AuthError`] a refusal to trust.

pub mod auth;
pub mod backend;
pub mod data_rows;
pub mod error;
pub mod format;
pub mod frame;
pub mod frontend;
pub mod trace;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod reader;
mod tag;

pub use backend::{CopyFormat, ErrorFields, Field, Message, SaslMechanisms, TransactionStatus};
pub use data_rows::{DataRows, Span, Spans};
pub use error::{AuthError, Error, LocalError, RemoteError};
pub use format::Format;
pub use frame::{Frame, claimed_len, next_frame};
pub use frontend::EncodedParams;

/// A PostgreSQL object identifier: the number by which the catalogs know a type or a table.
pub type Oid = u32;
