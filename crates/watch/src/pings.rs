//! The pings of a loop and their answers.

use std::time::{Duration, Instant};

use crate::cause::{Cause, Evidence};
use crate::histogram::DurationHistogram;
use crate::thread_clock::ThreadTimes;

/// The counters at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    pub(crate) thread: ThreadTimes,
    pub(crate) process: Duration,
    pub(crate) collecting: Duration,
    pub(crate) decoding: Duration,
}

/// A ping without an answer so far.
#[derive(Clone, Copy)]
pub(crate) struct Ping {
    pub(crate) number: u64,
    /// When it was due. Lag counts from then, even if the process was stopped before it was sent:
    /// so would the callback of a timer have been late.
    pub(crate) due: Instant,
    /// For how long the process was stopped before.
    pub(crate) stopped: Duration,
    pub(crate) before: Counters,
    /// How long the loop's thread had or wanted a processor since the ping before.
    pub(crate) busy_before: Duration,
}

/// A ping that was answered late.
pub(crate) struct LateAnswer {
    pub(crate) number: u64,
    pub(crate) at: Instant,
    /// Since when the loop had not looked for events; None where its turns are not seen.
    pub(crate) since: Option<Instant>,
    /// See [`Ping::busy_before`].
    pub(crate) busy_before: Duration,
    /// The counters, except the watchdog's own.
    pub(crate) evidence: Evidence,
}

/// The state of a loop's answers.
#[derive(Default)]
pub(crate) struct Pings {
    pings: u64,
    times_at_ping: Option<ThreadTimes>,
    last_lag: Duration,
    /// The loop did not run when it was looked at: the next answer tells that it runs again, and
    /// nothing else.
    is_paused: bool,
    pub(crate) waiting: Option<Ping>,
    pub(crate) late: Option<LateAnswer>,
    pub(crate) lag: DurationHistogram,
    pub(crate) lag_total: Duration,
    pub(crate) beats: u64,
    /// The time of stalls in which the loop's thread was neither running nor queued.
    pub(crate) asleep: Duration,
}

impl Pings {
    /// Sends a ping that was due before the process was stopped for the time `stopped`.
    pub(crate) fn ping(&mut self, now: Instant, stopped: Duration, before: Counters) {
        self.pings += 1;
        let due = now.checked_sub(stopped).unwrap_or(now);
        let earlier = self.times_at_ping.replace(before.thread);
        let spent = earlier.map(|earlier| before.thread.since(&earlier)).unwrap_or_default();
        let busy_before = spent.running + spent.queued.unwrap_or_default();
        self.waiting = Some(Ping { number: self.pings, due, stopped, before, busy_before });
    }

    /// Withdraws a ping: the loop does not run, so it cannot be late.
    pub(crate) fn withdraw(&mut self, number: u64) {
        if self.waiting.is_some_and(|ping| ping.number == number) {
            self.waiting = None;
        }
        self.is_paused = true;
    }

    /// Leaves out the ping of a loop at rest, which would answer as it did last.
    pub(crate) fn rest(&mut self) {
        self.lag_total += self.last_lag;
        self.lag.record(self.last_lag);
    }

    /// Answers the ping; None if it was answered or withdrawn before.
    pub(crate) fn answer(&mut self, now: Instant, interval: Duration) -> Option<(Ping, Duration)> {
        let ping = self.waiting.take()?;
        if std::mem::take(&mut self.is_paused) {
            return None;
        }
        let lag = now.saturating_duration_since(ping.due);
        self.beats += 1;
        self.lag_total += lag;
        self.last_lag = lag;
        self.lag.record_corrected(lag, interval);
        Some((ping, lag))
    }

    /// How long the loop has not answered, zero below the threshold; and for how long of this its
    /// thread was neither running nor queued.
    pub(crate) fn stalled(
        &self,
        now: Instant,
        times: &ThreadTimes,
        threshold: Duration,
    ) -> (Duration, Duration) {
        let Some(ping) = self.waiting.filter(|_| !self.is_paused) else {
            return Default::default();
        };
        let stalled = now.saturating_duration_since(ping.due);
        if stalled < threshold {
            return Default::default();
        }
        (stalled, stalled.saturating_sub(awake(&times.since(&ping.before.thread), &ping)))
    }

    /// Keeps a late answer for the watchdog.
    pub(crate) fn was_late(
        &mut self,
        ping: &Ping,
        at: Instant,
        since: Option<Instant>,
        after: &Counters,
    ) {
        let thread = after.thread.since(&ping.before.thread);
        let evidence = Evidence {
            lag: at.saturating_duration_since(ping.due),
            running: thread.running,
            queued: thread.queued,
            slices: thread.slices,
            others: after.process.saturating_sub(ping.before.process + thread.running),
            collecting: after.collecting.saturating_sub(ping.before.collecting),
            decoding: after.decoding.saturating_sub(ping.before.decoding),
            stopped: ping.stopped,
            ..Evidence::default()
        };
        self.asleep += evidence.lag.saturating_sub(awake(&thread, ping));
        let Ping { number, busy_before, .. } = *ping;
        self.late = Some(LateAnswer { number, at, since, busy_before, evidence });
    }
}

/// For how long of a ping's wait the thread ran or was queued, or the process was stopped.
fn awake(thread: &ThreadTimes, ping: &Ping) -> Duration {
    thread.running + thread.queued.unwrap_or_default() + ping.stopped
}

/// The counters of a watch since it began.
#[derive(Clone, Debug)]
pub struct Totals {
    /// The time since the watch began.
    pub wall: Duration,
    /// The time in which the loop waited for events; None where its selector cannot be timed.
    pub idle: Option<Duration>,
    /// The time in which the loop's thread was on a processor.
    pub running: Duration,
    /// The time in which it could have run, but had no processor; None where the kernel does not
    /// tell.
    pub queued: Option<Duration>,
    /// The time of stalls in which it was neither.
    pub asleep: Duration,
    /// How long the stall that lasts at this moment has taken so far; zero without one.
    pub stalled: Duration,
    /// How many pings were answered.
    pub beats: u64,
    /// The sum of their lags.
    pub lag_total: Duration,
    /// The lags, corrected for the pings that a stall kept from being sent.
    pub lag: DurationHistogram,
    /// The time of the collector's pauses, the one under way included.
    pub collecting: Duration,
    /// The lengths of the collector's pauses that have ended.
    pub pauses: DurationHistogram,
    /// How many stalls each cause had, and their time, in the order of [`Cause::ALL`].
    pub stalls: [(u64, Duration); Cause::ALL.len()],
}
