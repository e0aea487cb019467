//! The session's methods for a pool: resets without a wait, and a shared catalog.

use std::sync::Arc;

use pyo3::prelude::*;

use super::{Core, Session};
use crate::types::catalog::Catalogs;

#[pymethods]
impl Session {
    /// Whether no request was made since start-up or since the last reset.
    #[getter]
    fn is_untouched(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.core.is_untouched())
    }

    /// The number of requests, without start-up and commands sent ahead.
    #[getter]
    fn exchanges(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.core.exchanges())
    }

    /// Records that an awaited reset has ended well.
    fn mark_untouched(&self, py: Python<'_>) -> PyResult<()> {
        self.tell(py, Core::mark_untouched)
    }

    /// Resets the server's session ahead of the next request, without an event; a failure closes
    /// the session. Returns False and does nothing if the reset must be waited for.
    fn script_ahead(&self, py: Python<'_>, sql: &str) -> PyResult<bool> {
        self.change(py, |core| core.script_ahead(sql))
    }

    /// Begins a transaction by a command that travels with the next request, without an event; a
    /// failure closes the session. Returns False if an exchange is under way or a transaction is
    /// open.
    fn begin_ahead(&self, py: Python<'_>, sql: &str) -> PyResult<bool> {
        self.change(py, |core| core.begin_ahead(sql))
    }

    /// Whether the server is busy with a command sent ahead: a cancel request would hit that.
    #[getter]
    fn runs_ahead(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.core.runs_ahead())
    }

    /// Shares types with other sessions of the same database, which the server is asked for in the
    /// next flight; call it before anything is prepared.
    fn share_catalogs(&self, py: Python<'_>, catalogs: &Catalogs) -> PyResult<()> {
        let catalogs = Arc::clone(&catalogs.0);
        self.change(py, |core: &mut Core| core.share_catalogs(catalogs))
    }
}
