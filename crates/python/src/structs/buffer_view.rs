//! The bytes of an instance by the buffer protocol, for every driver that takes bytea.
//!
//! `unsafe` is needed because Python's buffer protocol hands out pointers.

use std::ffi::{c_int, c_void};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use super::instance::Instance;

#[pymethods]
impl Instance {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        const READ_ONLY: c_int = 1;
        let py = slf.py();
        let bytes = slf.get().bytes(py);
        let len = ffi::Py_ssize_t::try_from(bytes.len())
            .map_err(|_| PyBufferError::new_err("buffer is larger than Python can address"))?;
        let pointer = bytes.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: the interpreter provides `view`, the view keeps the instance alive, whose bytes
        // object never changes, and a read-only view does not write.
        let status =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), pointer, len, READ_ONLY, flags) };
        if status == 0 { Ok(()) } else { Err(PyErr::fetch(py)) }
    }
}
