//! The thread that pings a loop and looks at its stalls.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::cause::{Cause, Evidence};
use crate::pulse::{LateAnswer, Ping};
use crate::thread_clock::{ThreadClock, running_by_thread};
use crate::watch::{Found, Settings, Watch};

/// So many stalls wait for a slow reader; further ones are only counted.
const MOST_UNREAD: usize = 1000;

/// The interpreter, as the watchdog sees it.
pub trait Interpreter: Send + 'static {
    /// The stack of the loop's thread, and what belongs to it.
    type Stack: Send;

    /// Waits for the interpreter, calls `look` at once, and takes what that says.
    fn take_stack(&mut self, look: &mut dyn FnMut() -> Look) -> Sight<Self::Stack>;
}

/// What the watchdog knows when it has the interpreter.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether the stall is over: the loop's stack tells nothing any more.
    pub is_over: bool,
    /// The kernel's number of the thread that ran most while the watchdog waited, neither the
    /// loop's nor its own; None if none ran.
    pub holder: Option<u32>,
}

/// What came of taking a stack.
#[derive(Debug)]
pub enum Sight<S> {
    /// The stack.
    Taken(S),
    /// Nothing was to be seen.
    Nothing,
    /// The loop does not run, so it has not stalled.
    NotRunning,
    /// The interpreter ends: nobody is left to watch.
    Gone,
}

/// A stack that was taken during a stall.
#[derive(Debug)]
pub struct Stack<S> {
    /// How long the stall had lasted.
    pub at: Duration,
    /// How long the watchdog had waited for the interpreter: a long wait means that the stack was
    /// taken when the interpreter was released.
    pub waited: Duration,
    /// The stack itself.
    pub stack: S,
}

/// A stall that is over.
#[derive(Debug)]
pub struct Stall<S> {
    /// Its cause.
    pub cause: Cause,
    /// How long the loop did not look for events.
    pub duration: Duration,
    /// When it ended.
    pub ended: Instant,
    /// What was counted meanwhile.
    pub evidence: Evidence,
    /// The stacks that were taken: at the threshold, and at ten times the threshold.
    pub stacks: Vec<Stack<S>>,
}

/// The stalls of a watch, as they come.
pub type Stalls<S> = Receiver<Stall<S>>;

impl Watch {
    /// Starts the watchdog, which runs until [`Watch::stop`] or until the interpreter ends; then
    /// no more stalls come.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start<I: Interpreter>(
        self: &Arc<Self>,
        interpreter: I,
    ) -> io::Result<(JoinHandle<()>, Stalls<I::Stack>)> {
        let watch = Arc::clone(self);
        let (stalls, unread) = sync_channel(MOST_UNREAD);
        let thread = Builder::new().name("loop-watchdog".to_owned()).spawn(move || {
            let next = Instant::now() + watch.settings.interval;
            Watchdog { watch, interpreter, stalls, case: None, next }.run();
        })?;
        Ok((thread, unread))
    }
}

/// A ping that waits suspiciously long, and what was seen meanwhile.
struct Case<S> {
    number: u64,
    /// When the watchdog asked for the interpreter first, and how long it waited, in all.
    asked: Instant,
    interpreter_wait: Duration,
    /// How much later than it was to the watchdog ran, in all.
    overslept: Duration,
    stacks: Vec<Stack<S>>,
    looks: u32,
}

struct Watchdog<I: Interpreter> {
    watch: Arc<Watch>,
    interpreter: I,
    stalls: SyncSender<Stall<I::Stack>>,
    case: Option<Case<I::Stack>>,
    /// When to send or to look at a ping.
    next: Instant,
}

impl<I: Interpreter> Watchdog<I> {
    fn run(&mut self) {
        let interval = self.watch.settings.interval;
        loop {
            let (found, overslept) = self.watch.wait_until(self.next);
            // What comes next counts from here: wherever the watchdog is held up after this, it
            // has overslept.
            let now = Instant::now();
            match found {
                Found::Stopped => return,
                Found::Answered => {
                    self.case = None;
                    self.watch.ping(overslept);
                    self.next = (self.next + interval).max(now);
                }
                Found::Late(answer) => {
                    self.close(&answer, overslept);
                    self.next = now + interval;
                }
                Found::Waiting(ping) => match self.inspect(&ping, overslept) {
                    Some(next) => self.next = next,
                    None => return,
                },
            }
        }
    }

