//! The instruments of `colonnade.observe`.

pub(crate) mod lanes;
#[cfg(target_os = "linux")]
pub(crate) mod pause_timer;
pub(crate) mod stopwatch;
#[cfg(target_os = "linux")]
pub(crate) mod watch;
