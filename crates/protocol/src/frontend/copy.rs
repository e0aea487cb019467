//! COPY data on its way to the server.

use super::LocalError;
use super::writer::{bare, message, text};

/// Sends a piece of the data; pieces need not end at the end of a row.
pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) -> Result<(), LocalError> {
    copy_data_with(out, |out| out.extend_from_slice(data))
}

/// Sends the piece of the data that `write` appends.
pub fn copy_data_with(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<(), LocalError> {
    message(out, b'd', "CopyData", |out| {
        write(out);
        Ok(())
    })
}

/// Ends the data successfully.
pub fn copy_done(out: &mut Vec<u8>) {
    bare(out, b'c');
}

/// Aborts the data: the server fails the COPY with an error that quotes `reason`.
pub fn copy_fail(out: &mut Vec<u8>, reason: &str) -> Result<(), LocalError> {
    message(out, b'f', "CopyFail", |out| text(out, "reason to fail the COPY", reason))
}
