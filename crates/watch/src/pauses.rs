//! The pauses of a garbage collector.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::histogram::DurationHistogram;

/// No pause is under way.
const NONE: u64 = u64::MAX;

/// The past pauses and the one under way. The collector of an interpreter runs once at a time.
///
/// The watchdog reads only the atomic numbers. All others hold the interpreter when they take the
/// lock, so no child of a fork inherits it locked, and collectors run in children, too.
pub(crate) struct Pauses {
    /// The moment from which `began` counts.
    epoch: Instant,
    began: AtomicU64,
    total: AtomicU64,
    lengths: Mutex<DurationHistogram>,
}

impl Default for Pauses {
    fn default() -> Self {
        Self {
            epoch: Instant::now(),
            began: AtomicU64::new(NONE),
            total: AtomicU64::new(0),
            lengths: Mutex::default(),
        }
    }
}

impl Pauses {
    pub(crate) fn begin(&self) {
        self.began.store(self.now(), Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        let began = self.began.swap(NONE, Ordering::Relaxed);
        if began != NONE {
            let length = self.now().saturating_sub(began);
            self.total.fetch_add(length, Ordering::Relaxed);
            self.lock().record(Duration::from_nanos(length));
        }
    }

    /// The time of all pauses so far, the one under way included.
    pub(crate) fn total(&self) -> Duration {
        let ended = self.total.load(Ordering::Relaxed);
        let began = self.began.load(Ordering::Relaxed);
        let lasts = if began == NONE { 0 } else { self.now().saturating_sub(began) };
        Duration::from_nanos(ended + lasts)
    }

    pub(crate) fn lengths(&self) -> DurationHistogram {
        self.lock().clone()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(NONE - 1)
    }

    fn lock(&self) -> MutexGuard<'_, DurationHistogram> {
        self.lengths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_counts_while_it_lasts() {
        let pauses = Pauses::default();
        pauses.end();
        assert_eq!(pauses.total(), Duration::ZERO);
        pauses.begin();
        while pauses.total() < Duration::from_millis(1) {}
        assert_eq!(pauses.lengths().count(), 0);
        pauses.end();
        let total = pauses.total();
        assert!(total >= Duration::from_millis(1));
        assert_eq!(pauses.lengths().count(), 1);
        assert_eq!(pauses.total(), total);
    }
}
