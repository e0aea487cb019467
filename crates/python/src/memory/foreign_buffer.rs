//! Copies of other libraries' buffers.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// Smaller copies are made without a check.
const CHECKED_BYTES_LEAST: usize = 16 << 20;

/// The values of a buffer.
///
/// A buffer may map a file, or repeat one value: its copy may not fit in memory, and a failed
/// allocation would abort the process.
pub(crate) fn copied<T: Element>(buffer: &PyBuffer<T>, py: Python<'_>) -> PyResult<Vec<T>> {
    let bytes = buffer.len_bytes();
    if bytes >= CHECKED_BYTES_LEAST && Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
        return Err(PyMemoryError::new_err(format!(
            "there is not enough memory for a copy of {bytes} bytes"
        )));
    }
    buffer.to_vec(py)
}
