//! One array from an object of any library with the Arrow PyCapsule interface.

use arrow_array::ArrayRef;
use arrow_schema::Field;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::import::{self, check_by_owner};

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
    let mut stream = import::take_stream(&capsule)?;
    let described = stream.field().and_then(|field| Ok((field, stream.joined()?)));
    described.map(Some).map_err(|fault| import::exception(object.py(), &fault))
}
