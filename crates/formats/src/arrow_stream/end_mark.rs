//! The last batch of a complete stream: no rows, and the counts of what came before.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::writer::{
    DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext, IpcWriteOptions,
    write_message,
};
use arrow_ipc::{
    BodyCompression, BodyCompressionArgs, KeyValue, KeyValueArgs, Message, MessageArgs,
    MessageHeader, RecordBatchArgs, root_as_message,
};
use arrow_schema::ArrowError;
use flatbuffers::FlatBufferBuilder;

const ROWS: &str = "colonnade.rows";
const BATCHES: &str = "colonnade.batches";

/// A message that ends within its metadata, which is the one fault that every reader reports. Its
/// length, 2²⁰ − 1, is odd, so no true message has it, and small, because some readers allocate it.
/// Bytes must follow the length: Arrow's JavaScript library takes a message of none for the end.
pub(super) const POISON: &[u8] =
    b"\xff\xff\xff\xff\xff\xff\x0f\0colonnade: the server failed, the rows are incomplete\n";

/// How many rows and batches a stream has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// The rows of all batches.
    pub rows: u64,
    /// The batches, without the end mark.
    pub batches: u64,
}

impl Counts {
    pub(super) fn add(&mut self, batch: &RecordBatch) {
        self.rows = self.rows.saturating_add(batch.num_rows() as u64);
        self.batches += 1;
    }

    /// The counts in the metadata of a message; `None` if it is not an end mark.
    pub(super) fn of(message: &Message<'_>) -> Option<Self> {
        let entries = message.custom_metadata()?;
        let number = |key: &str| {
            let entry = entries.iter().find(|entry| entry.key() == Some(key))?;
            entry.value()?.parse().ok()
        };
        Some(Self { rows: number(ROWS)?, batches: number(BATCHES)? })
    }
}

/// The message of a batch without rows, with the counts as its metadata.
pub(super) fn message(
    empty: &RecordBatch,
    counts: Counts,
    options: &IpcWriteOptions,
) -> Result<Buffer, ArrowError> {
    let plain = plain_message(empty, options)?;
    let body_bytes = plain.arrow_data.len();
    let marked = EncodedData {
        ipc_message: with_counts(&plain.ipc_message, body_bytes, counts)?,
        arrow_data: plain.arrow_data,
    };
    let mut bytes = Vec::new();
    write_message(&mut bytes, marked, options)?;
    Ok(Buffer::from_vec(bytes))
}

/// The message as arrow-rs writes it. Its dictionaries are dropped: the stream has them already,
/// because a batch came before.
fn plain_message(
    empty: &RecordBatch,
    options: &IpcWriteOptions,
) -> Result<EncodedData, ArrowError> {
    let generator = IpcDataGenerator::default();
    let mut dictionaries = DictionaryTracker::new(false);
    // The tracker numbers the dictionaries as it meets them in the schema.
    let _ = generator.schema_to_bytes_with_dictionary_tracker(
        empty.schema_ref(),
        &mut dictionaries,
        options,
    );
    let mut context = IpcWriteContext::default();
    let (_, message) = generator.encode(empty, &mut dictionaries, options, &mut context)?;
    Ok(message)
}

/// A copy of the message with metadata of its own: arrow-rs has no way to write them.
fn with_counts(plain: &[u8], body_bytes: usize, counts: Counts) -> Result<Vec<u8>, ArrowError> {
    let failure = |text: &str| ArrowError::IpcError(text.to_owned());
    let message = root_as_message(plain).map_err(|error| failure(&error.to_string()))?;
    let batch = message.header_as_record_batch().ok_or_else(|| failure("no record batch"))?;

    let mut builder = FlatBufferBuilder::new();
    let nodes = batch.nodes().map(|nodes| {
        let nodes: Vec<_> = nodes.iter().copied().collect();
        builder.create_vector(&nodes)
    });
    let buffers = batch.buffers().map(|buffers| {
        let buffers: Vec<_> = buffers.iter().copied().collect();
        builder.create_vector(&buffers)
    });
    let views = batch.variadicBufferCounts().map(|counts| {
        let counts: Vec<_> = counts.iter().collect();
        builder.create_vector(&counts)
    });
    let compression = batch.compression().map(|compression| {
        let (codec, method) = (compression.codec(), compression.method());
        BodyCompression::create(&mut builder, &BodyCompressionArgs { codec, method })
    });
    let header = arrow_ipc::RecordBatch::create(
        &mut builder,
        &RecordBatchArgs {
            length: batch.length(),
            nodes,
            buffers,
            compression,
            variadicBufferCounts: views,
        },
    );
    let entries = [(ROWS, counts.rows), (BATCHES, counts.batches)].map(|(key, number)| {
        let key = Some(builder.create_string(key));
        let value = Some(builder.create_string(&number.to_string()));
        KeyValue::create(&mut builder, &KeyValueArgs { key, value })
    });
    let entries = builder.create_vector(&entries);
    let marked = Message::create(
        &mut builder,
        &MessageArgs {
            version: message.version(),
            header_type: MessageHeader::RecordBatch,
            header: Some(header.as_union_value()),
            bodyLength: i64::try_from(body_bytes).map_err(|_| failure("the body is too large"))?,
            custom_metadata: Some(entries),
        },
    );
    builder.finish(marked, None);
    Ok(builder.finished_data().to_vec())
}
