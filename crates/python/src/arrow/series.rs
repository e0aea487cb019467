//! One array from an object of any library with the Arrow PyCapsule interface.

use arrow_array::{ArrayRef, new_empty_array};
use arrow_schema::Field;
use colonnade_columnar::joined;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::import::{self, Fault, Stream, check_by_owner};

/// The array of an object that exports an array or a stream; None for other objects.
pub(crate) fn array(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    Ok(described(object)?.map(|(_, array)| array))
}

/// The array with its field, which tells an extension type; None for other objects.
pub(crate) fn described(object: &Bound<'_, PyAny>) -> PyResult<Option<(Field, ArrayRef)>> {
    if let Some(export) = object.getattr_opt("__arrow_c_array__")? {
        check_by_owner(object)?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
            export.call0()?.extract()?;
        return import::take_array(&schema, &array).map(Some);
    }
    let Some(export) = object.getattr_opt("__arrow_c_stream__")? else { return Ok(None) };
    check_by_owner(object)?;
    let capsule = export.call0()?.cast_into::<PyCapsule>()?;
    let mut stream = Stream::take(&capsule)?;
    let described = stream.field().and_then(|field| Ok((field, all_of(&mut stream)?)));
    described.map(Some).map_err(|fault| fault.exception(object.py()))
}

/// The chunks of a stream as one array.
fn all_of(stream: &mut Stream) -> Result<ArrayRef, Fault> {
    let mut chunks: Vec<ArrayRef> = Vec::new();
    while let Some(chunk) = stream.next() {
        chunks.push(chunk?);
    }
    match (chunks.pop(), chunks.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            chunks.push(last);
            Ok(joined(&chunks)?)
        }
        (None, _) => Ok(new_empty_array(stream.kind())),
    }
}
