//! A watchdog for event loops: how late a loop runs, how busy it is, and why it stalls.
//!
//! A thread of its own pings the loop through an eventfd, which any loop can watch like a socket.
//! The time from the ping to the callback that answers it is the loop's *lag*: what any other ready
//! callback waits. Neither the thread nor the answer needs the interpreter, so both measure while
//! it is held. A ping without an answer for longer than a threshold is a *stall*; then a second
//! thread asks the [`Interpreter`] for stacks, and the [`Cause`] is named by what the kernel has
//! counted for the loop's thread in the meantime.
//!
//! The crate knows neither Python nor PostgreSQL.

mod cases;
mod cause;
mod decoding;
mod eventfd;
mod histogram;
mod pauses;
mod photographer;
mod pulse;
mod selects;
mod thread_clock;
mod watch;
mod watchdog;

pub use cause::{Cause, Evidence};
pub use decoding::note_decoding;
pub use histogram::DurationHistogram;
pub use photographer::{Interpreter, Look, Sight};
pub use pulse::Totals;
pub use watch::{Settings, Watch};
pub use watchdog::{Stack, Stall, Stalls};
