//! The session's knowledge of types, and users' codecs for them.

use std::sync::Arc;

use colonnade_columnar::{CodecFormat, named_type};
use pyo3::prelude::*;

use super::{Core, Session};
use crate::errors;
use crate::session::statement::Statement;
use crate::types::codecs::Codec;

#[pymethods]
impl Session {
    /// Makes Python functions read and write a type; returns the codec's number. `codec_format` is
    /// "text", "binary" or "tuple".
    fn set_codec(
        &self,
        py: Python<'_>,
        oid: u32,
        codec_format: &str,
        encoder: Py<PyAny>,
        decoder: Py<PyAny>,
    ) -> PyResult<usize> {
        let format = match codec_format {
            "text" => CodecFormat::Text,
            "binary" => CodecFormat::Binary,
            "tuple" => CodecFormat::Tuple,
            other => return Err(errors::interface(py, &format!("unknown codec format {other:?}"))),
        };
        let mut inner = self.lock(py)?;
        let (codecs, number) = inner.codecs.with(Codec { oid, format, encoder, decoder });
        inner.core.set_codec(oid, number, format).map_err(|error| errors::of_session(py, error))?;
        inner.codecs = Arc::new(codecs);
        Ok(number)
    }

    /// Makes the session read and write a type as another type of the table. Returns False if the
    /// table has no type of that name.
    fn set_alias(&self, py: Python<'_>, oid: u32, name: &str) -> PyResult<bool> {
        let Some(other) = named_type(name) else { return Ok(false) };
        self.change(py, |core| core.set_alias(oid, &other)).map(|()| true)
    }

    /// Makes the session read and write a type by its own conversion again.
    fn reset_type(&self, py: Python<'_>, oid: u32) -> PyResult<()> {
        self.change(py, |core| core.reset_type(oid))
    }

    /// Forgets the database's types, and the statements made with them.
    fn forget_types(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, Core::forget_types)
    }

    /// Forgets a statement and its types, because something may have been altered. Returns whether
    /// a user has made one of them.
    fn forget_statement(&self, py: Python<'_>, statement: &Statement) -> PyResult<bool> {
        self.change(py, |core| core.forget_statement(&statement.statement))
    }

    /// Numbers that change with each event that outdates the knowledge of tables and types.
    #[getter]
    fn place(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        Ok(self.lock(py)?.core.place())
    }
}
