//! Why a loop stalled.

use std::time::Duration;

/// The cause of a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The garbage collector ran.
    Gc,
    /// The loop's thread decoded an answer of the server.
    Decode,
    /// The loop's thread waited for the interpreter, which another thread held.
    Gil,
    /// The loop's thread, or the whole process, had no processor.
    Starved,
    /// The loop's thread slept in a call.
    Blocked,
    /// The loop's thread computed.
    Code,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 6] =
        [Self::Gc, Self::Decode, Self::Gil, Self::Starved, Self::Blocked, Self::Code];

    /// The name of the cause.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gc => "gc",
            Self::Decode => "decode",
            Self::Gil => "gil",
            Self::Starved => "starved",
            Self::Blocked => "blocked",
            Self::Code => "code",
        }
    }
}

/// The counters between a ping and its late answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// From the ping to the answer.
    pub lag: Duration,
    /// The loop's thread was on a processor.
    pub running: Duration,
    /// The loop's thread could have run, but had no processor; None where the kernel does not tell.
    pub queued: Option<Duration>,
    /// How often the loop's thread was given a processor; None where the kernel does not tell.
    pub slices: Option<u64>,
    /// Other threads of the process were on processors, in all.
    pub others: Duration,
    /// The garbage collector ran, in any thread.
    pub collecting: Duration,
    /// The loop's thread decoded.
    pub decoding: Duration,
    /// The whole process was stopped, or the machine: the watchdog's thread ran this much later
    /// than it was due, and not for want of a processor.
    pub stopped: Duration,
    /// The watchdog waited for the interpreter; None if it did not ask.
    pub interpreter_wait: Option<Duration>,
    /// The rest of the stall when the watchdog asked for the interpreter.
    pub left_when_asked: Duration,
}

impl Evidence {
    /// Names the cause: a starved process, the garbage collector or decoding, if it took half of
    /// the lag; else what took the largest part.
    ///
    /// A thread that waits for the interpreter looks asleep to the kernel, but it wakes once per
    /// `switch_interval` to ask the holder for it, and so does the watchdog meanwhile. A thread
    /// that sleeps in a call wakes when the call ends.
    #[must_use]
    pub fn cause(&self, switch_interval: Duration) -> Cause {
        let half = self.lag / 2;
        let starved = self.queued.unwrap_or_default() + self.stopped;
        if starved >= half {
            return Cause::Starved;
        }
        if self.collecting >= half {
            return Cause::Gc;
        }
        if self.decoding >= half {
            return Cause::Decode;
        }
        let asleep = self.lag.saturating_sub(self.running + starved);
        let shares = [
            (self.running.saturating_sub(self.collecting + self.decoding), Cause::Code),
            (asleep, self.why_asleep(asleep, switch_interval)),
            (starved, Cause::Starved),
            (self.collecting, Cause::Gc),
            (self.decoding, Cause::Decode),
        ];
        // Of equal shares, the last one.
        shares.into_iter().max_by_key(|(share, _)| *share).map_or(Cause::Code, |(_, cause)| cause)
    }

    fn why_asleep(&self, asleep: Duration, switch_interval: Duration) -> Cause {
        let interval = switch_interval.max(Duration::from_micros(100));
        let due = asleep.as_nanos() / (2 * interval.as_nanos());
        let wakes = self.slices.map(u128::from);
        let wakes_like_a_waiter = wakes.is_none_or(|wakes| wakes >= due.max(3));
        let is_held = self.interpreter_wait.is_none_or(|wait| {
            // A holder that computes in Python gives it up after an interval. Many such holders
            // may give it to another thread at once, but then they ran most of the time.
            let is_waited_for = wait * 5 >= interval * 4 || wait * 2 >= self.left_when_asked;
            is_waited_for || self.others * 2 >= asleep
        });
        let is_known = wakes.is_some() || self.interpreter_wait.is_some();
        if is_known && wakes_like_a_waiter && is_held { Cause::Gil } else { Cause::Blocked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: Duration = Duration::from_millis(5);

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn stall() -> Evidence {
        Evidence {
            lag: ms(100),
            queued: Some(ms(0)),
            slices: Some(1),
            interpreter_wait: Some(ms(0)),
            left_when_asked: ms(90),
            ..Evidence::default()
        }
    }

    #[test]
    fn each_cause_has_its_evidence() {
        let cases = [
            (Evidence { running: ms(98), interpreter_wait: Some(ms(90)), ..stall() }, Cause::Code),
            (Evidence { running: ms(98), collecting: ms(90), ..stall() }, Cause::Gc),
            (Evidence { running: ms(98), decoding: ms(95), ..stall() }, Cause::Decode),
            (Evidence { running: ms(30), queued: Some(ms(68)), ..stall() }, Cause::Starved),
            (Evidence { stopped: ms(99), ..stall() }, Cause::Starved),
            (stall(), Cause::Blocked),
            (Evidence { slices: Some(20), interpreter_wait: Some(ms(89)), ..stall() }, Cause::Gil),
            // Another thread computes in Python: both wait for an interval at a time.
            (Evidence { slices: Some(12), interpreter_wait: Some(ms(5)), ..stall() }, Cause::Gil),
            // Many threads compute in Python, and the watchdog had the interpreter at once.
            (Evidence { slices: Some(25), others: ms(97), ..stall() }, Cause::Gil),
            // A call that sleeps without giving up the interpreter.
            (Evidence { interpreter_wait: Some(ms(90)), ..stall() }, Cause::Blocked),
            // Many short calls that sleep, while the interpreter is free.
            (Evidence { slices: Some(80), ..stall() }, Cause::Blocked),
            // A call that sleeps, while another thread computes in Python.
            (
                Evidence { slices: Some(2), interpreter_wait: Some(ms(5)), ..stall() },
                Cause::Blocked,
            ),
            // The collector ran in another thread, while the loop's waited for the interpreter.
            (
                Evidence {
                    slices: Some(20),
                    interpreter_wait: Some(ms(89)),
                    collecting: ms(95),
                    ..stall()
                },
                Cause::Gc,
            ),
        ];
        for (evidence, cause) in cases {
            assert_eq!(evidence.cause(SWITCH), cause, "{evidence:?}");
        }
    }

    #[test]
    fn a_kernel_that_counts_nothing_leaves_the_wait_for_the_interpreter() {
        let untold = Evidence { queued: None, slices: None, ..stall() };
        assert_eq!(untold.cause(SWITCH), Cause::Blocked);
        let held = Evidence { interpreter_wait: Some(ms(80)), ..untold };
        assert_eq!(held.cause(SWITCH), Cause::Gil);
        let nothing = Evidence { interpreter_wait: None, ..untold };
        assert_eq!(nothing.cause(SWITCH), Cause::Blocked);
    }

    #[test]
    fn without_a_majority_the_largest_share_counts() {
        let mixed = Evidence { running: ms(49), queued: Some(ms(25)), ..stall() };
        assert_eq!(mixed.cause(SWITCH), Cause::Code);
        let mixed = Evidence { running: ms(30), queued: Some(ms(25)), ..stall() };
        assert_eq!(mixed.cause(SWITCH), Cause::Blocked);
        let mixed =
            Evidence { running: ms(40), collecting: ms(30), queued: Some(ms(49)), ..stall() };
        assert_eq!(mixed.cause(SWITCH), Cause::Starved);
    }
}
