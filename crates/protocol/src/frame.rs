//! Cuts the receive buffer into frames: a tag byte, a length that counts itself, a body.
//!
//! Most of a large result are rows, so they never become messages: the longest run of whole
//! `DataRow` frames at the front is passed on as one borrowed slice. A fault after such a run is
//! reported by the next call, so the rows before it arrive however the bytes were split.

use crate::data_rows::DataRows;
use crate::error::{Error, RemoteError};
use crate::tag;

/// Bytes of the tag and the length field.
pub(crate) const HEADER_LEN: usize = 5;

/// The minimum length of a `CopyData` frame that is more than the end of binary data.
const COPY_ROW_LENGTH_MIN: usize = 7;

/// The maximum size of one run: the range of a 32-bit span, and far above any receive buffer.
const RUN_LEN_MAX: usize = u32::MAX as usize;

/// The next content of the receive buffer.
#[derive(Clone, Debug)]
pub enum Frame<'a> {
    /// The whole adjacent `DataRow` frames; at least one.
    DataRows(DataRows<'a>),
    /// The whole adjacent `CopyData` frames; at least one. In the binary format the body of each is
    /// a row, except for the first, which begins with a header. A frame of two bytes is not
    /// included: it may be the end of the data, and comes as a message.
    CopyData(DataRows<'a>),
    /// One whole frame of any other kind, for [`Message::parse`](crate::Message::parse).
    Message {
        /// The tag of the message; always one that servers use.
        tag: u8,
        /// The bytes after the length field.
        body: &'a [u8],
    },
}

/// Takes the next frame, or run of row frames, from the front of `bytes`.
///
/// Returns the frame and its size in bytes, or `None` if there is not even one whole frame. An
/// unknown tag or an impossible length is refused as soon as it is seen.
///
/// ```
/// use colonnade_protocol::{Frame, next_frame};
///
/// let bytes = b"Z\x00\x00\x00\x05I1\x00\x00";
/// let Some((Frame::Message { tag, body }, consumed)) = next_frame(bytes)? else { panic!() };
/// assert_eq!((tag, body, consumed), (b'Z', &b"I"[..], 6));
/// assert!(next_frame(&bytes[consumed..])?.is_none());
/// # Ok::<(), colonnade_protocol::Error>(())
/// ```
pub fn next_frame(bytes: &[u8]) -> Result<Option<(Frame<'_>, usize)>, Error> {
    let Some(&tag) = bytes.first() else { return Ok(None) };
    let run = match tag {
        tag::DATA_ROW => row_run::<{ tag::DATA_ROW }>(bytes, 4),
        tag::COPY_DATA => row_run::<{ tag::COPY_DATA }>(bytes, COPY_ROW_LENGTH_MIN),
        _ => (0, 0),
    };
    if let (consumed @ 1.., rows) = run
        && let Some(run) = bytes.get(..consumed)
    {
        let rows = DataRows::new(run, rows);
        let frame =
            if tag == tag::DATA_ROW { Frame::DataRows(rows) } else { Frame::CopyData(rows) };
        return Ok(Some((frame, consumed)));
    }
    // An empty run reaches this point: its first frame is either incomplete or faulty.
    let Some(total) = claimed_len(bytes)? else { return Ok(None) };
    let Some(body) = bytes.get(HEADER_LEN..total) else { return Ok(None) };
    Ok(Some((Frame::Message { tag, body }, total)))
}

/// The total size of the frame at the front, once its 5-byte header is there.
///
/// `None` asks for more bytes. The result is bounded per message, so a receive buffer may grow to
/// it: 1 GiB and 64 KiB for messages that carry data or text, 64 KiB for all others.
pub fn claimed_len(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let Some(&tag) = bytes.first() else { return Ok(None) };
    let limit = tag::length_max(tag).ok_or(RemoteError::UnknownTag { tag })?;
    let Some(&[_, a, b, c, d]) = bytes.first_chunk::<HEADER_LEN>() else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]);
    if length < 4 {
        return Err(RemoteError::LengthTooSmall { tag, length }.into());
    }
    let claimed = length as usize;
    if claimed > limit {
        return Err(RemoteError::LengthTooLarge { tag, length, limit }.into());
    }
    Ok(Some(claimed + 1))
}

/// The size in bytes and the number of the whole, plausible frames at the front that have the tag
/// `TAG` and a length of at least `least`.
///
/// Stops without an error at any other frame, which the caller examines if no frame precedes it.
fn row_run<const TAG: u8>(bytes: &[u8], least: usize) -> (usize, usize) {
    let run_max = bytes.len().min(RUN_LEN_MAX);
    let mut rest = bytes.get(..run_max).unwrap_or(bytes);
    let mut rows = 0;
    while let Some(&[tag, a, b, c, d]) = rest.first_chunk::<HEADER_LEN>() {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if tag != TAG || !(least..=tag::LONG_LENGTH_MAX).contains(&length) {
            break;
        }
        let Some(next) = rest.get(length + 1..) else { break };
        rest = next;
        rows += 1;
    }
    (run_max - rest.len(), rows)
}
