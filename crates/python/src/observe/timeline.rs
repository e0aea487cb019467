//! `colonnade._core.timeline`: the record of an event loop's tasks, step by step.
//!
//! A [`TracedCoroutine`] stands between a task and its coroutine, and tells its [`Recorder`] when a
//! step begins and ends. It is native so that no frame of its own gets into tracebacks, and so that
//! a switch stays cheap: why a task waited is asked of Python only after a long wait.

mod columns;
mod traced;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Fills the module `timeline`.
pub(crate) fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("KINDS", PyTuple::new(module.py(), colonnade_watch::timeline::KINDS)?)?;
    module.add_class::<traced::Recorder>()?;
    module.add_class::<traced::TracedCoroutine>()?;
    module.add_function(wrap_pyfunction!(columns::batch_of_lists, module)?)?;
    module.add_function(wrap_pyfunction!(traced::end_of_sleep, module)?)
}
