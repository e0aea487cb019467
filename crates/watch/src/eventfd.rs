//! The descriptor by which the watchdog wakes the loop.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A counter of the kernel that is readable while it is not zero.
pub(crate) struct EventFd {
    file: File,
}

impl EventFd {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: the call takes two numbers, and returns a descriptor with no other owner.
        let owned = unsafe {
            let made = libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC);
            if made < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(made)
        };
        Ok(Self { file: owned.into() })
    }

    pub(crate) fn fileno(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Makes it readable.
    pub(crate) fn wake(&self) {
        // It fails only where the counter is full, and then the descriptor is readable already.
        let _ = (&self.file).write(&1_u64.to_ne_bytes());
    }

    /// Makes it unreadable.
    pub(crate) fn acknowledge(&self) {
        // It fails only where nobody woke it: there is nothing to acknowledge.
        let _ = (&self.file).read(&mut [0; 8]);
    }
}
