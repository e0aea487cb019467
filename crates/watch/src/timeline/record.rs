//! The record of a trace: intervals of lanes, in nanoseconds since the trace began.

/// The kinds of a lane's intervals, by number.
pub const KINDS: [&str; 14] = [
    "running",
    "pool",
    "prepare",
    "send",
    "server",
    "transfer",
    "decode",
    "loop_delay",
    "sleep",
    "lock",
    "task",
    "thread",
    "network",
    "unknown",
];
const RUNNING: u8 = 0;
/// It was ready, and waited for its turn.
pub const LOOP_DELAY: u8 = 7;
/// It slept.
pub const SLEEP: u8 = 8;
const TASK: u8 = 10;
/// Nobody knows why it waited.
pub const UNKNOWN: u8 = 13;

/// One interval of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The number of the lane.
    pub lane: u32,
    /// One of [`KINDS`], by number.
    pub kind: u8,
    /// Its first moment.
    pub start: u64,
    /// The moment after its last one.
    pub end: u64,
}

/// When a lane began, and its end if it has one.
struct Life {
    began: u64,
    ended: Option<u64>,
}

/// The lane that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    lane: u32,
    since: u64,
    /// Whether nobody tells when its step ends: it has ended when another lane's begins.
    is_open_ended: bool,
}

/// Everything recorded of one loop.
pub struct Record {
    /// Whether steps are recorded.
    pub is_on: bool,
    limit: usize,
    running: Option<Running>,
    /// Whether a task is being made, which may begin at once, within another lane's step.
    is_making: bool,
    /// The end of the last step that was open-ended.
    closed: Option<(u32, u64)>,
    /// The end of the last step of any lane.
    last: u64,
    lives: Vec<Life>,
    /// The intervals so far.
    pub intervals: Vec<Interval>,
    /// How many were not kept because of the limit.
    pub dropped: u64,
}

impl Record {
    /// A record of at most `limit` intervals.
    pub fn new(limit: usize) -> Self {
        Self {
            is_on: false,
            limit,
            running: None,
            is_making: false,
            closed: None,
            last: 0,
            lives: Vec::new(),
            intervals: Vec::new(),
            dropped: 0,
        }
    }

    /// Whether there is no room for further intervals.
    pub fn is_full(&self) -> bool {
        self.intervals.len() >= self.limit
    }

    /// Ends the trace.
    pub fn stop(&mut self, now: u64) {
        self.leave(None, now);
        self.is_on = false;
    }

    /// Adds an interval, or counts it as dropped.
    pub fn add(&mut self, lane: u32, kind: u8, start: u64, end: u64) {
        if end <= start {
        } else if self.is_full() {
            self.dropped += 1;
        } else {
            self.intervals.push(Interval { lane, kind, start, end });
        }
    }

    /// Adds a wait since `since`, which was over at `over`, or so it was told; the rest was a wait
    /// for the lane's turn.
    pub fn add_wait(&mut self, lane: u32, kind: u8, since: u64, over: u64, now: u64) {
        let over = over.min(now).max(since);
        self.add(lane, kind, since, over);
        self.add(lane, LOOP_DELAY, over, now);
    }

    /// Begins a lane, and returns its number.
    pub fn open(&mut self, now: u64) -> u32 {
        let lane = u32::try_from(self.lives.len()).unwrap_or(u32::MAX);
        self.lives.push(Life { began: now, ended: None });
        lane
    }

    /// Ends a lane, unless it has ended.
    pub fn close(&mut self, lane: u32, now: u64) {
        if let Some(life) = self.lives.get_mut(lane as usize) {
            life.ended.get_or_insert(now);
        }
    }

    /// When a lane began and ended.
    pub fn life(&self, lane: u32) -> Option<(u64, Option<u64>)> {
        self.lives.get(lane as usize).map(|life| (life.began, life.ended))
    }

    /// The lane that runs now.
    pub fn running_lane(&self) -> Option<u32> {
        self.running.map(|running| running.lane)
    }

    /// Sets whether a task is being made, and returns the value before.
    pub fn set_making(&mut self, is_making: bool) -> bool {
        std::mem::replace(&mut self.is_making, is_making)
    }

    /// Begins a step, and returns the step around it, which an eager task interrupts.
    pub fn enter(&mut self, lane: u32, now: u64) -> Option<Running> {
        let outer = self.running.take();
        self.running = Some(Running { lane, since: now, is_open_ended: false });
        let outer = outer?;
        self.add(outer.lane, RUNNING, outer.since, now);
        if outer.is_open_ended && !self.is_making {
            self.closed = Some((outer.lane, now));
            return None;
        }
        // The tasks that the eager task makes are not made by the one around it.
        self.is_making = false;
        Some(Running { since: now, ..outer })
    }

    /// Ends the step that runs, and goes on with the one around it.
    pub fn leave(&mut self, outer: Option<Running>, now: u64) {
        if !self.is_on {
            // The trace was stopped within the step, and has ended it.
            return;
        }
        if let Some(running) = self.running.take() {
            self.add(running.lane, RUNNING, running.since, now);
        }
        self.last = now;
        self.running = outer.map(|outer| {
            self.add(outer.lane, TASK, outer.since, now);
            Running { since: now, ..outer }
        });
    }

    /// Begins a step whose end may not be told.
    pub fn enter_open_ended(&mut self, lane: u32, since: u64) {
        let _ = self.enter(lane, since);
        self.running = Some(Running { lane, since, is_open_ended: true });
    }

    /// Ends such a step if it still runs; returns when it ended.
    pub fn leave_open_ended(&mut self, lane: u32, now: u64) -> u64 {
        if self.running_lane() == Some(lane) {
            self.leave(None, now);
            return now;
        }
        self.closed.filter(|(closed, _)| *closed == lane).map_or(now, |(_, end)| end)
    }

    /// The end of the last step of any lane.
    pub fn last_end(&self) -> u64 {
        self.last
    }
}
