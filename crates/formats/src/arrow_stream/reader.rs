//! Reads a stream as its bytes arrive, and refuses one that is not complete.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::{ArrowError, SchemaRef};

use super::claims;
use super::end_mark::{Counts, POISON};

const CONTINUATION: [u8; 4] = [0xff; 4];
/// Continuation marker and length.
const PREFIX_BYTES: usize = 8;
/// A schema of PostgreSQL's 1,600 columns takes some hundred kilobytes.
const METADATA_BYTES_MAX: usize = 1 << 26;
/// The most that a message's own claim reserves at once; more memory follows as the bytes arrive.
const RESERVED_BYTES_MAX: usize = 1 << 24;
/// The memory of the objects made from a message, and from each column and part of a column in it.
/// A batch of no bytes has them, too.
const MESSAGE_PRICE: u64 = 512;
const COLUMN_PRICE: u64 = 256;

/// Why a stream cannot be read.
#[derive(Debug)]
pub enum Fault {
    /// It ended early, or says itself that it failed.
    Incomplete(String),
    /// Its bytes are no Arrow stream.
    Invalid(String),
    /// It has more bytes than its reader wants.
    TooLarge(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete(text) | Self::Invalid(text) | Self::TooLarge(text) => {
                formatter.write_str(text)
            }
        }
    }
}

fn invalid(reason: impl fmt::Display) -> Fault {
    Fault::Invalid(format!("the bytes are not a valid Arrow stream: {reason}"))
}

/// The part of the current message that is arriving.
#[derive(Clone, Copy)]
enum Part {
    Prefix,
    Metadata,
    Body,
}

/// A reader of one stream. After an error it must not be used.
pub struct StreamReader {
    decoder: StreamDecoder,
    /// The prefix and the metadata of the current message. The values of its body are kept, so they
    /// have memory of their own.
    head: Vec<u8>,
    body: Vec<u8>,
    /// The part that is complete once its bytes are `wanted`.
    part: Part,
    wanted: usize,
    counts: Counts,
    /// The counts of the end mark, once it was read.
    marked: Option<Counts>,
    is_at_end: bool,
    /// The most memory that the table may take.
    bytes_max: u64,
    /// The memory that it takes so far.
    bytes: u64,
}

impl StreamReader {
    /// A reader of a stream that may take `bytes_max` bytes of memory. The bytes of its messages
    /// count, decompressed and at least one for each value, and the objects made of them.
    pub fn new(bytes_max: u64) -> Self {
        Self {
            decoder: StreamDecoder::new(),
            head: Vec::new(),
            body: Vec::new(),
            part: Part::Prefix,
            wanted: PREFIX_BYTES,
            counts: Counts::default(),
            marked: None,
            is_at_end: false,
            bytes_max,
            bytes: 0,
        }
    }

    /// The columns' names and types, once they arrived.
    pub fn schema(&self) -> Option<SchemaRef> {
        self.decoder.schema()
    }

