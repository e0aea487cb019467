//! Assertions of arrow-rs that data of others make fail.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_schema::ArrowError;

/// Runs code of arrow-rs on data that others made. An assertion that fails becomes an error: as a
/// panic, it would reach Python as an exception that `except Exception` does not catch. Nothing
/// half-made is kept.
///
/// # Errors
/// The error of the code, or one that says that the data contradict their types.
pub fn contained<T, E: From<ArrowError>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let text = "the values contradict their Arrow type";
        Err(ArrowError::ComputeError(text.to_owned()).into())
    })
}
