//! A timer that an event loop can watch as it watches a socket, for pauses shorter than the
//! millisecond that loops' own timers are rounded up to.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use pyo3::prelude::*;

/// One of the kernel's timers, readable once its time is over.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct PauseTimer {
    timer: File,
}

#[pymethods]
impl PauseTimer {
    #[new]
    fn new() -> PyResult<Self> {
        // SAFETY: the call takes two numbers, and a descriptor that it made is nobody else's.
        let timer = unsafe {
            let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
            let made = libc::timerfd_create(libc::CLOCK_MONOTONIC, flags);
            if made < 0 {
                return Err(io::Error::last_os_error().into());
            }
            OwnedFd::from_raw_fd(made)
        };
        Ok(Self { timer: timer.into() })
    }

    fn fileno(&self) -> i32 {
        self.timer.as_raw_fd()
    }

    /// Becomes readable in so many microseconds, below a million, and not before.
    fn start(&self, microseconds: u32) -> PyResult<()> {
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let once = libc::timespec { tv_sec: 0, tv_nsec: i64::from(microseconds) * 1000 };
        let setting = libc::itimerspec { it_interval: never, it_value: once };
        // SAFETY: the descriptor is open, and the setting lives during the call.
        let answer = unsafe {
            let fd = self.timer.as_raw_fd();
            libc::timerfd_settime(fd, 0, &raw const setting, std::ptr::null_mut())
        };
        if answer < 0 { Err(io::Error::last_os_error().into()) } else { Ok(()) }
    }

    /// Is readable no more.
    fn acknowledge(&self) -> PyResult<()> {
        match (&self.timer).read(&mut [0; 8]) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error.into()),
            _ => Ok(()),
        }
    }
}
