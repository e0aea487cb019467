//! The thread that pings a loop and looks at its stalls. It never waits for the interpreter, so it
//! notices when it gets no processor itself.

mod rest;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::cases::Cases;
use crate::cause::{Cause, Evidence};
use crate::pings::{LateAnswer, Ping};
use crate::stack_sampler::{Interpreter, StackSampler};
use crate::watch::{Found, Watch};
use crate::watchdog::rest::{OwnWaits, Rest};

/// The most stalls that wait for a slow reader; further ones are only counted.
const MOST_UNREAD: usize = 1000;

/// A stack that was taken during a stall.
#[derive(Debug)]
pub struct Stack<S> {
    /// How long the ping had waited for its answer.
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
    /// The counters during the stall.
    pub evidence: Evidence,
    /// The stacks that were taken: when the stall was suspected, and at ten times the threshold.
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
        let (stalls, unread) = sync_channel(MOST_UNREAD);
        let (looks, asked) = channel();
        let cases = Arc::new(Cases::new(stalls));
        let sampler =
            StackSampler { watch: Arc::clone(self), cases: Arc::clone(&cases), interpreter, asked };
        let taking = Builder::new().name("loop-stacks".to_owned()).spawn(move || sampler.run())?;
        let next = Instant::now() + self.settings.interval;
        let mut watchdog = Watchdog { watch: Arc::clone(self), cases, looks, next, case: None };
        let thread = Builder::new().name("loop-watchdog".to_owned()).spawn(move || {
            watchdog.run();
            // Without the watchdog nobody asks for stacks, so the other thread ends.
            drop(watchdog);
            let _ = taking.join();
        })?;
        Ok((thread, unread))
    }
}

/// Decides when to send or look at a ping, and keeps the state of the one that waits.
struct Watchdog<S> {
    watch: Arc<Watch>,
    cases: Arc<Cases<S>>,
    looks: Sender<u64>,
    next: Instant,
    /// The looks at the waiting ping, by its number, and how long the process was stopped since.
    case: Option<(u64, usize, Duration)>,
}

impl<S> Watchdog<S> {
    fn run(&mut self) {
        let interval = self.watch.settings.interval;
        let (mut rest, mut own_waits) = (Rest::default(), OwnWaits::of_this_thread());
        loop {
            let (found, lateness) = self.watch.wait_until(self.next);
            // The watchdog's own wait for a processor says nothing of the loop's thread. Any other
            // delay has stopped the whole process.
            let stopped = own_waits.stopped(lateness);
            // Time counts from here: wherever the watchdog is held up after this, it is late.
            let now = Instant::now();
            match found {
                Found::Stopped => return,
                Found::Answered => {
                    self.case = None;
                    if rest.can_leave_out(&self.watch) && stopped.is_zero() {
                        self.watch.rest();
                    } else {
                        self.watch.ping(stopped);
                    }
                    self.next = now + interval;
                }
                Found::Late(answer) => {
                    self.close(answer, stopped);
                    self.next = now + interval;
                }
                Found::Waiting(ping) => {
                    self.inspect(&ping, now, stopped);
                    self.next = now + interval;
                }
            }
        }
    }

    /// Looks at a ping that waits, and asks for a stack where one is due.
    fn inspect(&mut self, ping: &Ping, now: Instant, stopped: Duration) {
        let settings = self.watch.settings;
        let known = self.case.filter(|(number, ..)| *number == ping.number);
        let (_, looks, stopped_before) = known.unwrap_or((ping.number, 0, Duration::ZERO));
        let looks_due = [settings.suspicion(), settings.threshold * 10];
        let waited = now.saturating_duration_since(ping.due);
        let is_due = looks_due.get(looks).is_some_and(|due| waited >= *due);
        if is_due {
            self.cases.open(ping, now);
            // The sampler ends when the interpreter does, and then no stack can be had.
            let _ = self.looks.send(ping.number);
        }
        self.case = Some((ping.number, looks + usize::from(is_due), stopped_before + stopped));
    }

    /// Ends a case that was answered.
    fn close(&mut self, answer: LateAnswer, stopped: Duration) {
        let known = self.case.take().filter(|(number, ..)| *number == answer.number);
        let before = known.map_or(Duration::ZERO, |(_, _, before)| before);
        self.cases.close(&self.watch, answer, before + stopped);
    }
}

#[cfg(test)]
mod tests;
