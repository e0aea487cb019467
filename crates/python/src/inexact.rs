//! Notes of what the floats of a result do not hold.

use colonnade_columnar as columnar;
use pyo3::prelude::*;

/// Asks for floats in place of decimals, as the value of the key None in a schema, and has the
/// first value of each column that its float does not hold.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Inexact {
    notes: columnar::Inexact,
}

impl Inexact {
    pub(crate) fn notes(&self) -> columnar::Inexact {
        self.notes.clone()
    }
}

#[pymethods]
impl Inexact {
    #[new]
    fn new() -> Self {
        Self { notes: columnar::Inexact::default() }
    }

    /// Place, row of the result and text of what was noted so far.
    fn values(&self) -> Vec<(usize, u64, String)> {
        let values = self.notes.values().into_iter();
        values.map(|value| (value.place, value.row, value.text)).collect()
    }
}
