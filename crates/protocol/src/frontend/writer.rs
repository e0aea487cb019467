//! Writes one message: tag, length, body. The length is filled in when the body is known.

use crate::error::LocalError;
use crate::format::Format;

/// The limit on a message in PostgreSQL: the largest size of its memory allocations.
const MESSAGE_LEN_MAX: usize = 0x3fff_ffff;

/// Appends a message with this tag; `body` writes the part after the length.
///
/// After an error the buffer is truncated to the start of the message.
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

/// Appends a length that counts itself, followed by the output of `body`.
pub(super) fn counted(
    out: &mut Vec<u8>,
    name: &'static str,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), LocalError>,
) -> Result<(), LocalError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let result = body(out).and_then(|()| {
        let length = message_length(name, out.len().saturating_sub(start))?;
        patch(out, start, length);
        Ok(())
    });
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// The length of a message for its length field; also called before a large text is copied.
pub(super) fn message_length(name: &'static str, length: usize) -> Result<u32, LocalError> {
    match u32::try_from(length) {
        Ok(told) if length <= MESSAGE_LEN_MAX => Ok(told),
        _ => Err(LocalError::MessageTooLarge { message: name, length }),
    }
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

/// Appends a text and its terminating zero byte; `what` names the text in the error.
pub(super) fn text(out: &mut Vec<u8>, what: &'static str, text: &str) -> Result<(), LocalError> {
    bytes(out, what, text.as_bytes())
}

/// As [`text`], in whatever encoding.
pub(super) fn bytes(out: &mut Vec<u8>, what: &'static str, text: &[u8]) -> Result<(), LocalError> {
    if text.len() > MESSAGE_LEN_MAX {
        return Err(LocalError::TextTooLong { what, length: text.len() });
    }
    if text.contains(&0) {
        return Err(LocalError::NulInText { what });
    }
    out.extend_from_slice(text);
    out.push(0);
    Ok(())
}

/// Appends a list of format codes, shortened to one code if all are equal and to none if all are
/// text, as the protocol's defaults allow.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_told_up_to_the_servers_limit() {
        assert_eq!(message_length("Bind", 4), Ok(4));
        assert_eq!(message_length("Bind", MESSAGE_LEN_MAX), Ok(0x3fff_ffff));
        for length in [MESSAGE_LEN_MAX + 1, u32::MAX as usize + 5, usize::MAX] {
            let refused = Err(LocalError::MessageTooLarge { message: "Bind", length });
            assert_eq!(message_length("Bind", length), refused);
        }
    }

    #[test]
    fn a_long_text_is_refused_before_it_is_copied() {
        // Zero pages that are never written to take no memory.
        let zeros = vec![0; MESSAGE_LEN_MAX + 1];
        let long = std::str::from_utf8(&zeros).unwrap();
        let mut out = b"x".to_vec();
        let refused = message(&mut out, b'Q', "Query", |out| text(out, "query text", long));
        let length = zeros.len();
        assert_eq!(refused, Err(LocalError::TextTooLong { what: "query text", length }));
        assert_eq!(out, b"x");
        assert!(out.capacity() < 1024);
    }

    #[test]
    fn more_formats_than_can_be_counted_are_refused() {
        let mut out = Vec::new();
        let mut many = vec![Format::Binary; usize::from(u16::MAX) + 1];
        assert_eq!(formats(&mut out, &many), Ok(()));
        assert_eq!(out, [0, 1, 0, 1]);
        many.push(Format::Text);
        let refused = Err(LocalError::TooManyResultFormats { count: many.len() });
        assert_eq!(formats(&mut out, &many), refused);
    }
}
