//! The codecs that users have set: Python functions in place of a type's own conversion.

use colonnade_columnar::CodecFormat;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// A user's functions for one type.
pub(crate) struct Codec {
    pub(crate) format: CodecFormat,
    /// Takes a Python value, gives what `format` says.
    pub(crate) encoder: Py<PyAny>,
    /// The other way round.
    pub(crate) decoder: Py<PyAny>,
}

/// The codecs of a connection, by the number that a type's shape names.
#[derive(Default)]
pub(crate) struct Codecs(Vec<Codec>);

impl Codecs {
    fn get(&self, number: usize) -> PyResult<&Codec> {
        let missing = || PyTypeError::new_err(format!("there is no codec number {number}"));
        self.0.get(number).ok_or_else(missing)
    }

    /// The Python object of a value that came as text or as bytes.
    pub(crate) fn decode(&self, py: Python<'_>, number: usize, raw: &[u8]) -> PyResult<Py<PyAny>> {
        let codec = self.get(number)?;
        let raw = match codec.format {
            CodecFormat::Text => PyString::from_bytes(py, raw)?.into_any(),
            _ => PyBytes::new(py, raw).into_any(),
        };
        codec.decoder.call1(py, (raw,))
    }

    /// The Python object of a value that was taken apart.
    pub(crate) fn decode_parts(
        &self,
        py: Python<'_>,
        number: usize,
        parts: Py<PyAny>,
    ) -> PyResult<Py<PyAny>> {
        self.get(number)?.decoder.call1(py, (parts,))
    }

    /// What the encoder makes of a Python value.
    pub(crate) fn encode<'py>(
        &self,
        number: usize,
        argument: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.get(number)?.encoder.bind(argument.py()).call1((argument,))
    }
}
