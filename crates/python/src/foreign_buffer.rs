//! Copies of what others' buffers hold.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// To have so much is no question.
const CHECKED_BYTES_LEAST: usize = 16 << 20;

/// The values of a buffer.
///
/// A buffer may lie in a file, or show one value many times: it may claim more than there is memory
/// for its copy, and an allocation that fails by itself ends the process.
pub(crate) fn copied<T: Element>(buffer: &PyBuffer<T>, py: Python<'_>) -> PyResult<Vec<T>> {
    let bytes = buffer.len_bytes();
    if bytes >= CHECKED_BYTES_LEAST && Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
        return Err(PyMemoryError::new_err(format!(
            "there is no room for a copy of {bytes} bytes"
        )));
    }
    buffer.to_vec(py)
}
