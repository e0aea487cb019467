//! A session with a PostgreSQL server: one file per exchange, no I/O, no clock.
//!
//! A [`Session`] receives bytes and returns events and bytes to send. The owner of the socket (an
//! event loop, a blocking call, a scripted test) moves the bytes:
//!
//! 1. write [`Session::data_to_send`] to the socket,
//! 2. read into [`Session::receive_buffer`] and report the number of bytes with
//!    [`Session::receive_data`],
//! 3. take events with [`Session::next_event`] until there is none, and go on at 1.
//!
//! Rows never become messages: a run of rows goes straight from the receive buffer to the
//! [`Sink`] of the running query.

mod cancel_key;
mod column_plans;
pub mod conninfo;
mod error;
mod event;
mod exchange;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod gathering;
mod knowledge;
mod lease;
mod receive_buffer;
mod received_rows;
mod search_path;
mod session;
mod sink;
mod statement;

pub use cancel_key::CancelKey;
pub use column_plans::ColumnPlans;
pub use error::Error;
pub use event::{Announcement, Completion, Event};
pub use exchange::can_be_another;
pub use gathering::{Gathering, ResultBatch};
pub use receive_buffer::{RECEIVE_CAPACITY_BYTES, ReceiveWindow};
pub use received_rows::{ReceivedRows, check_formats};
pub use session::{Session, Startup};
pub use sink::{ColumnSink, Sink, SinkError};
pub use statement::{CacheLimits, Conversions, Portal, Statement};
