//! One array out of an object of any library that speaks Arrow's PyCapsule interface.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use crate::arrow_import;

/// The array of an object that offers one, or a stream of them; None for other objects.
pub(crate) fn array(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    if let Some(export) = object.getattr_opt("__arrow_c_array__")? {
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
            export.call0()?.extract()?;
        return arrow_import::take_array(&schema, &array).map(|(_, array)| Some(array));
    }
    let Some(export) = object.getattr_opt("__arrow_c_stream__")? else { return Ok(None) };
    let capsule = export.call0()?.cast_into::<PyCapsule>()?;
    stream(&capsule).map(Some)
}

fn refused(error: &ArrowError) -> PyErr {
    PyValueError::new_err(format!("the Arrow array is faulty: {error}"))
}

fn stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrayRef> {
    let pointer =
        capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name, which was just checked, holds an ArrowArrayStream by the
    // interface's definition. It is moved out, as its consumer must.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    let call_failed = || PyValueError::new_err("the Arrow stream has ended with an error");
    let get_schema = stream.get_schema().ok_or_else(call_failed)?;
    let get_next = stream.get_next().ok_or_else(call_failed)?;
    let mut schema = FFI_ArrowSchema::empty();
    let mut chunks: Vec<ArrayRef> = Vec::new();
    // SAFETY: the stream is alive, the functions are its own, and the place for the result is one,
    // which they fill when they answer 0.
    if unsafe { get_schema(&raw mut stream, &raw mut schema) } != 0 {
        return Err(call_failed());
    }
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        if unsafe { get_next(&raw mut stream, &raw mut array) } != 0 {
            return Err(call_failed());
        }
        if array.is_released() {
            break;
        }
        // SAFETY: the array is of the stream's schema, by the interface's definition.
        let data = unsafe { from_ffi(array, &schema) }.map_err(|error| refused(&error))?;
        data.validate_full().map_err(|error| refused(&error))?;
        chunks.push(make_array(data));
    }
    joined(chunks, &schema)
}

/// The chunks as one array.
fn joined(mut chunks: Vec<ArrayRef>, schema: &FFI_ArrowSchema) -> PyResult<ArrayRef> {
    match (chunks.pop(), chunks.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            chunks.push(last);
            let data: Vec<_> = chunks.iter().map(|chunk| chunk.to_data()).collect();
            let lengths = data.iter().map(arrow_data::ArrayData::len).sum();
            let mut all =
                arrow_data::transform::MutableArrayData::new(data.iter().collect(), true, lengths);
            for (index, chunk) in data.iter().enumerate() {
                all.try_extend(index, 0, chunk.len()).map_err(|error| refused(&error))?;
            }
            Ok(make_array(all.freeze()))
        }
        (None, _) => {
            let kind = arrow_schema::DataType::try_from(schema).map_err(|error| refused(&error))?;
            Ok(arrow_array::new_empty_array(&kind))
        }
    }
}
