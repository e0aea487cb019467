//! The state that the loop and its watchdog share.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cause::Cause;
use crate::decoding::Decoding;
use crate::eventfd::EventFd;
use crate::pauses::Pauses;
use crate::pings::{Counters, LateAnswer, Ping, Pings, Totals};
use crate::selects::Selects;
use crate::thread_clock::{ThreadClock, ThreadTimes, running_of_process};

/// How a loop is watched.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The time from one ping to the next.
    pub interval: Duration,
    /// A loop that does not look for events for this long has stalled; at least two intervals.
    pub threshold: Duration,
    /// After this long the interpreter asks a thread to give it up.
    pub switch_interval: Duration,
}

impl Settings {
    /// The lag from which a stall is possible: the ping may have come up to an interval after the
    /// stall had begun.
    ///
    /// The threshold is at least two intervals, so no ping is due before this.
    pub(crate) fn suspicion(&self) -> Duration {
        self.threshold.saturating_sub(self.interval).max(self.interval)
    }
}

/// A watched loop: its thread calls the methods, the watchdog pings.
pub struct Watch {
    pub(crate) settings: Settings,
    wake: EventFd,
    clock: ThreadClock,
    decoding: Decoding,
    pauses: Pauses,
    selects: Selects,
    began: Instant,
    times_at_start: ThreadTimes,
    shared: Mutex<Shared>,
    /// Whether this is a copy in a forked child; the lock may have been held at the fork.
    is_parents: AtomicBool,
    /// Told of a late answer, and of the end.
    changed: Condvar,
}

#[derive(Default)]
struct Shared {
    pings: Pings,
    stalls: [(u64, Duration); Cause::ALL.len()],
    is_stopped: bool,
}

/// The watchdog's finding about the last ping.
pub(crate) enum Found {
    /// It is to stop.
    Stopped,
    /// The last ping was answered in time.
    Answered,
    /// The last ping was answered late.
    Late(LateAnswer),
    /// The last ping waits for its answer.
    Waiting(Ping),
}

impl Watch {
    /// Watches the loop of the calling thread.
    ///
    /// # Errors
    /// If the system gives no descriptor or no clock of the thread.
    pub fn of_this_thread(settings: Settings) -> io::Result<Self> {
        let clock = ThreadClock::of_this_thread()?;
        Ok(Self {
            settings,
            wake: EventFd::new()?,
            times_at_start: clock.read(),
            clock,
            decoding: Decoding::of_this_thread(),
            pauses: Pauses::default(),
            selects: Selects::default(),
            began: Instant::now(),
            shared: Mutex::default(),
            is_parents: AtomicBool::new(false),
            changed: Condvar::new(),
        })
    }

    /// The descriptor that the loop watches for reading; it then calls [`Watch::beat`].
    pub fn fileno(&self) -> RawFd {
        self.wake.fileno()
    }

    /// Answers the ping, in the loop's thread; does nothing in a forked child.
    pub fn beat(&self) {
        // A child that acknowledged the ping would take it away from the parent.
        if self.is_parents.load(Ordering::Relaxed) {
            return;
        }
        self.wake.acknowledge();
        let now = Instant::now();
        let mut shared = self.lock();
        let Some((ping, lag)) = shared.pings.answer(now, self.settings.interval) else { return };
        if lag < self.settings.suspicion() {
            return;
        }
        let since = self.selects.busy_since(ping.due);
        let after = self.counters();
        shared.pings.was_late(&ping, now, since, &after);
        drop(shared);
        self.changed.notify_all();
    }

    /// Records that the loop begins to wait for events.
    pub fn enter_select(&self) {
        self.selects.enter();
    }

    /// Records that the loop has stopped waiting for events.
    pub fn leave_select(&self) {
        self.selects.leave();
    }

    /// Records that the garbage collector begins, in any thread.
    pub fn begin_pause(&self) {
        self.pauses.begin();
    }

    /// Records that the garbage collector has ended.
    pub fn end_pause(&self) {
        self.pauses.end();
    }

    /// In a forked child: leaves the pings to the parent. The loop may go on there, and still calls
    /// the methods; none of them takes the lock from now on, which may never be released.
    pub fn leave_to_parent(&self) {
        self.is_parents.store(true, Ordering::Relaxed);
    }

