//! Tells which objects are numbers.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::class_names;

/// Whether an object may be a real number. NumPy converts its durations, moments, complex numbers
/// and texts to floats and integers as well, without unit or imaginary part; so for an object with
/// a dtype, the dtype decides.
pub(crate) fn is_real(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let Some(dtype) = object.getattr_opt(intern!(py, "dtype"))? else { return Ok(true) };
    let Some(kind) = dtype.getattr_opt(intern!(py, "kind"))? else { return Ok(true) };
    let Ok(kind) = kind.cast_into::<PyString>() else { return Ok(true) };
    Ok(match kind.to_str()? {
        "b" | "i" | "u" | "f" => true,
        // Another library's, such as a bfloat16; NumPy's own are bytes.
        "V" => !class_names::is_of(&object.get_type(), "numpy"),
        _ => false,
    })
}
