//! What the session knows of types, and what users put in their place.

use std::sync::Arc;

use colonnade_columnar::{CodecFormat, named_type};
use pyo3::prelude::*;

use super::{Core, Session};
use crate::codecs::Codec;
use crate::errors;
use crate::statement::Statement;

#[pymethods]
impl Session {
    /// Lets Python functions read and write a type; answers the codec's number. `codec_format` is
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
            other => return Err(errors::interface(py, &format!("no codec format {other:?}"))),
        };
        let mut inner = self.lock(py)?;
        let (codecs, number) = inner.codecs.with(Codec { oid, format, encoder, decoder });
        inner.core.set_codec(oid, number, format).map_err(|error| errors::of_session(py, error))?;
        inner.codecs = Arc::new(codecs);
        Ok(number)
    }

    /// Lets a type be read and written as a type of the table is. False where the table has none
    /// of that name.
    fn set_alias(&self, py: Python<'_>, oid: u32, name: &str) -> PyResult<bool> {
        let Some(other) = named_type(name) else { return Ok(false) };
        self.begin(py, |core| core.set_alias(oid, &other)).map(|()| true)
    }

    /// Lets a type be read and written as it is.
    fn reset_type(&self, py: Python<'_>, oid: u32) -> PyResult<()> {
        self.begin(py, |core| core.reset_type(oid))
    }

    /// Forgets what is known of the database's types, and the statements made with it.
    fn forget_types(&self, py: Python<'_>) -> PyResult<()> {
        self.begin(py, Core::forget_types)
    }

    /// Forgets the statements where another session, which has the same catalog, has found that a
    /// type or the shape of a result is out of date.
    fn follow_catalog(&self, py: Python<'_>) -> PyResult<()> {
        let followed = self.lock(py)?.core.follow_catalog();
        followed.map_err(|error| errors::of_session(py, error))
    }

    /// Forgets a statement and the types of its parameters, one of which may have been altered;
    /// false where none can be.
    fn forget_parameters(&self, py: Python<'_>, statement: &Statement) -> PyResult<bool> {
        let forgotten = self.lock(py)?.core.forget_parameters(&statement.statement);
        forgotten.map_err(|error| errors::of_session(py, error))
    }
}
