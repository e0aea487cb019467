//! A PostgreSQL type, for Python.

use std::sync::Arc;

use colonnade_columnar::Type;
use colonnade_protocol::Format;
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

    /// Its schema; empty if the type is unknown.
    #[getter]
    fn schema(&self) -> &str {
        &self.0.schema
    }

    /// Its name in SQL, quoted and schema-qualified.
    #[getter]
    fn sql(&self) -> String {
        self.0.sql_name()
    }

    /// "scalar", "array", "composite", "record", "enum", "range", "multirange", "domain" or
    /// "unknown".
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind_name()
    }

    /// Whether a user's codec makes objects of the values or of their parts.
    #[getter]
    fn has_codecs(&self) -> bool {
        self.0.has_codecs()
    }

    /// Whether the server accepts its values as text only, even with a user's codec.
    #[getter]
    fn is_text_only(&self) -> bool {
        self.0.is_text_only()
    }

    /// Whether Python values are sent as text, because of the type or a user's codec.
    #[getter]
    fn is_sent_as_text(&self) -> bool {
        self.0.parameter_format() == Format::Text
    }

    fn __repr__(&self) -> String {
        format!("<PgType {}>", self.0.name)
    }
}
