//! Users' codecs: Python functions in place of a type's own conversion.

use std::sync::Arc;

use colonnade_columnar::CodecFormat;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// A user's functions for one type.
pub(crate) struct Codec {
    /// The OID of the type.
    pub(crate) oid: u32,
    pub(crate) format: CodecFormat,
    /// Converts a Python value to the form that `format` names.
    pub(crate) encoder: Py<PyAny>,
    /// Converts in the other direction.
    pub(crate) decoder: Py<PyAny>,
}

/// A connection's conversions of Python values: the codecs, by the number in a type's shape, the
/// meaning of naive datetimes, and that of dates.
#[derive(Clone, Default)]
pub(crate) struct Codecs {
    functions: Arc<Vec<Arc<Codec>>>,
    naive_moments: NaiveMoments,
    dates: Dates,
}

/// The meaning of a datetime without a time zone as a timestamptz.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NaiveMoments {
    /// Local time of this process.
    #[default]
    Local,
    Refused,
}

/// The meaning of Python's dates and datetimes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Dates {
    /// The first and the last one stand for the infinities, and a datetime for its day.
    #[default]
    AsAsyncpg,
    /// A value is itself or an error.
    Exact,
}

impl Codecs {
    /// No codecs.
    pub(crate) fn without_functions(naive_moments: NaiveMoments) -> Self {
        Self { naive_moments, ..Self::default() }
    }

    pub(crate) fn dates(&self) -> Dates {
        self.dates
    }

    /// The same codecs with another meaning of dates.
    pub(crate) fn with_dates(codecs: &Arc<Self>, dates: Dates) -> Arc<Self> {
        if codecs.dates == dates {
            return Arc::clone(codecs);
        }
        Arc::new(Self { dates, ..Self::clone(codecs) })
    }

    pub(crate) fn naive_moments(&self) -> NaiveMoments {
        self.naive_moments
    }

    /// Whether the types that refer to one of them may refer to the other.
    pub(crate) fn are_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.functions, &other.functions)
    }

    /// These codecs and a new one, with its number. It takes the number of the type's earlier codec
    /// with the same format, so that there are never more codecs than types; statements prepared
    /// with the earlier codec then use the new one.
    pub(crate) fn with(&self, codec: Codec) -> (Self, usize) {
        let mut codecs = self.functions.to_vec();
        let same = |other: &Arc<Codec>| other.oid == codec.oid && other.format == codec.format;
        let number = codecs.iter().position(same).unwrap_or(codecs.len());
        let codec = Arc::new(codec);
        match codecs.get_mut(number) {
            Some(slot) => *slot = codec,
            None => codecs.push(codec),
        }
        (Self { functions: Arc::new(codecs), ..*self }, number)
    }

    fn get(&self, number: usize) -> PyResult<&Codec> {
        let missing = || PyTypeError::new_err(format!("there is no codec number {number}"));
        self.functions.get(number).map(AsRef::as_ref).ok_or_else(missing)
    }

    /// Decodes a value from its text or bytes.
    pub(crate) fn decode(&self, py: Python<'_>, number: usize, raw: &[u8]) -> PyResult<Py<PyAny>> {
        let codec = self.get(number)?;
        let raw = match codec.format {
            CodecFormat::Text => PyString::from_bytes(py, raw)?.into_any(),
            _ => PyBytes::new(py, raw).into_any(),
        };
        codec.decoder.call1(py, (raw,))
    }

    /// Decodes a value from its parts.
    pub(crate) fn decode_parts(
        &self,
        py: Python<'_>,
        number: usize,
        parts: Py<PyAny>,
    ) -> PyResult<Py<PyAny>> {
        self.get(number)?.decoder.call1(py, (parts,))
    }

    /// Encodes a Python value.
    pub(crate) fn encode<'py>(
        &self,
        number: usize,
        argument: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.get(number)?.encoder.bind(argument.py()).call1((argument,))
    }
}
