//! A watchdog for event loops: how late a loop runs, how busy it is, and why it stalls.
//!
//! A thread of its own pings the loop through an eventfd, which any loop can watch like a socket.
//! The time from the ping to the callback that answers it is the loop's *lag*: what any other ready
//! callback waits. Neither the thread nor the answer needs the interpreter, so both measure while
//! it is held. A ping without an answer for longer than a threshold is a *stall*; then a second
//! thread asks the [`Interpreter`] for stacks, and the [`Cause`] is derived from the kernel's
//! counters of the loop's thread in the meantime.
//!
//! On all systems, [`timeline`] records what tasks do, and a [`Stopwatch`] times the phases of
//! calls.
//!
//! The crate knows neither Python nor PostgreSQL.

#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod cause;
#[cfg(target_os = "linux")]
mod decoding;
#[cfg(target_os = "linux")]
mod eventfd;
#[cfg(target_os = "linux")]
mod histogram;
#[cfg(target_os = "linux")]
mod pauses;
#[cfg(target_os = "linux")]
mod pings;
#[cfg(target_os = "linux")]
mod selects;
#[cfg(target_os = "linux")]
mod stack_sampler;
mod stopwatch;
#[cfg(target_os = "linux")]
mod thread_clock;
pub mod timeline;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod watchdog;

#[cfg(target_os = "linux")]
pub use cause::{Cause, Evidence};
#[cfg(target_os = "linux")]
pub use decoding::note_decoding;
#[cfg(target_os = "linux")]
pub use histogram::DurationHistogram;
#[cfg(target_os = "linux")]
pub use pings::Totals;
#[cfg(target_os = "linux")]
pub use stack_sampler::{Interpreter, Look, StackSample};
pub use stopwatch::{Stopwatch, Timing};
#[cfg(target_os = "linux")]
pub use watch::{Settings, Watch};
#[cfg(target_os = "linux")]
pub use watchdog::{Stack, Stall, Stalls};
