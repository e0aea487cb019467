//! Writes one message: tag, length, body. The length is filled in when the body is known.

use crate::error::LocalError;
use crate::format::Format;

/// Servers refuse larger messages: it is what one allocation of theirs can hold.
const MESSAGE_LEN_MAX: usize = 0x3fff_ffff;

/// Appends a message with this tag and lets `body` write what follows the length.
///
/// On an error the buffer is cut back to where the message started.
pub(super) fn message(
    out: &mut Vec<u8>,
    tag: u8,
    name: &'static str,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), LocalError>,
) -> Result<(), LocalError> {
    let start = out.len();
    out.push(tag);
    let result = counted(out, name, body);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Appends a length that counts itself and what `body` writes behind it.
pub(super) fn counted(
    out: &mut Vec<u8>,
    name: &'static str,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), LocalError>,
) -> Result<(), LocalError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let result = body(out).and_then(|()| {
        let length = out.len().saturating_sub(start);
        match u32::try_from(length) {
            Ok(counted) if length <= MESSAGE_LEN_MAX => {
                patch(out, start, counted);
                Ok(())
            }
            _ => Err(LocalError::MessageTooLarge { message: name, length }),
        }
    });
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Overwrites the four bytes at `start`.
pub(super) fn patch(out: &mut [u8], start: usize, value: u32) {
    if let Some(slot) = out.get_mut(start..).and_then(|tail| tail.first_chunk_mut()) {
        *slot = value.to_be_bytes();
    }
}

/// Appends a message without a body.
pub(super) fn bare(out: &mut Vec<u8>, tag: u8) {
    out.extend_from_slice(&[tag, 0, 0, 0, 4]);
}

/// Appends a text and the zero byte that ends it; `what` names the text in the error.
pub(super) fn text(out: &mut Vec<u8>, what: &'static str, text: &str) -> Result<(), LocalError> {
    if text.as_bytes().contains(&0) {
        return Err(LocalError::NulInText { what });
    }
    out.extend_from_slice(text.as_bytes());
    out.push(0);
    Ok(())
}

/// Appends a list of format codes, shortened to one code when all are the same and to none when
/// all are text, which is what the protocol's defaults mean.
pub(super) fn formats(out: &mut Vec<u8>, formats: &[Format]) -> Result<(), LocalError> {
    let count = formats.len();
    let listed = match formats {
        [] => formats,
        [first, rest @ ..] if rest.iter().all(|format| format == first) => match first {
            Format::Text => &[],
            Format::Binary => std::slice::from_ref(first),
        },
        _ => formats,
    };
    let listed_count =
        u16::try_from(listed.len()).map_err(|_| LocalError::TooManyResultFormats { count })?;
    out.extend_from_slice(&listed_count.to_be_bytes());
    for format in listed {
        out.extend_from_slice(&format.code().to_be_bytes());
    }
    Ok(())
}
