//! The client's messages: each function appends one whole message to the send buffer.
//!
//! A message that cannot be written is a [`LocalError`], and leaves the buffer unchanged. Functions
//! that cannot fail return nothing.

mod connect;
mod copy;
mod extended;
mod params;
mod series;
mod writer;

pub use connect::{
    cancel_request, gss_response, gssenc_request, password, sasl_initial_response, sasl_response,
    ssl_request, startup, terminate,
};
pub use copy::{copy_data, copy_data_with, copy_done, copy_fail};
pub use extended::{
    bind, close_portal, close_statement, describe_portal, describe_statement, execute, flush,
    parse, query, sync,
};
pub use params::EncodedParams;
pub use series::{BindExecute, executions};

use crate::error::LocalError;
