//! What is known of a database's types, as connections share it.

use pyo3::prelude::*;

/// The types of one database that its catalogs were asked for. Sessions that have the same one ask
/// once.
#[pyclass(frozen, module = "colonnade._core")]
#[derive(Default)]
pub(crate) struct Catalog(pub(crate) colonnade_columnar::Catalog);

#[pymethods]
impl Catalog {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// How many types were learned.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("<Catalog of {} types>", self.0.len())
    }
}
