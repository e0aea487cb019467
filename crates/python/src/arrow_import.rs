//! Arrow data of other libraries, by the capsules of the Arrow PyCapsule interface.
//!
//! A capsule of an array or of a stream gives its content away: what is taken out leaves a
//! released structure behind, which the capsule's destructor does not release again. What comes in
//! is checked in full before anything reads it, offsets, views and UTF-8 included: its producer is
//! code in this process, but its bytes may come from a file.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader, make_array};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

/// Batches that a producer makes as they are asked for. The producer may need the interpreter:
/// nobody who holds a lock that the interpreter's holder may wait for may ask.
pub(crate) struct Stream(RecordBatchStreamReader);

impl Stream {
    /// Takes the stream out of an "arrow_array_stream" capsule.
    pub(crate) fn take(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        let pointer = pointer.cast::<FFI_ArrowArrayStream>().as_ptr();
        // SAFETY: a capsule of this name holds an ArrowArrayStream by the interface's definition,
        // and its name was just checked. `from_raw` moves the stream out and leaves a released one
        // there; it refuses one that is released already.
        let reader = unsafe { RecordBatchStreamReader::from_raw(pointer) };
        reader.map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The columns of every batch.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    /// The next batch as it comes, for another reader that does not take it for granted.
    pub(crate) fn next_unchecked(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        self.0.next()
    }

    /// The next batch, checked.
    pub(crate) fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        let checked = |batch: RecordBatch| {
            batch.columns().iter().try_for_each(|column| column.to_data().validate_full())?;
            Ok(batch)
        };
        self.0.next().map(|batch| batch.and_then(checked))
    }
}

/// Reads the schema out of an "arrow_schema" capsule, which keeps it.
pub(crate) fn schema_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<Schema> {
    let pointer = capsule.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name holds an ArrowSchema by the interface's definition, its
    // name was just checked, and the capsule outlives this borrow.
    let schema = unsafe { pointer.as_ref() };
    Schema::try_from(schema).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Takes the array out of an "arrow_array" capsule, which the "arrow_schema" capsule beside it
/// describes.
pub(crate) fn take_array(
    schema: &Bound<'_, PyCapsule>,
    array: &Bound<'_, PyCapsule>,
) -> PyResult<(Field, ArrayRef)> {
    let failed = |error: ArrowError| PyValueError::new_err(error.to_string());
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name holds an ArrowSchema by the interface's definition, its name
    // was just checked, and the capsule outlives this borrow.
    let schema = unsafe { schema.as_ref() };
    let field = Field::try_from(schema).map_err(failed)?;
    let pointer = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>().as_ptr();
    // SAFETY: as above, of an ArrowArray. `from_raw` moves it out and leaves a released one there.
    let content = unsafe { FFI_ArrowArray::from_raw(pointer) };
    if content.is_released() {
        return Err(PyValueError::new_err("the array was taken out of its capsule before"));
    }
    // SAFETY: the two capsules come as a pair, so that the schema describes the array; what can be
    // checked is checked below, before a value is read.
    let data = unsafe { from_ffi(content, schema) }.map_err(failed)?;
    data.validate_full().map_err(failed)?;
    Ok((field, make_array(data)))
}
