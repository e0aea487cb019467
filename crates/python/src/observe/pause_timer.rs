//! A timer that an event loop can watch like a socket, for pauses shorter than the millisecond to
//! which loops round their own timers.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use pyo3::prelude::*;

/// A kernel timer, readable once its time has passed.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct PauseTimer {
    timer: File,
}

#[pymethods]
impl PauseTimer {
    #[new]
    fn new() -> PyResult<Self> {
        // SAFETY: the call takes two numbers, and returns a descriptor with no other owner.
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

    /// Makes it readable after this many microseconds (below a million), and not before.
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

    /// Makes it unreadable again.
    fn acknowledge(&self) -> PyResult<()> {
        match (&self.timer).read(&mut [0; 8]) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error.into()),
            _ => Ok(()),
        }
    }
}
