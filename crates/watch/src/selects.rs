//! When the loop waits for events, where its selector can be timed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The times at which a loop began and stopped waiting for events.
///
/// A thread that takes the lock holds the interpreter, so no child of a fork inherits it locked.
#[derive(Default)]
pub(crate) struct Selects {
    is_waiting: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Duration,
    /// When the last wait began, and when it ended; None while it lasts.
    entered: Option<Instant>,
    left: Option<Instant>,
    /// When the wait before that ended.
    left_before: Option<Instant>,
}

impl Selects {
    /// Whether the loop waits for events now.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Acquire)
    }

    pub(crate) fn enter(&self) {
        let mut state = self.lock();
        state.left_before = state.left.take();
        state.entered = Some(Instant::now());
        self.is_waiting.store(true, Ordering::Release);
    }

    pub(crate) fn leave(&self) {
        self.is_waiting.store(false, Ordering::Release);
        let now = Instant::now();
        let mut state = self.lock();
        if let Some(entered) = state.entered.filter(|_| state.left.is_none()) {
            state.idle += now - entered;
        }
        state.left = Some(now);
    }

    /// The time of all waits so far, the one under way included; None where no wait was seen.
    pub(crate) fn idle(&self) -> Option<Duration> {
        let state = self.lock();
        let entered = state.entered?;
        let under_way = if state.left.is_none() { entered.elapsed() } else { Duration::ZERO };
        Some(state.idle + under_way)
    }

    /// Since when the loop had been busy at `moment`, which is not before its last turn but one;
    /// the moment itself where it was idle, and None where no wait was seen.
    pub(crate) fn busy_since(&self, moment: Instant) -> Option<Instant> {
        let state = self.lock();
        if moment >= state.entered? {
            return Some(moment);
        }
        Some(state.left_before.filter(|began| *began < moment).unwrap_or(moment))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_while() {
        let since = Instant::now();
        while since.elapsed() < Duration::from_micros(200) {}
    }

    #[test]
    fn idle_is_the_time_within_waits() {
        let selects = Selects::default();
        assert_eq!(selects.idle(), None);
        selects.enter();
        a_while();
        assert!(selects.idle() >= Some(Duration::from_micros(200)));
        selects.leave();
        let idle = selects.idle();
        a_while();
        assert_eq!(selects.idle(), idle);
    }

    #[test]
    fn a_stall_began_with_its_turn() {
        let selects = Selects::default();
        let moment = Instant::now();
        assert_eq!(selects.busy_since(moment), None);
        selects.enter();
        selects.leave();
        let turn = selects.lock().left.unwrap();
        a_while();
        let ping = Instant::now();
        a_while();
        selects.enter();
        selects.leave();
        assert_eq!(selects.busy_since(ping), Some(turn));
        // A ping while the loop waits begins the turn that answers it.
        selects.enter();
        let ping = Instant::now();
        selects.leave();
        assert_eq!(selects.busy_since(ping), Some(ping));
    }
}
