//! A prepared statement as Python sees it.

use std::sync::Arc;

use colonnade_protocol::backend::Field;
use pyo3::prelude::*;

/// A statement the server has parsed.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Statement {
    pub(crate) statement: Arc<colonnade_session::Statement>,
    pub(crate) fields: Arc<[Field]>,
}

impl Statement {
    pub(crate) fn new(statement: Arc<colonnade_session::Statement>) -> Self {
        let fields = statement.fields.iter().cloned().collect();
        Self { statement, fields }
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
        self.statement.parameters.clone()
    }

    /// Whether running it can give rows.
    #[getter]
    fn has_rows(&self) -> bool {
        !self.statement.fields.is_empty()
    }

    fn __repr__(&self) -> String {
        format!("<Statement {:?}>", self.statement.sql)
    }
}
