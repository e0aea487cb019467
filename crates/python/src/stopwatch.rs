//! The timing of a call, which users see as `QueryTiming`.
//!
//! The core below reads no clock, so times are taken where Python passes bytes in and out.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Follows the exchanges of one call: the preparation, if there is one, and the query.
#[derive(Default)]
pub(crate) struct Stopwatch {
    begun: Option<Instant>,
    is_preparing: bool,
    prepared: Duration,
    is_cached: bool,
    /// Of the current exchange: when it began, when it was passed to the socket, and when the first
    /// and the last byte of its answer were read.
    started: Option<Instant>,
    sent: Option<Instant>,
    first: Option<Instant>,
    last: Option<Instant>,
    decode: Duration,
    bytes: u64,
    rows: u64,
}

impl Stopwatch {
    /// Records that a text is sent for preparation: the call begins.
    pub(crate) fn prepare(&mut self) {
        let now = Instant::now();
        *self =
            Self { begun: Some(now), started: Some(now), is_preparing: true, ..Self::default() };
    }

    /// Records that a statement runs: a new call, unless its text has just been prepared.
    pub(crate) fn run(&mut self, is_cached: bool) {
        let now = Instant::now();
        let (begun, prepared, is_cached) = match (self.is_preparing, self.begun) {
            (true, Some(begun)) => (begun, now - begun, false),
            _ => (now, Duration::ZERO, is_cached),
        };
        let (begun, started) = (Some(begun), Some(now));
        *self = Self { begun, started, prepared, is_cached, ..Self::default() };
    }

    /// Records that bytes are passed to the socket.
    pub(crate) fn sent(&mut self) {
        if self.started.is_some() && self.sent.is_none() {
            self.sent = Some(Instant::now());
        }
    }

    /// Records that `bytes` bytes were read, and decoded since `start`; `others` of them answer
    /// commands sent ahead of the call.
    pub(crate) fn received(&mut self, start: Instant, bytes: usize, others: usize) {
        if self.sent.is_some() {
            let all = self.bytes.saturating_add(bytes as u64);
            self.bytes = all.saturating_sub(others as u64);
            if bytes > others {
                let now = Instant::now();
                self.first.get_or_insert(start);
                self.last = Some(now);
                self.decode += now - start;
            }
        }
    }

    /// Adds rows passed to the caller.
    pub(crate) fn add_rows(&mut self, rows: u64) {
        self.rows = self.rows.saturating_add(rows);
    }

    /// The timing of the last call; None before the first one.
    pub(crate) fn timing(&self, pool_wait: f64) -> Option<QueryTiming> {
        let (begun, started) = (self.begun?, self.started?);
        let sent = self.sent.unwrap_or(started);
        let first = self.first.unwrap_or(sent);
        let last = self.last.unwrap_or(first);
        Some(QueryTiming {
            pool_wait,
            prepare: self.prepared.as_secs_f64(),
            send: (sent - started).as_secs_f64(),
            server_wait: (first - sent).as_secs_f64(),
            transfer: (last - first).saturating_sub(self.decode).as_secs_f64(),
            decode: self.decode.as_secs_f64(),
            total: pool_wait + (last - begun).as_secs_f64(),
            bytes: self.bytes,
            rows: self.rows,
            is_cached: self.is_cached,
        })
    }
}

/// The parts of a query's time, in seconds; the phases add up to the total.
#[pyclass(frozen, get_all, module = "colonnade")]
pub(crate) struct QueryTiming {
    /// The wait for a connection of a pool.
    pool_wait: f64,
    /// Preparing the statement, if it was not kept: a separate round trip.
    prepare: f64,
    /// Encoding the parameters and passing them to the socket.
    send: f64,
    /// From then until the first byte of the answer was read.
    server_wait: f64,
    /// From the first byte to the last, without decoding.
    transfer: f64,
    /// Decoding the bytes to rows or columns.
    decode: f64,
    /// The sum of the phases.
    total: f64,
    /// Bytes of the answer.
    bytes: u64,
    /// Rows of the answer, or rows that the command affected.
    rows: u64,
    /// Whether the statement was already prepared.
    is_cached: bool,
}

#[pymethods]
impl QueryTiming {
    fn __repr__(&self) -> String {
        let mut text = format!("<QueryTiming {}:", milliseconds(self.total));
        for (name, seconds) in [
            ("pool_wait", self.pool_wait),
            ("prepare", self.prepare),
            ("send", self.send),
            ("server_wait", self.server_wait),
            ("transfer", self.transfer),
            ("decode", self.decode),
        ] {
            if seconds > 0.0 {
                text.push_str(&format!(" {name} {},", milliseconds(seconds)));
            }
        }
        let cached = if self.is_cached { ", cached" } else { "" };
        format!("{text} {} rows, {} bytes{cached}>", self.rows, self.bytes)
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}
