//! The timing of a call whose owner sends, waits and receives.
//!
//! A session reads no clock, so times are taken where bytes are passed in and out.

use std::fmt;
use std::time::{Duration, Instant};

/// A phase of a query, for which its caller waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Prepare,
    Send,
    ServerWait,
    Transfer,
    LoopDelay,
}

/// The time that each phase has taken so far. Decoding interrupts the others.
#[derive(Default)]
struct Spent {
    prepare: Duration,
    send: Duration,
    server_wait: Duration,
    transfer: Duration,
    decode: Duration,
    loop_delay: Duration,
}

impl Spent {
    fn add(&mut self, phase: Phase, time: Duration) {
        *match phase {
            Phase::Prepare => &mut self.prepare,
            Phase::Send => &mut self.send,
            Phase::ServerWait => &mut self.server_wait,
            Phase::Transfer => &mut self.transfer,
            Phase::LoopDelay => &mut self.loop_delay,
        } += time;
    }

    fn total(&self) -> Duration {
        let waits = self.prepare + self.send + self.server_wait + self.transfer;
        waits + self.decode + self.loop_delay
    }
}

/// Follows the exchanges of one call: a preparation, if it needs one, the query, and a second try.
///
/// Each moment of the call belongs to one phase, so the phases add up to the time that the caller
/// waited. Between two batches of a stream, while the caller works, no phase is under way.
#[derive(Default)]
pub struct Stopwatch {
    has_begun: bool,
    /// Whether the call is under way: a further exchange belongs to it.
    is_open: bool,
    /// The phase under way, and when it began; None while the caller does not wait.
    phase: Option<(Phase, Instant)>,
    /// The phase that follows once the caller has the event.
    following: Option<Phase>,
    spent: Spent,
    is_cached: bool,
    bytes: u64,
    rows: u64,
}

impl Stopwatch {
    /// Records that a text is sent for preparation.
    pub fn prepare(&mut self) {
        self.begin(Phase::Prepare, Instant::now());
        self.following = Some(Phase::Prepare);
        self.is_cached = false;
    }

    /// Records that a statement has run since `start`, when its arguments began to be encoded.
    pub fn run(&mut self, start: Instant, is_cached: bool) {
        if !self.is_open {
            self.is_cached = is_cached;
        }
        self.begin(Phase::Send, start);
        // Of the answer to the caller's own statement, not of the driver's questions before it.
        (self.bytes, self.rows) = (0, 0);
    }

    /// Records that bytes are passed to the socket: until then the caller was sending, even if a
    /// part of a COPY had left before.
    pub fn sends(&mut self) {
        if let Some((Phase::ServerWait, since)) = self.phase {
            self.phase = Some((Phase::Send, since));
        }
    }

    /// Records that the socket has all bytes, and that the caller waits for an answer.
    pub fn waits(&mut self) {
        match self.phase {
            Some((Phase::Send, _)) => self.enter(Instant::now(), Some(Phase::ServerWait)),
            None => self.phase = Some((Phase::Transfer, Instant::now())),
            Some(_) => {}
        }
    }

    /// Records that `bytes` bytes were read, and decoded since `start`; `others` of them answer
    /// commands sent ahead of the call.
    pub fn received(&mut self, start: Instant, bytes: usize, others: usize) {
        if !self.has_begun {
            return;
        }
        let all = self.bytes.saturating_add(bytes as u64);
        self.bytes = all.saturating_sub(others as u64);
        let Some((phase, _)) = self.phase.filter(|_| bytes > others) else { return };
        let now = Instant::now();
        match phase {
            Phase::Prepare => self.enter(now, Some(Phase::Prepare)),
            Phase::LoopDelay => {}
            // A notice may come amid a COPY.
            Phase::Send => self.decoded(start, now, Phase::Send),
            Phase::ServerWait | Phase::Transfer => self.decoded(start, now, Phase::Transfer),
        }
    }

