//! When a loop is at rest, and whether the watchdog itself was late for want of a processor.

use std::time::Duration;

use crate::thread_clock::{ThreadClock, running_of_process};
use crate::watch::Watch;

/// A loop at rest is woken nevertheless, at the latest after this many intervals.
const MOST_LEFT_OUT: u32 = 9;
/// The process may have used this part of an interval, most of it for the watchdog.
const PART_USED_MOST: u32 = 10;

/// Tells whether a ping can be left out.
///
/// A loop that waits for events answers at once, unless its thread cannot get the interpreter. If
/// the process used no processor either, nothing has held that; so the loop needs not be woken.
#[derive(Default)]
pub(super) struct Rest {
    used_before: Duration,
    left_out: u32,
}

impl Rest {
    pub(super) fn can_leave_out(&mut self, watch: &Watch) -> bool {
        let used = running_of_process();
        let spent = used.saturating_sub(self.used_before);
        self.used_before = used;
        let is_idle = watch.is_waiting() && spent < watch.settings.interval / PART_USED_MOST;
        let can = is_idle && self.left_out < MOST_LEFT_OUT;
        self.left_out = if can { self.left_out + 1 } else { 0 };
        can
    }
}

/// A delay as short as this is not looked into.
const SHORT: Duration = Duration::from_millis(1);
/// The most waits that pass between two readings of the counter.
const MOST_UNREAD: u32 = 100;

/// How long the watchdog's own thread waited for a processor.
///
/// Reading the counter takes longer than everything else that the watchdog does, so it is read
/// where it matters; the increase since the reading before is a few milliseconds.
pub(super) struct OwnWaits {
    clock: Option<ThreadClock>,
    queued: Option<Duration>,
    unread: u32,
}

impl OwnWaits {
    pub(super) fn of_this_thread() -> Self {
        let clock = ThreadClock::of_this_thread().ok();
        let queued = clock.as_ref().and_then(|clock| clock.read().queued);
        Self { clock, queued, unread: 0 }
    }

    /// The part of a delay in which the watchdog had a processor, but was stopped.
    pub(super) fn stopped(&mut self, lateness: Duration) -> Duration {
        self.unread += 1;
        if lateness < SHORT && self.unread < MOST_UNREAD {
            return Duration::ZERO;
        }
        self.unread = 0;
        let queued = self.clock.as_ref().and_then(|clock| clock.read().queued);
        let waited = queued.zip(self.queued).map(|(now, before)| now.saturating_sub(before));
        self.queued = queued;
        if lateness < SHORT {
            return Duration::ZERO;
        }
        lateness.saturating_sub(waited.unwrap_or_default())
    }
}