    /// Looks at a ping that waits, and tells when to look again; None if the interpreter ends.
    fn inspect(&mut self, ping: &Ping, overslept: Duration) -> Option<Instant> {
        let Settings { threshold, .. } = self.watch.settings;
        let now = Instant::now();
        let case = self.case.take().filter(|case| case.number == ping.number);
        let mut case = case.unwrap_or_else(|| Case {
            number: ping.number,
            asked: now,
            interpreter_wait: Duration::ZERO,
            overslept: Duration::ZERO,
            stacks: Vec::new(),
            looks: 0,
        });
        case.overslept += overslept;
        let looks_due = [self.watch.settings.suspicion(), threshold * 10];
        let waited = now.saturating_duration_since(ping.due);
        let is_due = looks_due.get(case.looks as usize).is_some_and(|due| waited >= *due);
        if is_due {
            case.looks += 1;
            match self.look(ping, &mut case) {
                Sight::Taken(()) | Sight::Nothing => {}
                Sight::NotRunning => {
                    self.watch.withdraw();
                    return Some(Instant::now() + threshold * 5);
                }
                Sight::Gone => return None,
            }
        }
        let next_look = looks_due.get(case.looks as usize).map(|due| ping.due + *due);
        self.case = Some(case);
        // A late answer wakes the watchdog in any case. The wait for the interpreter is no
        // oversleeping.
        let now = Instant::now();
        Some(next_look.unwrap_or_else(|| now + threshold * 10).max(now))
    }

    /// Takes a stack.
    fn look(&mut self, ping: &Ping, case: &mut Case<I::Stack>) -> Sight<()> {
        let asked = Instant::now();
        if case.looks == 1 {
            case.asked = asked;
        }
        let own_clock = ThreadClock::of_this_thread().map_or(0, |clock| clock.tid());
        let not_holders = [own_clock, self.watch.tid()];
        let before = running_by_thread();
        let mut waited = None;
        let watch = &self.watch;
        let sight = self.interpreter.take_stack(&mut || {
            waited = Some(asked.elapsed());
            let holder = busiest(&before, &running_by_thread(), &not_holders);
            Look { is_over: !watch.waits(ping.number), holder }
        });
        let waited = waited.unwrap_or_default();
        case.interpreter_wait += waited;
        match sight {
            Sight::Taken(stack) => {
                let at = (asked + waited).saturating_duration_since(ping.due);
                case.stacks.push(Stack { at, waited, stack });
                Sight::Taken(())
            }
            Sight::Nothing => Sight::Nothing,
            Sight::NotRunning => Sight::NotRunning,
            Sight::Gone => Sight::Gone,
        }
    }

    /// Reports a stall that is over.
    fn close(&mut self, answer: &LateAnswer, overslept: Duration) {
        let mut evidence = answer.evidence;
        evidence.overslept += overslept;
        let mut stacks = Vec::new();
        if let Some(case) = self.case.take().filter(|case| case.number == answer.number) {
            evidence.overslept += case.overslept;
            evidence.left_when_asked = answer.at.saturating_duration_since(case.asked);
            if case.looks > 0 {
                evidence.interpreter_wait = Some(case.interpreter_wait);
            }
            stacks = case.stacks;
        }
        let cause = evidence.cause(self.watch.settings.switch_interval);
        let Some(duration) = self.duration(answer, cause) else { return };
        self.watch.count(cause, duration);
        // Nobody may read any more, or not as fast as stalls come.
        let _ = self.stalls.try_send(Stall { cause, duration, ended: answer.at, evidence, stacks });
    }
}

impl<I: Interpreter> Watchdog<I> {
    /// How long the loop did not look for events; None if that is no stall.
    ///
    /// Where its turns are not seen, it was busy before the ping for as long as its thread had or
    /// wanted a processor. A thread that slept may have slept for up to an interval before: half
    /// of that is the best guess, but nothing that may be a stall is left out.
    fn duration(&self, answer: &LateAnswer, cause: Cause) -> Option<Duration> {
        let Settings { interval, threshold, .. } = self.watch.settings;
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
}

/// The thread that ran most between two readings, for at least a millisecond.
fn busiest(
    before: &HashMap<u32, Duration>,
    after: &HashMap<u32, Duration>,
    except: &[u32],
) -> Option<u32> {
    let ran = |tid, now: Duration| now.saturating_sub(before.get(tid).copied().unwrap_or_default());
    let others = after.iter().filter(|(tid, _)| !except.contains(tid));
    let (tid, time) =
        others.map(|(tid, now)| (*tid, ran(tid, *now))).max_by_key(|(_, time)| *time)?;
    (time >= Duration::from_millis(1)).then_some(tid)
}

#[cfg(test)]
mod tests;
