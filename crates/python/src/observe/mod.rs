//! The instruments of `colonnade.observe`.

#[cfg(target_os = "linux")]
pub(crate) mod pause_timer;
pub(crate) mod stopwatch;
pub(crate) mod timeline;
#[cfg(target_os = "linux")]
pub(crate) mod watch;
