//! When things happened to a call: what a user is told of it as `QueryTiming`.
//!
//! The core below reads no clock, so the times are taken where Python hands bytes in and out.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Follows the exchanges of one call: of the preparing, where there is one, and of the query.
#[derive(Default)]
pub(crate) struct Stopwatch {
    begun: Option<Instant>,
    is_preparing: bool,
    prepared: Duration,
    is_cached: bool,
    /// Of the exchange under way: when it was begun, when it was handed to the socket, and when the
    /// first and the last byte of its answer were read.
    started: Option<Instant>,
    sent: Option<Instant>,
    first: Option<Instant>,
    last: Option<Instant>,
    decode: Duration,
    bytes: u64,
    rows: u64,
}

impl Stopwatch {
    /// A text is sent to be prepared: the call begins.
    pub(crate) fn prepare(&mut self) {
        let now = Instant::now();
        *self =
            Self { begun: Some(now), started: Some(now), is_preparing: true, ..Self::default() };
    }

    /// A statement is run: a new call, unless its text has just been prepared.
    pub(crate) fn run(&mut self, is_cached: bool) {
        let now = Instant::now();
        let (begun, prepared, is_cached) = match (self.is_preparing, self.begun) {
            (true, Some(begun)) => (begun, now - begun, false),
            _ => (now, Duration::ZERO, is_cached),
        };
        let (begun, started) = (Some(begun), Some(now));
        *self = Self { begun, started, prepared, is_cached, ..Self::default() };
    }

    /// Bytes are handed to the socket.
    pub(crate) fn sent(&mut self) {
        if self.started.is_some() && self.sent.is_none() {
            self.sent = Some(Instant::now());
        }
    }

    /// So many bytes were read, and decoded since `start`. `others` of those that were decoded
    /// answer what was sent ahead of the call.
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

    /// So many rows were handed over.
    pub(crate) fn add_rows(&mut self, rows: u64) {
        self.rows = self.rows.saturating_add(rows);
    }

    /// What the last call took; None before the first one.
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

/// Where the time of a query went, in seconds; the phases add up to the total.
#[pyclass(frozen, get_all, module = "colonnade")]
pub(crate) struct QueryTiming {
    /// The wait for a connection of a pool.
    pool_wait: f64,
    /// To prepare the statement, where it was not kept: a round trip of its own.
    prepare: f64,
    /// To encode the parameters and hand them to the socket.
    send: f64,
    /// From then until the first byte of the answer was read.
    server_wait: f64,
    /// Between the first byte and the last one, but for decoding.
    transfer: f64,
    /// To make rows or columns of the bytes.
    decode: f64,
    /// All of it.
    total: f64,
    /// Bytes of the answer.
    bytes: u64,
    /// Rows of the answer, or rows that the command affected.
    rows: u64,
    /// Whether the statement was prepared before.
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
