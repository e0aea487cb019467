//! The codecs that users have set: Python functions in place of a type's own conversion.

use std::sync::Arc;

use colonnade_columnar::CodecFormat;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// A user's functions for one type.
pub(crate) struct Codec {
    /// The type's.
    pub(crate) oid: u32,
    pub(crate) format: CodecFormat,
    /// Takes a Python value, gives what `format` says.
    pub(crate) encoder: Py<PyAny>,
    /// The other way round.
    pub(crate) decoder: Py<PyAny>,
}

/// How a connection reads and writes Python's values: the codecs, by the number that a type's shape
/// names, and what is said of naive moments.
#[derive(Default)]
pub(crate) struct Codecs {
    functions: Vec<Arc<Codec>>,
    naive_moments: NaiveMoments,
}

/// What a moment without a time zone is where the type wants one.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NaiveMoments {
    /// The local time of this process.
    #[default]
    Local,
    Refused,
}

impl Codecs {
    /// No codecs, yet.
    pub(crate) fn without_functions(naive_moments: NaiveMoments) -> Self {
        Self { functions: Vec::new(), naive_moments }
    }

    pub(crate) fn naive_moments(&self) -> NaiveMoments {
        self.naive_moments
    }

    /// These codecs and one for a type, with its number. One that the type had before in the same
    /// format gives up its number, so that there are no more of them than types; statements that
    /// were prepared with it go on with the new one.
    pub(crate) fn with(&self, codec: Codec) -> (Self, usize) {
        let mut codecs = self.functions.clone();
        let same = |other: &Arc<Codec>| other.oid == codec.oid && other.format == codec.format;
        let number = codecs.iter().position(same).unwrap_or(codecs.len());
        let codec = Arc::new(codec);
        match codecs.get_mut(number) {
            Some(slot) => *slot = codec,
            None => codecs.push(codec),
        }
        (Self { functions: codecs, naive_moments: self.naive_moments }, number)
    }

    fn get(&self, number: usize) -> PyResult<&Codec> {
        let missing = || PyTypeError::new_err(format!("there is no codec number {number}"));
        self.functions.get(number).map(AsRef::as_ref).ok_or_else(missing)
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
