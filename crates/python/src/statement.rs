//! A prepared statement as Python sees it.

use std::sync::Arc;

use pyo3::prelude::*;

/// A statement the server has parsed.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Statement {
    pub(crate) statement: Arc<colonnade_session::Statement>,
}

impl Statement {
    pub(crate) fn new(statement: Arc<colonnade_session::Statement>) -> Self {
        Self { statement }
    }
}

#[pymethods]
impl Statement {
    /// The text that was prepared.
    #[getter]
    fn sql(&self) -> &str {
        &self.statement.sql
    }

    /// The OIDs of the parameters' types.
    #[getter]
    fn parameters(&self) -> Vec<u32> {
        self.statement.parameters.iter().map(|pg_type| pg_type.oid).collect()
    }

    /// Whether running it can give rows.
    #[getter]
    fn has_rows(&self) -> bool {
        !self.statement.columns.is_empty()
    }

    fn __repr__(&self) -> String {
        format!("<Statement {:?}>", self.statement.sql)
    }
}
