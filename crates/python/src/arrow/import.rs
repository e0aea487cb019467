//! Arrow data of other libraries, imported through the Arrow PyCapsule interface.
//!
//! Importing moves the content out of an array or stream capsule and leaves a released structure
//! behind, which the capsule's destructor does not release again. `crates/foreign` checks it. It
//! trusts the sizes of buffers; pyarrow keeps the sizes and reads files without checking them, so a
//! pyarrow producer first validates its own data (`check_by_owner`, and
//! `colonnade/_driver/sources`).

use arrow_array::ArrayRef;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::{Field, Schema};
use colonnade_foreign::{BatchStream, Fault, Stream};
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

use crate::errors;

/// `EncodeError` for inconsistent data, which cannot be sent.
pub(crate) fn exception(py: Python<'_>, fault: &Fault) -> PyErr {
    match fault {
        Fault::Data(_) => errors::encode(py, &fault.to_string()),
        Fault::Producer(reason) => PyRuntimeError::new_err(reason.clone()),
        Fault::Released => errors::value(fault),
    }
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
            let text = format!("the Arrow data is faulty: {}", error.value(py));
            let told = errors::encode(py, &text);
            told.set_cause(py, Some(error));
            Err(told)
        }
        Err(error) => Err(error),
    }
}

/// Moves the stream out of an "arrow_array_stream" capsule.
pub(crate) fn take_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<Stream> {
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    let pointer = pointer.cast::<FFI_ArrowArrayStream>().as_ptr();
    // SAFETY: a capsule of this name holds an ArrowArrayStream by the interface's definition,
    // and its name was just checked. `from_raw` moves the stream out and leaves a released one
    // there; the critical section admits one thread at a time without the GIL.
    let stream = with_critical_section(capsule.as_any(), || unsafe {
        FFI_ArrowArrayStream::from_raw(pointer)
    });
    Stream::new(stream).map_err(|fault| exception(capsule.py(), &fault))
}

/// As `take_stream`, for a stream of record batches.
pub(crate) fn take_batches(capsule: &Bound<'_, PyCapsule>) -> PyResult<BatchStream> {
    BatchStream::new(take_stream(capsule)?).map_err(|fault| exception(capsule.py(), &fault))
}

/// Reads the schema from an "arrow_schema" capsule, which keeps it.
pub(crate) fn schema_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<Schema> {
    let schema = borrowed_schema(capsule)?;
    let made = colonnade_foreign::schema_of(schema);
    made.map_err(errors::value)
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
    let field = colonnade_foreign::field_of(schema).map_err(|fault| exception(py, &fault))?;
    let pointer = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>().as_ptr();
    // SAFETY: as in `borrowed_schema`, of an ArrowArray. `from_raw` moves it out and leaves a
    // released one there; the critical section admits one thread at a time without the GIL.
    let content =
        with_critical_section(array.as_any(), || unsafe { FFI_ArrowArray::from_raw(pointer) });
    if content.is_released() {
        return Err(PyValueError::new_err("the array was already taken out of its capsule"));
    }
    // SAFETY: both capsules are the producer's, and the first one states the type of the second.
    let array = py.detach(|| unsafe { colonnade_foreign::array_of(&field, content) });
    array.map(|array| (field, array)).map_err(|fault| exception(py, &fault))
}
