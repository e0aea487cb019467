//! Messages at the start of a connection: protocol version and cancel key.

use super::Message;
use crate::error::{Fault, RemoteError};
use crate::reader::Reader;

/// The longest key in protocol 3.2; in 3.0 it always has 4 bytes.
const SECRET_KEY_LEN_MAX: usize = 256;

pub(super) fn backend_key_data(mut reader: Reader<'_>) -> Result<Message<'_>, RemoteError> {
    let process_id = reader.i32("process id")?;
    let secret_key = reader.remainder();
    if secret_key.len() < 4 {
        return Err(reader.fault(Fault::Truncated { part: "secret key" }));
    }
    if secret_key.len() > SECRET_KEY_LEN_MAX {
        let (part, length, limit) = ("secret key", secret_key.len(), SECRET_KEY_LEN_MAX);
        return Err(reader.fault(Fault::TooLong { part, length, limit }));
    }
    Ok(Message::BackendKeyData { process_id, secret_key })
}

/// The documentation of PostgreSQL up to 17 calls the first number the newest minor version, but
/// servers send the whole version, the major in the upper half. Both are understood.
pub(super) fn negotiate_protocol_version(
    mut reader: Reader<'_>,
) -> Result<Message<'_>, RemoteError> {
    let version = reader.i32("protocol version")?;
    if !matches!(version >> 16, 0 | 3) {
        return Err(reader.fault(Fault::ProtocolVersion { version }));
    }
    let part = "count of unrecognized options";
    let count = reader.i32(part)?;
    let count =
        usize::try_from(count).map_err(|_| reader.fault(Fault::Negative { part, value: count }))?;
    let mut unrecognized = Vec::with_capacity(count.min(reader.left()));
    for _ in 0..count {
        unrecognized.push(reader.text("unrecognized option")?.to_owned());
    }
    reader.finish()?;
    Ok(Message::NegotiateProtocolVersion { newest_minor: version & 0xffff, unrecognized })
}
