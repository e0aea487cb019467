//! Rust-owned memory, exposed to Python by the buffer protocol.
//!
//! `unsafe` is needed because Python's buffer protocol hands out pointers.

use std::ffi::{c_int, c_void};

use arrow_buffer::Buffer as ArrowBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// Bytes of a column: values, offsets or a mask. `np.frombuffer(buffer, dtype)` makes a view.
///
/// Views are writable, as NumPy and pandas expect; all users of the memory see a change. So only
/// memory in which every bit pattern is a valid value is exposed: never offsets, keys or text
/// bytes, which other code trusts.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Buffer(ArrowBuffer);

impl Buffer {
    pub(crate) fn new(buffer: ArrowBuffer) -> Self {
        Self(buffer)
    }
}

#[pymethods]
impl Buffer {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("<Buffer of {} bytes>", self.0.len())
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let (pointer, len) = (slf.get().0.as_ptr(), slf.get().0.len());
        // SAFETY: the object that the view refers to keeps the Arrow buffer alive, and its memory
        // does not move.
        unsafe { fill(view, flags, slf.as_any(), pointer.cast_mut(), len) }
    }
}

/// The free part of a session's receive buffer, for one read of the socket.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct ReceiveWindow(colonnade_session::ReceiveWindow);

impl ReceiveWindow {
    pub(crate) fn new(window: colonnade_session::ReceiveWindow) -> Self {
        Self(window)
    }
}

#[pymethods]
impl ReceiveWindow {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let (pointer, len) = (slf.get().0.as_mut_ptr(), slf.get().0.len());
        // SAFETY: the window keeps its memory alive, and that memory does not move.
        unsafe { fill(view, flags, slf.as_any(), pointer, len) }
    }
}

/// Exposes `len` writable bytes to a consumer of the buffer protocol.
///
/// # Safety
/// `pointer` must be valid for reads and writes of `len` bytes as long as `owner` lives.
unsafe fn fill(
    view: *mut ffi::Py_buffer,
    flags: c_int,
    owner: &Bound<'_, PyAny>,
    pointer: *mut u8,
    len: usize,
) -> PyResult<()> {
    let len = ffi::Py_ssize_t::try_from(len)
        .map_err(|_| PyBufferError::new_err("buffer is larger than Python can address"))?;
    // SAFETY: the interpreter provides `view`, and the other arguments meet its requirements.
    let status = unsafe {
        ffi::PyBuffer_FillInfo(view, owner.as_ptr(), pointer.cast::<c_void>(), len, 0, flags)
    };
    if status == 0 { Ok(()) } else { Err(PyErr::fetch(owner.py())) }
}
