//! Values of a result that its floats do not hold exactly.

use std::sync::{Arc, Mutex, PoisonError};

/// The first value of a column that a float64 does not hold exactly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InexactValue {
    /// The index of the column.
    pub place: usize,
    /// The row of the result.
    pub row: u64,
    /// The value, as the server prints it.
    pub text: String,
}

/// The record for one result, written by its columns and read by the caller that requested it.
#[derive(Clone, Default, Debug)]
pub struct Inexact(Arc<Mutex<Vec<InexactValue>>>);

impl Inexact {
    /// The values recorded so far, at most one per column.
    pub fn values(&self) -> Vec<InexactValue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn note(&self, value: InexactValue) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }
}

/// Equal only if both are the same record, not just alike.
impl PartialEq for Inexact {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Inexact {}
