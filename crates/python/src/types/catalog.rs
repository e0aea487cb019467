//! The types of a database, as connections share them.

use std::sync::Arc;

use pyo3::prelude::*;

/// The types of the databases that the connections of a pool meet, by each server's own identity.
#[pyclass(frozen, module = "colonnade._core")]
#[derive(Default)]
pub(crate) struct Catalogs(pub(crate) Arc<colonnade_columnar::Catalogs>);

#[pymethods]
impl Catalogs {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The number of types looked up.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("<Catalogs of {} types>", self.0.len())
    }
}
