//! Arrow data of other libraries, imported through the Arrow PyCapsule interface.
//!
//! Importing moves the content out of an array or stream capsule and leaves a released structure
//! behind, which the capsule's destructor does not release again.
//!
//! Imported data is checked before it is read: its structure against its type, then all of its
//! values, offsets, views and UTF-8. One thing cannot be checked here, because the interface does
//! not carry it: the size of the buffers. The last offset gives the size of a text buffer, and the
//! array's length gives the others. The producer is trusted to provide that much memory. pyarrow
//! keeps the sizes and reads files without checking them, so a pyarrow producer first validates its
//! own data (`check_by_owner`, and `colonnade/_driver/sources`).

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, make_array};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

use crate::arrow::shape;
use crate::errors;

/// The reason why an import failed.
pub(crate) enum Fault {
    /// The data does not match its type, or its values are invalid.
    Data(ArrowError),
    /// The producer failed, with this message.
    Producer(String),
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        Self::Data(error)
    }
}

impl Fault {
    pub(crate) fn exception(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Data(error) => match unknown_type(&error) {
                Some(format) => {
                    let text = format!(
                        "the data have a type of their library's own, {format}: cast the column \
                         before, such as Polars' Int128 to Int64 or Decimal(38, 0)"
                    );
                    errors::of_class(py, "EncodeError", &text)
                }
                None => faulty(py, &error.to_string()),
            },
            Self::Producer(reason) => PyRuntimeError::new_err(reason),
        }
    }
}

/// The format of a type that only another library knows, as Polars' 128-bit integers. The data are
/// not faulty.
fn unknown_type(error: &ArrowError) -> Option<String> {
    let ArrowError::CDataInterface(text) = error else { return None };
    let (format, _) = text.strip_prefix("The datatype ")?.split_once(" is still not supported")?;
    Some(format.to_owned())
}

/// `EncodeError`: inconsistent data cannot be sent.
pub(crate) fn faulty(py: Python<'_>, reason: &str) -> PyErr {
    errors::of_class(py, "EncodeError", &format!("the Arrow data is faulty: {reason}"))
}

/// Lets a pyarrow object validate itself against the sizes of its buffers.
pub(crate) fn check_by_owner(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let mut is_of_pyarrow = false;
    for class in object.get_type().mro() {
        is_of_pyarrow |= class.getattr("__module__")?.eq("pyarrow.lib")?;
    }
    if !is_of_pyarrow || !object.hasattr("validate")? {
        return Ok(());
    }
    let py = object.py();
    let words = PyDict::new(py);
    words.set_item("full", true)?;
    match object.call_method("validate", (), Some(&words)) {
        Ok(_) => Ok(()),
        Err(error) if error.is_instance_of::<PyException>(py) => {
            let told = faulty(py, &error.value(py).to_string());
            told.set_cause(py, Some(error));
            Err(told)
        }
        Err(error) => Err(error),
    }
}

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

/// Arrays that a producer makes on request. The producer may need the interpreter, so a caller must
/// not hold a lock that the interpreter's holder may wait for.
pub(crate) struct Stream {
    stream: FFI_ArrowArrayStream,
    schema: FFI_ArrowSchema,
    kind: DataType,
}

impl Stream {
    /// Moves the stream out of an "arrow_array_stream" capsule.
    pub(crate) fn take(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        let pointer = pointer.cast::<FFI_ArrowArrayStream>().as_ptr();
        // SAFETY: a capsule of this name holds an ArrowArrayStream by the interface's definition,
        // and its name was just checked. `from_raw` moves the stream out and leaves a released one
        // there; the critical section admits one thread at a time without the GIL.
        let mut stream = with_critical_section(capsule.as_any(), || unsafe {
            FFI_ArrowArrayStream::from_raw(pointer)
        });
        if stream.release().is_none() {
            return Err(PyValueError::new_err("the stream is released: it was already consumed"));
        }
        let mut schema = FFI_ArrowSchema::empty();
        let get = stream.get_schema();
        // SAFETY: the stream is alive, the function is its own, and it fills the result's place if
        // it returns 0.
        let status = get.map(|get| unsafe { get(&raw mut stream, &raw mut schema) });
        if status != Some(0) {
            return Err(Fault::Producer(last_error(&mut stream)).exception(capsule.py()));
        }
        let kind = contained(|| DataType::try_from(&schema));
        let kind = kind.map_err(|error| Fault::from(error).exception(capsule.py()))?;
        Ok(Self { stream, schema, kind })
    }

