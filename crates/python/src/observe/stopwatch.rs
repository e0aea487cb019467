//! The timing of a call for users.

use colonnade_watch::Timing;
use pyo3::prelude::*;

/// The parts of a query's time, in seconds; the phases add up to the total.
#[pyclass(frozen, module = "colonnade")]
pub(crate) struct QueryTiming(pub(crate) Timing);

#[pymethods]
impl QueryTiming {
    /// The wait for a connection of a pool.
    #[getter]
    fn pool_wait(&self) -> f64 {
        self.0.pool_wait
    }

    /// Preparing the statement, if it was not kept: a separate round trip.
    #[getter]
    fn prepare(&self) -> f64 {
        self.0.prepare
    }

    /// Encoding the parameters and passing them to the socket.
    #[getter]
    fn send(&self) -> f64 {
        self.0.send
    }

    /// From then until the first byte of the answer was read.
    #[getter]
    fn server_wait(&self) -> f64 {
        self.0.server_wait
    }

    /// From the first byte to the last, without decoding.
    #[getter]
    fn transfer(&self) -> f64 {
        self.0.transfer
    }

    /// Decoding the bytes to rows or columns.
    #[getter]
    fn decode(&self) -> f64 {
        self.0.decode
    }

    /// From the moment the answer was decoded until the caller ran.
    #[getter]
    fn loop_delay(&self) -> f64 {
        self.0.loop_delay
    }

    /// The sum of the phases.
    #[getter]
    fn total(&self) -> f64 {
        self.0.total
    }

    /// Bytes of the answer.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Rows of the answer, or rows that the command affected.
    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows
    }

    /// Whether the statement was already prepared.
    #[getter]
    fn is_cached(&self) -> bool {
        self.0.is_cached
    }

    fn __repr__(&self) -> String {
        format!("<QueryTiming {}>", self.0)
    }
}
