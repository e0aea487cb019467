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

/// The count is unsigned in practice: servers accept and report up to 65535 parameters. They accept
/// more, too, and count from 0 again in 16 bits, though they tell each of the types. No values can
/// be sent for so many; to read them is what keeps the connection.
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
