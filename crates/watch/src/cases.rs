//! Stalls that the watchdog and the sampler look at, from the first suspicion to the report.

use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cause::Cause;
use crate::pings::{LateAnswer, Ping};
use crate::watch::{Settings, Watch};
use crate::watchdog::{Stack, Stall};

/// The cases that are open, usually none or one: a case whose loop has answered stays open until
/// the stack that was asked for has come, and tells which thread held the interpreter.
pub(crate) struct Cases<S> {
    open: Mutex<Vec<Case<S>>>,
    stalls: SyncSender<Stall<S>>,
}

struct Case<S> {
    number: u64,
    due: Instant,
    /// When the watchdog asked for the interpreter first, and how long that took, in all.
    asked: Instant,
    interpreter_wait: Duration,
    /// The number of stacks that were asked for and have not come yet.
    awaited: usize,
    stacks: Vec<Stack<S>>,
    answer: Option<LateAnswer>,
}

impl<S> Cases<S> {
    pub(crate) fn new(stalls: SyncSender<Stall<S>>) -> Self {
        Self { open: Mutex::default(), stalls }
    }

    /// Opens a case, or notes that a further stack was asked for.
    pub(crate) fn open(&self, ping: &Ping, now: Instant) {
        let mut cases = self.lock();
        if let Some(case) = cases.iter_mut().find(|case| case.number == ping.number) {
            case.awaited += 1;
            return;
        }
        cases.push(Case {
            number: ping.number,
            due: ping.due,
            asked: now,
            interpreter_wait: Duration::ZERO,
            awaited: 1,
            stacks: Vec::new(),
            answer: None,
        });
    }

    /// Adds a stack, or notes that none can be had.
    pub(crate) fn add(
        &self,
        watch: &Watch,
        number: u64,
        asked: Instant,
        waited: Duration,
        stack: Option<S>,
    ) {
        let mut cases = self.lock();
        let Some(place) = cases.iter().position(|case| case.number == number) else { return };
        let Some(case) = cases.get_mut(place) else { return };
        case.awaited = case.awaited.saturating_sub(1);
        case.interpreter_wait += waited;
        if let Some(stack) = stack {
            let at = (asked + waited).saturating_duration_since(case.due);
            case.stacks.push(Stack { at, waited, stack });
        }
        if case.awaited == 0 && case.answer.is_some() {
            let case = cases.swap_remove(place);
            drop(cases);
            self.report(watch, case);
        }
    }

    /// The loop has answered: reports the stall, now or when its last stack has come.
    pub(crate) fn close(&self, watch: &Watch, mut answer: LateAnswer, stopped: Duration) {
        answer.evidence.stopped += stopped;
        let mut cases = self.lock();
        let Some(place) = cases.iter().position(|case| case.number == answer.number) else {
            drop(cases);
            self.tell(watch, &answer, Vec::new());
            return;
        };
        let Some(case) = cases.get_mut(place) else { return };
        case.answer = Some(answer);
        if case.awaited == 0 {
            let case = cases.swap_remove(place);
            drop(cases);
            self.report(watch, case);
        }
    }

    /// Forgets a case: the loop did not run.
    pub(crate) fn drop_case(&self, number: u64) {
        self.lock().retain(|case| case.number != number);
    }

    fn report(&self, watch: &Watch, case: Case<S>) {
        let Some(mut answer) = case.answer else { return };
        answer.evidence.interpreter_wait = Some(case.interpreter_wait);
        answer.evidence.left_when_asked = answer.at.saturating_duration_since(case.asked);
        self.tell(watch, &answer, case.stacks);
    }

    fn tell(&self, watch: &Watch, answer: &LateAnswer, stacks: Vec<Stack<S>>) {
        let cause = answer.evidence.cause(watch.settings.switch_interval);
        let Some(duration) = duration(&watch.settings, answer, cause) else { return };
        watch.count(cause, duration);
        let (ended, evidence) = (answer.at, answer.evidence);
        // Nobody may read any more, or not as fast as stalls come.
        let _ = self.stalls.try_send(Stall { cause, duration, ended, evidence, stacks });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Case<S>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long the loop did not look for events; None if that is no stall.
///
/// Where its turns are not seen, it was busy before the ping for as long as its thread had or
/// wanted a processor. A thread that slept may have slept for up to an interval before: half of
/// that is the best guess, but nothing that may be a stall is left out.
fn duration(settings: &Settings, answer: &LateAnswer, cause: Cause) -> Option<Duration> {
    let Settings { interval, threshold, .. } = *settings;
    let lag = answer.evidence.lag;
    let (guess, most) = match (answer.since, cause) {
        (Some(since), _) => {
            let exact = answer.at.saturating_duration_since(since);
            (exact, exact)
        }
        (None, Cause::Blocked | Cause::Gil) => (lag + interval / 2, lag + interval),
        (None, _) => {
            let busy = lag + answer.busy_before.min(interval);
            (busy, busy)
        }
    };
    (most >= threshold).then_some(guess)
}
