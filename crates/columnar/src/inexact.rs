//! Which values of a result its floats do not hold.

use std::sync::{Arc, Mutex, PoisonError};

/// A value, and the first of its column, that a float64 does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InexactValue {
    /// The column.
    pub place: usize,
    /// The row of the result.
    pub row: u64,
    /// The value, as the server prints it.
    pub text: String,
}

/// Notes of one result, which its columns write and whoever asked for them reads.
#[derive(Clone, Default, Debug)]
pub struct Inexact(Arc<Mutex<Vec<InexactValue>>>);

impl Inexact {
    /// What was noted so far, at most one value of each column.
    pub fn values(&self) -> Vec<InexactValue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn note(&self, value: InexactValue) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }
}

/// The same notes, not alike ones.
impl PartialEq for Inexact {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Inexact {}
