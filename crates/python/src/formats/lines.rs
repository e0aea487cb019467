//! Rows of text that are cut into files.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice};

/// Rows as text, each with a line break at its end; it may contain others. A part of them shares
/// their memory.
#[pyclass(frozen, module = "colonnade._core.formats")]
pub(super) struct Lines {
    inner: colonnade_formats::lines::Lines,
}

impl From<colonnade_formats::lines::Lines> for Lines {
    fn from(inner: colonnade_formats::lines::Lines) -> Self {
        Self { inner }
    }
}

#[pymethods]
impl Lines {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// Some of the rows. Raises ValueError for a step.
    fn __getitem__(&self, rows: &Bound<'_, PySlice>) -> PyResult<Self> {
        let found = rows.indices(isize::try_from(self.inner.len())?)?;
        if found.step != 1 {
            return Err(PyValueError::new_err("lines are sliced without a step"));
        }
        let rows = usize::try_from(found.start)?..usize::try_from(found.stop)?;
        Ok(Self { inner: self.inner.slice(rows) })
    }

    /// The text of all rows.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.text())
    }

    /// The number of rows, from the first on, that have at most `bytes_max` bytes together.
    fn fitting(&self, bytes_max: i64) -> usize {
        // A file may be past its size already.
        usize::try_from(bytes_max).map_or(0, |most| self.inner.fitting(most))
    }
}
