//! NumPy's numbers.
//!
//! This module imports neither library: given one of its objects, a library is already there.

use pyo3::prelude::*;

use crate::class_names;

fn is_scalar(argument: &Bound<'_, PyAny>, class_name: &str) -> PyResult<bool> {
    let class = argument.get_type();
    Ok(class.name()? == class_name && class_names::is_of(&class, "numpy"))
}

/// A NumPy number as a Python `int` or `float`; other objects unchanged.
pub(super) fn plain_number<'py>(argument: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if !super::scalars::is_foreign(argument) || !class_names::is_of(&argument.get_type(), "numpy") {
        return Ok(argument.clone());
    }
    match argument.getattr_opt("dtype")? {
        Some(dtype) if "iuf".contains(dtype.getattr("kind")?.extract::<&str>()?) => {
            argument.call_method0("item")
        }
        _ => Ok(argument.clone()),
    }
}

/// A NumPy float narrower than Python's.
pub(super) fn narrow_float(argument: &Bound<'_, PyAny>) -> PyResult<Option<f32>> {
    let is_narrow = super::scalars::is_foreign(argument)
        && (is_scalar(argument, "float32")? || is_scalar(argument, "float16")?);
    if is_narrow { argument.extract::<f32>().map(Some) } else { Ok(None) }
}
