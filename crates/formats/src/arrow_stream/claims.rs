//! The claims of a message, checked before arrow-rs believes them.

use std::fmt::Display;

use arrow_ipc::{Message, RecordBatch, root_as_message_with_opts};
use flatbuffers::VerifierOptions;

/// What the buffers of one message may decompress to: arrow-rs reserves what they claim.
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
    let batch = match message.header_as_dictionary_batch() {
        Some(dictionary) => dictionary.data(),
        None => message.header_as_record_batch(),
    }?;
    if !(0..=ROWS_MAX).contains(&batch.length()) {
        return Some(format!("a message claims {} rows", batch.length()));
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

fn decompressed_bytes(batch: &RecordBatch<'_>, body: &[u8]) -> u64 {
    if batch.compression().is_none() {
        return 0;
    }
    let mut claimed = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let from = usize::try_from(buffer.offset()).ok();
        let prefix = from.and_then(|from| body.get(from..)?.first_chunk::<8>());
        // A buffer of no bytes has no prefix; -1 says that it is not compressed.
        let length = prefix.map_or(0, |prefix| i64::from_le_bytes(*prefix));
        claimed = claimed.saturating_add(u64::try_from(length).unwrap_or(0));
    }
    claimed
}
