//! A prepared statement, for Python.

use std::sync::Arc;

use colonnade_columnar::ResultColumn;
use pyo3::prelude::*;

use crate::types::pg_type::PgType;

/// A statement the server has parsed.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Statement {
    pub(crate) statement: Arc<colonnade_session::Statement>,
    /// Its owner has just asked whether it is outdated.
    pub(crate) is_confirmed: bool,
}

impl Statement {
    pub(crate) fn new(statement: Arc<colonnade_session::Statement>) -> Self {
        Self { statement, is_confirmed: false }
    }
}

/// Name, type and type modifier of each column.
pub(crate) fn described(columns: &[ResultColumn]) -> Vec<(String, PgType, i32)> {
    let column = |column: &ResultColumn| {
        (column.name.to_string(), PgType(Arc::clone(&column.pg_type)), column.type_modifier)
    };
    columns.iter().map(column).collect()
}

/// A statement bound to its arguments; the server closes it after its last user drops it.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Portal(pub(crate) Arc<colonnade_session::Portal>);

#[pymethods]
impl Portal {
    /// Its name on the server.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The statement that it runs.
    #[getter]
    fn statement(&self) -> Statement {
        Statement::new(Arc::clone(&self.0.statement))
    }

    fn __repr__(&self) -> String {
        format!("<Portal {:?}>", self.0.name())
    }
}

#[pymethods]
impl Statement {
    /// The same statement, for the one run that begins now: its owner has just asked whether it is
    /// outdated, and is not told so again.
    fn confirmed(&self) -> Self {
        Self { statement: Arc::clone(&self.statement), is_confirmed: true }
    }

    /// Its name on the server; empty for the unnamed statement.
    #[getter]
    fn name(&self) -> &str {
        &self.statement.name
    }

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

    /// The types of the parameters.
    #[getter]
    fn parameter_types(&self) -> Vec<PgType> {
        self.statement.parameters.iter().map(|pg_type| PgType(Arc::clone(pg_type))).collect()
    }

    /// Name, type and type modifier of each column.
    #[getter]
    fn columns(&self) -> Vec<(String, PgType, i32)> {
        described(&self.statement.columns)
    }

    /// Whether running it can return rows.
    #[getter]
    fn has_rows(&self) -> bool {
        !self.statement.columns.is_empty()
    }

    fn __repr__(&self) -> String {
        format!("<Statement {:?}>", self.statement.sql)
    }
}
