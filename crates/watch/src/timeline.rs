//! The record of an event loop's tasks, step by step: a lane each. The caller tells when a step
//! begins and ends; the times are in nanoseconds since the trace began.

mod known_waits;
mod record;

use std::time::Duration;

pub use known_waits::{KnownWaits, Place};
pub use record::{Interval, KINDS, LOOP_DELAY, Record, Running, SLEEP, UNKNOWN};

/// Loops round their timers up to the next millisecond, so a sleep may end as late as that, and
/// then wait for its turn for another moment. In nanoseconds.
const TIMER_ROUNDING: u64 = 2_000_000;

/// When a sleep of `delay` seconds that began at `since` was over; now if that cannot be told, or
/// if it has been over for no longer than loops round their timers up.
pub fn end_of_sleep(since: u64, delay: f64, now: u64) -> u64 {
    // A delay may be infinite.
    let Ok(delay) = Duration::try_from_secs_f64(delay) else { return now };
    let due = u128::from(since) + delay.as_nanos();
    match u64::try_from(due) {
        Ok(due) if now.saturating_sub(due) > TIMER_ROUNDING => due,
        _ => now,
    }
}

#[cfg(test)]
mod tests;