    /// Records that an event is there for the caller. `asks_for_more` tells whether the caller
    /// goes on to send.
    pub fn answered(&mut self, asks_for_more: bool) {
        if asks_for_more {
            self.following = Some(Phase::Send);
        }
        match self.phase {
            Some((Phase::Prepare | Phase::Transfer, since)) => {
                // Nothing else has happened since the last read.
                self.phase = Some((Phase::LoopDelay, since));
            }
            Some((Phase::Send | Phase::ServerWait, _)) => {
                self.enter(Instant::now(), Some(Phase::LoopDelay));
            }
            Some((Phase::LoopDelay, _)) | None => {}
        }
    }

    /// Records that the caller has the event.
    pub fn resumed(&mut self) {
        if let Some((Phase::LoopDelay, _)) = self.phase {
            self.enter(Instant::now(), self.following);
        }
    }

    /// Records that the call has ended.
    pub fn end(&mut self) {
        self.resumed();
        self.phase = None;
        self.is_open = false;
    }

    /// Adds rows passed to the caller.
    pub fn add_rows(&mut self, rows: u64) {
        self.rows = self.rows.saturating_add(rows);
    }

    /// The timing of the last call; None before the first one.
    pub fn timing(&self, pool_wait: f64) -> Option<Timing> {
        let spent = &self.spent;
        self.has_begun.then(|| Timing {
            pool_wait,
            prepare: spent.prepare.as_secs_f64(),
            send: spent.send.as_secs_f64(),
            server_wait: spent.server_wait.as_secs_f64(),
            transfer: spent.transfer.as_secs_f64(),
            decode: spent.decode.as_secs_f64(),
            loop_delay: spent.loop_delay.as_secs_f64(),
            total: pool_wait + spent.total().as_secs_f64(),
            bytes: self.bytes,
            rows: self.rows,
            is_cached: self.is_cached,
        })
    }

    /// Begins an exchange, and a call with it if none is under way.
    fn begin(&mut self, phase: Phase, start: Instant) {
        if !self.is_open {
            let is_cached = self.is_cached;
            *self = Self { has_begun: true, is_open: true, is_cached, ..Self::default() };
        }
        self.enter(start, Some(phase));
        self.following = None;
    }

    /// Ends the phase under way, and enters another.
    fn enter(&mut self, now: Instant, next: Option<Phase>) {
        if let Some((phase, since)) = self.phase {
            self.spent.add(phase, now.saturating_duration_since(since));
        }
        self.phase = next.map(|next| (next, now));
    }

    fn decoded(&mut self, start: Instant, now: Instant, next: Phase) {
        self.enter(start, None);
        self.spent.decode += now - start;
        self.phase = Some((next, now));
    }
}

/// The parts of a query's time, in seconds; the phases add up to the total.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The wait for a connection of a pool.
    pub pool_wait: f64,
    /// Preparing the statement, if it was not kept: a separate round trip.
    pub prepare: f64,
    /// Encoding the parameters and passing them to the socket.
    pub send: f64,
    /// From then until the first byte of the answer was read.
    pub server_wait: f64,
    /// From the first byte to the last, without decoding.
    pub transfer: f64,
    /// Decoding the bytes to rows or columns.
    pub decode: f64,
    /// From the moment the answer was decoded until the caller ran.
    pub loop_delay: f64,
    /// The sum of the phases.
    pub total: f64,
    /// Bytes of the answer.
    pub bytes: u64,
    /// Rows of the answer, or rows that the command affected.
    pub rows: u64,
    /// Whether the statement was already prepared.
    pub is_cached: bool,
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", milliseconds(self.total))?;
        for (name, seconds) in [
            ("pool_wait", self.pool_wait),
            ("prepare", self.prepare),
            ("send", self.send),
            ("server_wait", self.server_wait),
            ("transfer", self.transfer),
            ("decode", self.decode),
            ("loop_delay", self.loop_delay),
        ] {
            if seconds > 0.0 {
                write!(f, " {name} {},", milliseconds(seconds))?;
            }
        }
        let cached = if self.is_cached { ", cached" } else { "" };
        write!(f, " {} rows, {} bytes{cached}", self.rows, self.bytes)
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

#[cfg(test)]
mod tests;