    /// Asks the watchdog to end. If it waits for the interpreter, it ends once it has had it.
    pub fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }

    /// Whether the watchdog has ended, or is about to.
    pub fn is_stopped(&self) -> bool {
        self.is_parents.load(Ordering::Relaxed) || self.lock().is_stopped
    }

    /// The counters so far.
    pub fn totals(&self) -> Totals {
        let now = self.clock.read();
        let thread = now.since(&self.times_at_start);
        let shared = self.lock();
        let pings = &shared.pings;
        let (stalled, asleep) = pings.stalled(Instant::now(), &now, self.settings.threshold);
        Totals {
            wall: self.began.elapsed(),
            idle: self.selects.idle(),
            running: thread.running,
            queued: thread.queued,
            asleep: pings.asleep + asleep,
            stalled,
            beats: pings.beats,
            lag_total: pings.lag_total,
            lag: pings.lag.clone(),
            collecting: self.pauses.total(),
            pauses: self.pauses.lengths(),
            stalls: shared.stalls,
        }
    }

    /// Adds a stall to the totals.
    pub(crate) fn count(&self, cause: Cause, duration: Duration) {
        let mut shared = self.lock();
        let kinds = Cause::ALL.iter().zip(&mut shared.stalls);
        for (_, (count, total)) in kinds.filter(|(kind, _)| **kind == cause) {
            *count += 1;
            *total += duration;
        }
    }

    pub(crate) fn tid(&self) -> u32 {
        self.clock.tid()
    }

    /// Sends a ping that was due before the process was stopped for the time `stopped`.
    pub(crate) fn ping(&self, stopped: Duration) {
        let before = self.counters();
        self.lock().pings.ping(Instant::now(), stopped, before);
        self.wake.wake();
    }

    /// Whether the loop waits for events, as far as its selector can be seen.
    pub(crate) fn is_waiting(&self) -> bool {
        self.selects.is_waiting()
    }

    /// Leaves out the ping of a loop at rest.
    pub(crate) fn rest(&self) {
        self.lock().pings.rest();
    }

    /// Withdraws the ping: the loop does not run, so it cannot be late.
    pub(crate) fn withdraw(&self, number: u64) {
        self.lock().pings.withdraw(number);
    }

    /// Waits until `moment`, a late answer or the end. Also returns how much later than `moment`
    /// the wait has ended.
    pub(crate) fn wait_until(&self, moment: Instant) -> (Found, Duration) {
        let mut shared = self.lock();
        loop {
            let now = Instant::now();
            let lateness = now.saturating_duration_since(moment);
            if shared.is_stopped {
                return (Found::Stopped, lateness);
            }
            if let Some(late) = shared.pings.late.take() {
                return (Found::Late(late), lateness);
            }
            let left = moment.saturating_duration_since(now);
            if left.is_zero() {
                let found = shared.pings.waiting.map_or(Found::Answered, Found::Waiting);
                return (found, lateness);
            }
            shared =
                self.changed.wait_timeout(shared, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether a ping still waits for its answer.
    pub(crate) fn waits(&self, number: u64) -> bool {
        self.lock().pings.waiting.is_some_and(|ping| ping.number == number)
    }

    fn counters(&self) -> Counters {
        Counters {
            thread: self.clock.read(),
            process: running_of_process(),
            collecting: self.pauses.total(),
            decoding: self.decoding.total(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched() -> Watch {
        let ms = Duration::from_millis;
        let settings = Settings { interval: ms(10), threshold: ms(20), switch_interval: ms(5) };
        Watch::of_this_thread(settings).unwrap()
    }

    #[test]
    fn a_copy_in_a_forked_child_takes_neither_the_lock_nor_the_ping() {
        let watch = watched();
        watch.ping(Duration::ZERO);
        let held = watch.lock();
        watch.leave_to_parent();
        watch.beat();
        assert!(watch.is_stopped());
        drop(held);
        assert!(watch.lock().pings.waiting.is_some());
    }

    #[test]
    fn a_stall_is_told_while_it_lasts() {
        let watch = watched();
        assert_eq!(watch.totals().stalled, Duration::ZERO);
        watch.ping(Duration::ZERO);
        assert_eq!(watch.totals().stalled, Duration::ZERO);
        std::thread::sleep(Duration::from_millis(25));
        let totals = watch.totals();
        assert!(totals.stalled >= Duration::from_millis(25));
        assert!(totals.asleep <= totals.stalled);
        assert!(totals.asleep >= Duration::from_millis(10), "{:?}", totals.asleep);
        watch.beat();
        assert_eq!(watch.totals().stalled, Duration::ZERO);
    }
}
