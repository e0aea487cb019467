//! Arrow's IPC stream, with an end that tells a complete table from a shorter one.
//!
//! Arrow's own end-of-stream marker is not enough: many readers take the end of the bytes between
//! two messages for the end of the stream. So a complete stream has one more batch, of no rows,
//! whose metadata count the rows and batches before it ([`end_mark`]).

mod claims;
mod end_mark;
mod reader;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, IpcWriteOptions, StreamEncoder};
use arrow_schema::ArrowError;

pub use end_mark::Counts;
pub use reader::{Fault, StreamReader};

use crate::{Encoder, Ending, check_schema, made, no_batch};

/// How the buffers of a batch are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codec {
    /// Not at all: the bytes of a batch are those in memory.
    None,
    /// LZ4 frames.
    Lz4,
    /// Zstandard, at its default level.
    Zstd,
}

impl Codec {
    /// The codec of a name: "none", "lz4" or "zstd".
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "lz4" => Some(Self::Lz4),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    fn compression(self) -> Option<CompressionType> {
        match self {
            Self::None => None,
            Self::Lz4 => Some(CompressionType::LZ4_FRAME),
            Self::Zstd => Some(CompressionType::ZSTD),
        }
    }
}

/// Encodes an IPC stream.
pub struct ArrowStreamEncoder {
    codec: Codec,
    counts: Counts,
    /// `None` before the first batch and after the end.
    stream: Option<Stream>,
}

struct Stream {
    encoder: StreamEncoder,
    /// A batch of no rows: not a slice of the first one, which would keep its memory to the end.
    empty: RecordBatch,
}

impl ArrowStreamEncoder {
    /// An encoder of one stream.
    pub fn new(codec: Codec) -> Self {
        Self { codec, counts: Counts::default(), stream: None }
    }

    /// A message that no reader accepts, for a stream that failed after its beginning. A reader
    /// that meets it raises an error instead of returning the rows before it.
    pub fn poison() -> &'static [u8] {
        end_mark::POISON
    }

    fn options(&self) -> Result<IpcWriteOptions, ArrowError> {
        IpcWriteOptions::default()
            .with_dictionary_handling(DictionaryHandling::Resend)
            .try_with_compression(self.codec.compression())
    }
}

impl Encoder for ArrowStreamEncoder {
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Buffer>, ArrowError> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let encoder =
                    StreamEncoder::try_new_with_options(batch.schema_ref(), self.options()?)?;
                let empty = RecordBatch::new_empty(batch.schema());
                self.stream.insert(Stream { encoder, empty })
            }
        };
        check_schema(stream.empty.schema_ref(), batch)?;
        let mut bytes = stream.encoder.encode(batch)?;
        if self.codec != Codec::None {
            // arrow-rs reserves the most that a buffer may have, and the bytes wait for a reader.
            bytes.iter_mut().for_each(Buffer::shrink_to_fit);
        }
        self.counts.add(batch);
        Ok(bytes)
    }

    fn finish(&mut self) -> Result<Ending, ArrowError> {
        let options = self.options()?;
        let stream = self.stream.take().ok_or_else(no_batch)?;
        let mut bytes = vec![end_mark::message(&stream.empty, self.counts, &options)?];
        bytes.extend(stream.encoder.finish()?);
        Ok(made(bytes))
    }
}

#[cfg(test)]
mod tests;
