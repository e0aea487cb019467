//! The two messages with "parameter" in their name: settings of the session, and the types of a
//! statement's placeholders.

use super::Message;
use crate::error::RemoteError;
use crate::reader::Reader;

pub(super) fn parameter_status(mut reader: Reader<'_>) -> Result<Message<'_>, RemoteError> {
    let name = reader.text("name")?;
    let value = reader.text("value")?;
    reader.finish()?;
    Ok(Message::ParameterStatus { name, value })
}

/// The count is effectively unsigned: servers accept and report up to 65535 parameters. If there
/// are more, they accept them too, and the 16-bit count wraps around, though the types are all
/// sent. That many values cannot be sent, but the message must be read to keep the connection.
pub(super) fn parameter_description(mut reader: Reader<'_>) -> Result<Message<'_>, RemoteError> {
    let told = usize::from(reader.u16("parameter count")?);
    let listed = reader.left() / 4;
    let is_wrapped = listed > usize::from(u16::MAX) && listed % (1 << 16) == told;
    let count = if is_wrapped { listed } else { told };
    let mut types = Vec::with_capacity(count.min(reader.left() / 4));
    for _ in 0..count {
        types.push(reader.u32("parameter type")?);
    }
    reader.finish()?;
    Ok(Message::ParameterDescription(types))
}
