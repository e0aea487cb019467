//! Records values that a result's floats do not hold exactly.

use colonnade_columnar as columnar;
use pyo3::prelude::*;

/// Requests floats instead of decimals, as the value of the key None in a schema, and collects the
/// first value of each column that its float does not hold exactly.
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

    /// The column index, row of the result and text of each value recorded so far.
    fn values(&self) -> Vec<(usize, u64, String)> {
        let values = self.notes.values().into_iter();
        values.map(|value| (value.place, value.row, value.text)).collect()
    }
}
