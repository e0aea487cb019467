//! A PostgreSQL type as Python sees it.

use std::sync::Arc;

use colonnade_columnar::{Shape, Type};
use pyo3::prelude::*;

/// A type of the database, resolved.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct PgType(pub(crate) Arc<Type>);

#[pymethods]
impl PgType {
    /// The type's OID.
    #[getter]
    fn oid(&self) -> u32 {
        self.0.oid
    }

    /// Its name: `int4`, `mood`, `int4[]`.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The schema it is in; empty where the type is not known.
    #[getter]
    fn schema(&self) -> &str {
        &self.0.schema
    }

    /// "scalar", "array", "composite", "record", "enum", "range", "multirange", "domain" or
    /// "unknown".
    #[getter]
    fn kind(&self) -> &'static str {
        match &self.0.shape {
            Shape::Scalar(_) => "scalar",
            Shape::Array(_) => "array",
            Shape::Composite(_) => "composite",
            Shape::Record(_) => "record",
            Shape::Enum(_) => "enum",
            Shape::Range(_) => "range",
            Shape::Multirange(_) => "multirange",
            Shape::Domain { .. } => "domain",
            Shape::Opaque => "unknown",
            Shape::Custom { under, .. } => Self(Arc::clone(under)).kind(),
        }
    }

    fn __repr__(&self) -> String {
        format!("<PgType {}>", self.0.name)
    }
}
