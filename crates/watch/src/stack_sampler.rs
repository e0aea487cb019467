//! The thread that waits for the interpreter, and takes stacks of a stalled loop.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crate::cases::Cases;
use crate::thread_clock::{ThreadClock, running_by_thread};
use crate::watch::Watch;

/// The interpreter, as the sampler sees it.
pub trait Interpreter: Send + 'static {
    /// The stack of the loop's thread, and what belongs to it.
    type Stack: Send;

    /// Waits for the interpreter, calls `look` at once, and takes the stack with its answer.
    fn take_stack(&mut self, look: &mut dyn FnMut() -> Look) -> StackSample<Self::Stack>;
}

/// The state of a stall once the interpreter is held.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether the stall is over: then the loop's stack no longer tells anything.
    pub is_over: bool,
    /// The kernel's number of the thread that ran most during the wait for the interpreter, neither
    /// the loop's nor the waiting one; None if none ran.
    pub holder: Option<u32>,
}

/// The outcome of taking a stack.
#[derive(Debug)]
pub enum StackSample<S> {
    /// The stack.
    Taken(S),
    /// There was nothing to see.
    Nothing,
    /// The loop does not run, so it has not stalled.
    NotRunning,
    /// The interpreter ends: no loop is left to watch.
    Gone,
}

/// Takes a stack for each number of a ping that it is asked for.
pub(crate) struct StackSampler<I: Interpreter> {
    pub(crate) watch: Arc<Watch>,
    pub(crate) cases: Arc<Cases<I::Stack>>,
    pub(crate) interpreter: I,
    pub(crate) asked: Receiver<u64>,
}

impl<I: Interpreter> StackSampler<I> {
    /// Runs until the watchdog or the interpreter ends.
    pub(crate) fn run(mut self) {
        let own_tid = ThreadClock::of_this_thread().map_or(0, |clock| clock.tid());
        let not_holders = [own_tid, self.watch.tid()];
        while let Ok(number) = self.asked.recv() {
            let asked = Instant::now();
            let before = running_by_thread();
            let mut waited = Duration::ZERO;
            let watch = &self.watch;
            let sample = self.interpreter.take_stack(&mut || {
                waited = asked.elapsed();
                let holder = busiest(&before, &running_by_thread(), &not_holders);
                Look { is_over: !watch.waits(number), holder }
            });
            match sample {
                StackSample::Taken(stack) => {
                    self.cases.add(&self.watch, number, asked, waited, Some(stack));
                }
                StackSample::Nothing => self.cases.add(&self.watch, number, asked, waited, None),
                StackSample::NotRunning => {
                    self.cases.drop_case(number);
                    self.watch.withdraw(number);
                }
                StackSample::Gone => {
                    self.cases.drop_case(number);
                    self.watch.stop();
                    return;
                }
            }
        }
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
mod tests {
    use super::*;

    #[test]
    fn the_busiest_thread_is_none_of_ours() {
        let ms = Duration::from_millis;
        let before = HashMap::from([(1, ms(10)), (2, ms(10)), (3, ms(10)), (4, ms(99))]);
        let after = HashMap::from([(1, ms(90)), (2, ms(12)), (3, ms(13)), (4, ms(99)), (5, ms(2))]);
        assert_eq!(busiest(&before, &after, &[1]), Some(3));
        assert_eq!(busiest(&after, &after, &[1]), None);
        assert_eq!(busiest(&HashMap::new(), &HashMap::new(), &[]), None);
    }
}
