//! Arrow record batches as the bytes of a file format, and back.
//!
//! An encoder returns the bytes of each batch as soon as it has it, so a result need not be in
//! memory as a whole. The crate does no I/O, and knows neither PostgreSQL nor Python.

pub mod arrow_stream;
pub mod csv;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod json_columns;
pub mod lines;
pub mod ndjson;

mod csv_cell;
mod pieces;
mod text;
mod values;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, SchemaRef};

use lines::Lines;

pub use pieces::Pieces;
pub use values::{NUMERALS, Numbers};

/// Encodes the batches of one result. Buffers are returned in the order of their bytes, and may
/// share the memory of the batch.
pub trait Encoder: Send {
    /// The bytes of one batch; before the first one, the beginning of the file.
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Buffer>, ArrowError>;

    /// The end of the file. An error if there was no batch: without one, there is no schema.
    fn finish(&mut self) -> Result<Ending, ArrowError>;

    /// The rows of batches, to be cut into files, whose beginning is [`Encoder::head`]. An error if
    /// the format has no lines.
    fn lines(&mut self, _batches: &[RecordBatch]) -> Result<Lines, ArrowError> {
        Err(ArrowError::InvalidArgumentError("the format has no lines".to_owned()))
    }

    /// The beginning of each file, once there was a batch.
    fn head(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// The end of a file, made while it is read.
pub type Ending = Box<dyn Iterator<Item = Result<Buffer, ArrowError>> + Send>;

/// An end that is there already.
fn made(buffers: Vec<Buffer>) -> Ending {
    Box::new(buffers.into_iter().map(Ok))
}

/// Refuses a batch with other columns than the first one.
fn check_schema(first: &SchemaRef, batch: &RecordBatch) -> Result<(), ArrowError> {
    if first == batch.schema_ref() {
        return Ok(());
    }
    Err(ArrowError::SchemaError("a batch has other columns or types than the first one".to_owned()))
}

fn no_batch() -> ArrowError {
    ArrowError::InvalidArgumentError("a file needs at least one batch".to_owned())
}

#[cfg(test)]
mod tests;
