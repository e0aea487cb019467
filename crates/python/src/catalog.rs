//! The types of a database, as connections share them.

use pyo3::prelude::*;

/// The types of one database that were looked up in its catalogs. Sessions with the same one look
/// each type up once.
#[pyclass(frozen, module = "colonnade._core")]
#[derive(Default)]
pub(crate) struct Catalog(pub(crate) colonnade_columnar::Catalog);

#[pymethods]
impl Catalog {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The number of types looked up.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("<Catalog of {} types>", self.0.len())
    }
}