    /// The type of all arrays.
    pub(crate) fn kind(&self) -> &DataType {
        &self.kind
    }

    /// The type of all arrays, with its metadata.
    pub(crate) fn field(&self) -> Result<Field, Fault> {
        contained(|| Field::try_from(&self.schema)).map_err(Fault::from)
    }

    fn next_data(&mut self) -> Option<Result<ArrayData, Fault>> {
        let mut array = FFI_ArrowArray::empty();
        let next = self.stream.get_next();
        // SAFETY: as in `take`.
        let status = next.map(|next| unsafe { next(&raw mut self.stream, &raw mut array) });
        if status != Some(0) {
            return Some(Err(Fault::Producer(last_error(&mut self.stream))));
        }
        // A released array marks the end.
        let next = (!array.is_released()).then_some(array);
        next.map(|array| imported(array, &self.kind).map_err(Fault::from))
    }

    /// The next array, checked.
    pub(crate) fn next(&mut self) -> Option<Result<ArrayRef, Fault>> {
        let checked = |data| checked(data).map_err(Fault::from);
        self.next_data().map(|data| data.and_then(checked))
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
pub(crate) struct BatchStream {
    stream: Stream,
    schema: SchemaRef,
}

impl BatchStream {
    /// Moves the stream out of an "arrow_array_stream" capsule.
    pub(crate) fn take(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let stream = Stream::take(capsule)?;
        let schema = contained(|| Schema::try_from(&stream.schema));
        let schema = schema.map_err(|error| Fault::from(error).exception(capsule.py()))?;
        Ok(Self { stream, schema: Arc::new(schema) })
    }

    /// The columns of every batch.
    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The next batch, unchecked, from a trusted producer.
    pub(crate) fn next_unchecked(&mut self) -> Option<Result<RecordBatch, Fault>> {
        let made = |data| contained(|| record_batch(&self.schema, &make_array(data)));
        self.stream.next_data().map(|data| Ok(made(data?)?))
    }

    /// The next batch, checked.
    pub(crate) fn next(&mut self) -> Option<Result<RecordBatch, Fault>> {
        self.stream.next().map(|rows| Ok(record_batch(&self.schema, &rows?)?))
    }
}

/// The fields of a struct array as the columns of a batch.
pub(crate) fn record_batch(schema: &SchemaRef, rows: &ArrayRef) -> Result<RecordBatch, ArrowError> {
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

/// Reads the schema from an "arrow_schema" capsule, which keeps it.
pub(crate) fn schema_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<Schema> {
    let schema = borrowed_schema(capsule)?;
    contained(|| Schema::try_from(schema)).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn borrowed_schema<'a>(capsule: &'a Bound<'_, PyCapsule>) -> PyResult<&'a FFI_ArrowSchema> {
    let pointer = capsule.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name holds an ArrowSchema by the interface's definition, its
    // name was just checked, and the capsule outlives this borrow.
    Ok(unsafe { pointer.as_ref() })
}

/// Moves the array out of an "arrow_array" capsule, whose type the "arrow_schema" capsule gives.
pub(crate) fn take_array(
    schema: &Bound<'_, PyCapsule>,
    array: &Bound<'_, PyCapsule>,
) -> PyResult<(Field, ArrayRef)> {
    let py = schema.py();
    let schema = borrowed_schema(schema)?;
    let field = contained(|| Field::try_from(schema));
    let field = field.map_err(|error| Fault::from(error).exception(py))?;
    let pointer = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>().as_ptr();
    // SAFETY: as in `borrowed_schema`, of an ArrowArray. `from_raw` moves it out and leaves a
    // released one there; the critical section admits one thread at a time without the GIL.
    let content =
        with_critical_section(array.as_any(), || unsafe { FFI_ArrowArray::from_raw(pointer) });
    if content.is_released() {
        return Err(PyValueError::new_err("the array was already taken out of its capsule"));
    }
    let kind = field.data_type();
    let array = py.detach(|| imported(content, kind).and_then(checked));
    array.map(|array| (field, array)).map_err(|error| Fault::from(error).exception(py))
}
