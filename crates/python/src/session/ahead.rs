//! What a pool asks of a session: to be reset without a wait, and to share what is known of types.

use pyo3::prelude::*;

use super::{Core, Session};
use crate::catalog::Catalog;
use crate::errors;

#[pymethods]
impl Session {
    /// Whether nothing was asked of the server since start-up, or since the last reset.
    #[getter]
    fn is_untouched(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.core.is_untouched())
    }

    /// How much was asked of the server, without start-up and what was sent ahead.
    #[getter]
    fn exchanges(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.core.exchanges())
    }

    /// A reset was waited for, and has ended well.
    fn mark_untouched(&self, py: Python<'_>) -> PyResult<()> {
        self.lock(py)?.core.mark_untouched();
        Ok(())
    }

    /// Resets the server's session ahead of what is asked next, without an event; a failure closes
    /// the session. False where the reset must be waited for: nothing was begun.
    fn script_ahead(&self, py: Python<'_>, sql: &str) -> PyResult<bool> {
        let begun = self.lock(py)?.core.script_ahead(sql);
        begun.map_err(|error| errors::of_session(py, error))
    }

    /// Begins a transaction by a command that travels with what is asked next, without an event; a
    /// failure closes the session. False where something is under way or a transaction is open.
    fn begin_ahead(&self, py: Python<'_>, sql: &str) -> PyResult<bool> {
        let begun = self.lock(py)?.core.begin_ahead(sql);
        begun.map_err(|error| errors::of_session(py, error))
    }

    /// Whether the server is busy with what was sent ahead: a cancel request would hit that.
    #[getter]
    fn runs_ahead(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.core.runs_ahead())
    }

    /// Lets the session use a catalog that others have too, before anything is prepared.
    fn share_catalog(&self, py: Python<'_>, catalog: &Catalog) -> PyResult<()> {
        self.begin(py, |core: &mut Core| {
            core.share_catalog(catalog.0.clone());
            Ok(())
        })
    }
}
