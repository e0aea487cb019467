//! The PostgreSQL protocol 3.0, in both directions, without any I/O.
//!
//! The crate is a set of pure functions over slices and vectors, in the order of a byte's path:
//!
//! * [`frame`] cuts the receive buffer into frames. A run of whole `DataRow` frames stays one
//!   borrowed slice, [`DataRows`]; every other frame is one message.
//! * [`data_rows`] checks a run once and records the position of each value, column by column.
//! * [`backend`] parses one message body into a [`Message`].
//! * [`frontend`] appends one message to the send buffer.
//! * [`auth`] answers the server's authentication requests and verifies its proof.
//! * [`trace`] prints either direction for people and for test snapshots.
//!
//! Three rules hold everywhere. The peer is not trusted: its bytes give a value or a
//! [`RemoteError`], never a panic, and memory grows with the bytes received, not with the lengths
//! claimed. The crate knows no types, no SQL, no clock and no socket. Errors tell their cause:
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

/// A PostgreSQL object identifier: the number of a type or a table in the catalogs.
pub type Oid = u32;
