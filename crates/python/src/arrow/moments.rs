//! Timestamps and durations of a column in any unit, as Python's.

use arrow_array::Array;
use colonnade_columnar::calendar::DAY_US;
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
    let (days, rest) = (micros.div_euclid(DAY_US), micros.rem_euclid(DAY_US));
    let days = i32::try_from(days)
        .map_err(|_| PyOverflowError::new_err("the duration is too long for a timedelta"))?;
    // The seconds of a day, and the microseconds of a second, fit in 32 bits.
    PyDelta::new(py, days, (rest / 1_000_000) as i32, (rest % 1_000_000) as i32, false)
}
