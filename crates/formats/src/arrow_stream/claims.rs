//! The claims of a message, checked before arrow-rs believes them.

use std::fmt::Display;

use arrow_ipc::{Message, RecordBatch, root_as_message_with_opts};
use flatbuffers::VerifierOptions;

/// The bytes that the buffers of one message may decompress to: arrow-rs reserves the claimed size.
const DECOMPRESSED_BYTES_MAX: u64 = 1 << 31;
/// The rows that one message may claim: columns of nulls alone need no bytes for them.
const ROWS_MAX: i64 = 1 << 31;
/// Metadata may refer to the same bytes several times, as arrow-rs copies them each time. Writers
/// share some texts and the layouts of tables.
const APPARENT_BYTES_PER_BYTE: usize = 16;
/// Small metadata may share more.
const APPARENT_BYTES_AT_REST: usize = 1 << 16;

/// The message of this metadata, if what it describes is in proportion to its length.
pub(super) fn message(metadata: &[u8]) -> Result<Message<'_>, impl Display> {
    let options = VerifierOptions {
        max_apparent_size: metadata
            .len()
            .saturating_mul(APPARENT_BYTES_PER_BYTE)
            .saturating_add(APPARENT_BYTES_AT_REST),
        ..VerifierOptions::default()
    };
    root_as_message_with_opts(&options, metadata)
}

/// Why the claims of a message are refused, if they are.
pub(super) fn excess(message: &Message<'_>, body: &[u8]) -> Option<String> {
    let batch = batch(message)?;
    if !(0..=ROWS_MAX).contains(&batch.length()) {
        return Some(format!("a message claims {} rows", batch.length()));
    }
    // arrow-rs asserts it.
    if batch.buffers().into_iter().flatten().any(|buffer| slice(buffer, body).is_none()) {
        return Some(format!("a message of {} bytes has a buffer outside them", body.len()));
    }
    // arrow-rs copies a buffer that is not aligned, so columns must not share one.
    let told = batch.buffers().into_iter().flatten().map(|buffer| buffer.length());
    let told = told.fold(0_u64, |sum, length| sum.saturating_add(length.unsigned_abs()));
    if told > body.len() as u64 {
        return Some(format!("a message of {} bytes has buffers of {told} bytes", body.len()));
    }
    let claimed = decompressed_bytes(&batch, body);
    (claimed > DECOMPRESSED_BYTES_MAX)
        .then(|| format!("a message claims {claimed} bytes of decompressed data"))
}

/// The columns of a message, and the parts of columns.
pub(super) fn columns(message: &Message<'_>) -> u64 {
    let nodes = batch(message).and_then(|batch| batch.nodes());
    nodes.map_or(0, |nodes| nodes.len() as u64)
}

/// The values of all columns and their parts. Those of nulls and of runs need no bytes in a
/// message, but a reader makes an object of each.
pub(super) fn values(message: &Message<'_>) -> u64 {
    let nodes = batch(message).and_then(|batch| batch.nodes());
    let lengths = nodes.into_iter().flatten().map(|node| node.length().unsigned_abs());
    lengths.fold(0, u64::saturating_add)
}

/// The bytes that the buffers of a message claim, decompressed.
pub(super) fn decoded_bytes(message: &Message<'_>, body: &[u8]) -> u64 {
    let compressed = batch(message).filter(|batch| batch.compression().is_some());
    compressed.map_or(body.len() as u64, |batch| decompressed_bytes(&batch, body))
}

fn batch<'a>(message: &Message<'a>) -> Option<RecordBatch<'a>> {
    match message.header_as_dictionary_batch() {
        Some(dictionary) => dictionary.data(),
        None => message.header_as_record_batch(),
    }
}

/// The bytes of a buffer, if the body has them.
fn slice<'a>(buffer: &arrow_ipc::Buffer, body: &'a [u8]) -> Option<&'a [u8]> {
    let from = usize::try_from(buffer.offset()).ok()?;
    let length = usize::try_from(buffer.length()).ok()?;
    body.get(from..)?.get(..length)
}

fn decompressed_bytes(batch: &RecordBatch<'_>, body: &[u8]) -> u64 {
    if batch.compression().is_none() {
        return 0;
    }
    let mut claimed = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let prefix = slice(buffer, body).and_then(|bytes| bytes.first_chunk::<8>());
        // A buffer of no bytes has no prefix; -1 says that it is not compressed.
        let length = prefix.map_or(0, |prefix| i64::from_le_bytes(*prefix));
        let length = u64::try_from(length).unwrap_or(buffer.length().unsigned_abs());
        claimed = claimed.saturating_add(length);
    }
    claimed
}