    /// The rows and batches so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes the next bytes, and returns the batches that they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<RecordBatch>, Fault> {
        let mut batches = Vec::new();
        while !bytes.is_empty() {
            if self.is_at_end {
                return Err(invalid("there are bytes after its end"));
            }
            let missing = self.wanted - self.arrived().len();
            let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
            self.arrived().extend_from_slice(taken);
            bytes = rest;
            // A part of no bytes is complete at once: a message may have no body.
            while !self.is_at_end && self.arrived().len() == self.wanted {
                batches.extend(self.advance()?);
            }
        }
        Ok(batches)
    }

    /// To be called after the last bytes: an error unless the stream is complete.
    pub fn finish(&self) -> Result<Counts, Fault> {
        let so_far = format!("after {} rows in {} batches", self.counts.rows, self.counts.batches);
        if !self.is_at_end {
            return Err(Fault::Incomplete(format!("the stream was cut {so_far}")));
        }
        if self.marked.is_none() {
            return Err(Fault::Incomplete(format!(
                "the stream ends {so_far} without the mark of a complete one: its server does not \
                 write that mark, or it failed"
            )));
        }
        Ok(self.counts)
    }

    /// The bytes of the current part; the metadata follow the prefix.
    fn arrived(&mut self) -> &mut Vec<u8> {
        match self.part {
            Part::Prefix | Part::Metadata => &mut self.head,
            Part::Body => &mut self.body,
        }
    }

    /// Goes on from a complete part.
    fn advance(&mut self) -> Result<Option<RecordBatch>, Fault> {
        match self.part {
            Part::Prefix => self.take_prefix().map(|()| None),
            Part::Metadata => self.take_metadata().map(|()| None),
            Part::Body => self.take_message(),
        }
    }

    fn take_prefix(&mut self) -> Result<(), Fault> {
        if POISON.starts_with(&self.head) {
            return Err(Fault::Incomplete(format!(
                "the server failed after {} rows in {} batches, and said so in the stream",
                self.counts.rows, self.counts.batches
            )));
        }
        let [marker, length] = [0, 4].map(|from| {
            let word = self.head.get(from..from + 4);
            word.and_then(|word| <[u8; 4]>::try_from(word).ok()).unwrap_or_default()
        });
        if marker != CONTINUATION {
            return Err(invalid("a message does not begin with a continuation marker"));
        }
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > METADATA_BYTES_MAX {
            return Err(invalid(format_args!("a message claims {length} bytes of metadata")));
        }
        self.is_at_end = length == 0;
        if !self.is_at_end {
            // Before the metadata arrive, and take memory.
            self.count(MESSAGE_PRICE + length as u64)?;
        }
        self.part = Part::Metadata;
        self.wanted = PREFIX_BYTES + length;
        self.reserve(length);
        Ok(())
    }

    fn take_metadata(&mut self) -> Result<(), Fault> {
        let message = claims::message(self.metadata()).map_err(invalid)?;
        let length = usize::try_from(message.bodyLength());
        let length = length.map_err(|_| invalid("a message claims a body of negative length"))?;
        let columns = claims::columns(&message);
        if self.marked.is_some() {
            return Err(invalid("there is a message after the end mark"));
        }
        self.count(columns.saturating_mul(COLUMN_PRICE))?;
        // Before the body arrives, and takes memory.
        self.check_room(length as u64)?;
        self.part = Part::Body;
        self.wanted = length;
        self.reserve(length);
        Ok(())
    }

    fn take_message(&mut self) -> Result<Option<RecordBatch>, Fault> {
        let message = claims::message(self.metadata()).map_err(invalid)?;
        let marked = Counts::of(&message);
        if let Some(excess) = claims::excess(&message, &self.body) {
            return Err(invalid(excess));
        }
        let bytes = claims::decoded_bytes(&message, &self.body).max(claims::values(&message));
        let is_bodiless = self.body.is_empty() && message.header_as_record_batch().is_some();
        self.count(bytes)?;
        let mut head = Buffer::from_vec(std::mem::take(&mut self.head));
        let mut body = Buffer::from_vec(std::mem::take(&mut self.body));
        self.part = Part::Prefix;
        self.wanted = PREFIX_BYTES;
        contained(|| self.decoder.decode(&mut head)).map_err(invalid)?;
        let mut batch = contained(|| self.decoder.decode(&mut body)).map_err(invalid)?;
        if is_bodiless {
            // arrow-rs decodes it when it sees the bytes that follow, and takes none of them.
            let mut following = Buffer::from(CONTINUATION);
            batch = contained(|| self.decoder.decode(&mut following)).map_err(invalid)?;
        }
        let Some(marked) = marked else {
            if let Some(batch) = &batch {
                self.counts.add(batch);
            }
            return Ok(batch);
        };
        if batch.is_none_or(|batch| batch.num_rows() > 0) {
            return Err(invalid("the end mark is not on a batch without rows"));
        }
        if self.counts.batches == 0 {
            return Err(invalid("it has no batch"));
        }
        if marked != self.counts {
            return Err(Fault::Incomplete(format!(
                "the stream has {} rows in {} batches, and its end mark counts {} rows in {} \
                 batches",
                self.counts.rows, self.counts.batches, marked.rows, marked.batches
            )));
        }
        self.marked = Some(marked);
        Ok(None)
    }

    /// Counts `more` bytes for the table; an error if that is too much.
    fn count(&mut self, more: u64) -> Result<(), Fault> {
        self.check_room(more)?;
        self.bytes = self.bytes.saturating_add(more);
        Ok(())
    }

    fn check_room(&self, more: u64) -> Result<(), Fault> {
        if self.bytes.saturating_add(more) <= self.bytes_max {
            return Ok(());
        }
        let Counts { rows, batches } = self.counts;
        Err(Fault::TooLarge(format!(
            "the table has more than {} bytes: its schema and {rows} rows in {batches} batches \
             take {}, and the next message {more}",
            self.bytes_max, self.bytes
        )))
    }

    fn metadata(&self) -> &[u8] {
        self.head.get(PREFIX_BYTES..).unwrap_or_default()
    }

    fn reserve(&mut self, length: usize) {
        let most = RESERVED_BYTES_MAX.min(usize::try_from(self.bytes_max).unwrap_or(usize::MAX));
        self.arrived().reserve_exact(length.min(most));
    }
}

/// An assertion of arrow-rs that fails also means that the bytes are invalid.
fn contained<T>(work: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(ArrowError::IpcError("a message contradicts its schema".to_owned()))
    })
}
