//! Timestamps and durations of a column in any unit, as Python's.

use arrow_array::Array;
use colonnade_columnar::given;
use colonnade_foreign::MomentError;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDelta;

/// The timestamp at an index, in microseconds.
pub(crate) fn micros(array: &dyn Array, index: usize) -> PyResult<i64> {
    colonnade_foreign::micros(array, index).map_err(|error| {
        let text = error.to_string();
        match error {
            MomentError::OtherType(_) => PyTypeError::new_err(text),
            _ => PyOverflowError::new_err(text),
        }
    })
}

/// A `timedelta` of `micros` microseconds.
pub(crate) fn duration(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyDelta>> {
    let (days, seconds, micros) = given::days_and_rest(micros);
    let days = i32::try_from(days)
        .map_err(|_| PyOverflowError::new_err("the duration is too long for a timedelta"))?;
    PyDelta::new(py, days, seconds, micros, false)
}
