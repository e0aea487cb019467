//! Arrays, batches and streams of Arrow's C data interface.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, make_array, new_empty_array,
};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use colonnade_columnar::encode::BatchSource;
use colonnade_columnar::joined;

use crate::fault::Fault;
use crate::shape;

/// Runs code that trusts another producer's structures.
///
/// The structure is checked before, and every value afterwards. Other assertions in arrow-rs, such
/// as a non-null child pointer, also mean that the data is invalid, not that this crate has a bug.
/// They must not reach the user as a panic, which `except Exception` does not catch. Nothing
/// half-made is kept.
fn contained<T>(work: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let text = "it does not follow the C data interface";
        Err(ArrowError::CDataInterface(text.to_owned()))
    })
}

/// The imported array; its structure is checked, its values are not.
fn imported(array: FFI_ArrowArray, kind: &DataType) -> Result<ArrayData, ArrowError> {
    contained(|| {
        shape::check(&array, kind)?;
        // SAFETY: the producer states this type, and the structure matches it; all other checks are
        // made before a value is read.
        unsafe { from_ffi_and_data_type(array, kind.clone()) }
    })
}

/// The array, if all of its values are valid.
fn checked(data: ArrayData) -> Result<ArrayRef, ArrowError> {
    contained(|| {
        data.validate_full()?;
        Ok(make_array(data))
    })
}

/// The field that a schema describes.
pub fn field_of(schema: &FFI_ArrowSchema) -> Result<Field, Fault> {
    contained(|| Field::try_from(schema)).map_err(Fault::from)
}

/// The columns that a schema describes.
pub fn schema_of(schema: &FFI_ArrowSchema) -> Result<Schema, ArrowError> {
    contained(|| Schema::try_from(schema))
}

/// The array of a field, checked.
///
/// # Safety
/// The producer of the content states the field's type: the number of its buffers is checked, their
/// sizes cannot be.
pub unsafe fn array_of(field: &Field, content: FFI_ArrowArray) -> Result<ArrayRef, Fault> {
    imported(content, field.data_type()).and_then(checked).map_err(Fault::from)
}

/// Arrays that a producer makes on request. The producer may need the interpreter, so a caller must
/// not hold a lock that the interpreter's holder may wait for.
pub struct Stream {
    stream: FFI_ArrowArrayStream,
    schema: FFI_ArrowSchema,
    kind: DataType,
}

impl Stream {
    /// A stream that was not released.
    pub fn new(mut stream: FFI_ArrowArrayStream) -> Result<Self, Fault> {
        if stream.release().is_none() {
            return Err(Fault::Released);
        }
        let mut schema = FFI_ArrowSchema::empty();
        let get = stream.get_schema();
        // SAFETY: the stream is alive, the function is its own, and it fills the result's place if
        // it returns 0.
        let status = get.map(|get| unsafe { get(&raw mut stream, &raw mut schema) });
        if status != Some(0) {
            return Err(Fault::Producer(last_error(&mut stream)));
        }
        let kind = contained(|| DataType::try_from(&schema))?;
        Ok(Self { stream, schema, kind })
    }

    /// The type of all arrays, with its metadata.
    pub fn field(&self) -> Result<Field, Fault> {
        field_of(&self.schema)
    }

    fn next_data(&mut self) -> Option<Result<ArrayData, Fault>> {
        let mut array = FFI_ArrowArray::empty();
        let next = self.stream.get_next();
        // SAFETY: as in `new`.
        let status = next.map(|next| unsafe { next(&raw mut self.stream, &raw mut array) });
        if status != Some(0) {
            return Some(Err(Fault::Producer(last_error(&mut self.stream))));
        }
        // A released array marks the end.
        let next = (!array.is_released()).then_some(array);
        next.map(|array| imported(array, &self.kind).map_err(Fault::from))
    }

    /// The next array, checked.
    fn next_array(&mut self) -> Option<Result<ArrayRef, Fault>> {
        let checked = |data| checked(data).map_err(Fault::from);
        self.next_data().map(|data| data.and_then(checked))
    }

    /// All arrays that are left, as one.
    pub fn joined(&mut self) -> Result<ArrayRef, Fault> {
        let mut chunks: Vec<ArrayRef> = Vec::new();
        while let Some(chunk) = self.next_array() {
            chunks.push(chunk?);
        }
        match (chunks.pop(), chunks.is_empty()) {
            (Some(only), true) => Ok(only),
            (Some(last), false) => {
                chunks.push(last);
                Ok(joined(&chunks)?)
            }
            (None, _) => Ok(new_empty_array(&self.kind)),
        }
    }
}

/// The producer's error message.
fn last_error(stream: &mut FFI_ArrowArrayStream) -> String {
    let ask = stream.get_last_error();
    // SAFETY: the stream is alive, and the function is its own. The returned text lives until the
    // stream's next call, and ends in NUL.
    let text = ask.map(|ask| unsafe {
        let text = ask(std::ptr::from_mut(stream));
        if text.is_null() {
            None
        } else {
            Some(CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    });
    text.flatten().unwrap_or_else(|| "the Arrow stream ended with an error".to_owned())
}

/// A stream of record batches.
pub struct BatchStream {
    stream: Stream,
    schema: SchemaRef,
}

impl BatchStream {
    /// The batches of a stream.
    pub fn new(stream: Stream) -> Result<Self, Fault> {
        let schema = schema_of(&stream.schema)?;
        Ok(Self { stream, schema: Arc::new(schema) })
    }

    /// The columns of every batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The next batch, unchecked, from a trusted producer.
    pub fn next_unchecked(&mut self) -> Option<Result<RecordBatch, Fault>> {
        let made = |data| contained(|| record_batch(&self.schema, &make_array(data)));
        self.stream.next_data().map(|data| Ok(made(data?)?))
    }

    /// The next batch, checked.
    pub fn next_batch(&mut self) -> Option<Result<RecordBatch, Fault>> {
        self.stream.next_array().map(|rows| Ok(record_batch(&self.schema, &rows?)?))
    }
}

/// The fields of a struct array as the columns of a batch.
fn record_batch(schema: &SchemaRef, rows: &ArrayRef) -> Result<RecordBatch, ArrowError> {
    let refused = |text: String| Err(ArrowError::InvalidArgumentError(text));
    match rows.as_any().downcast_ref::<StructArray>() {
        Some(rows) if rows.null_count() == 0 => {
            let columns = rows.columns().to_vec();
            let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
            RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        }
        Some(_) => refused("a row as a whole is NULL".to_owned()),
        None => {
            refused(format!("a record batch is an array of structs, not of {}", rows.data_type()))
        }
    }
}

/// A batch whose columns are the fields of an array of structs.
pub fn batch_of_rows(field: &Field, rows: &ArrayRef) -> Result<RecordBatch, Fault> {
    let fields = match field.data_type() {
        DataType::Struct(fields) => fields.clone(),
        _ => Fields::empty(),
    };
    Ok(record_batch(&Arc::new(Schema::new(fields)), rows)?)
}

/// Batches of the same columns, made or still to come.
pub enum Batches {
    /// They are there.
    Made(VecDeque<RecordBatch>),
    /// A producer makes them on request.
    Stream(BatchStream),
}

impl BatchSource for Batches {
    type Error = Fault;

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Fault> {
        match self {
            Self::Made(batches) => Ok(batches.pop_front()),
            Self::Stream(stream) => stream.next_batch().transpose(),
        }
    }
}

#[cfg(test)]
mod tests;
