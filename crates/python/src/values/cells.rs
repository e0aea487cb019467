//! A column of a block of rows as Python objects: the kind of value is decided once for the whole
//! column.

use std::borrow::Cow;

use colonnade_columnar::{Kind, PgType, Type, Value};
use colonnade_protocol::Span;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyString, PyTzInfo};

use super::{Maker, ValueError, moments, to_python, uuid};
use crate::record::RecordBlock;
use crate::types::codecs::Codecs;

/// The values of a column, one for each row of a block.
pub(crate) struct Cells<'a> {
    /// The bytes that the spans refer to.
    pub(crate) bytes: &'a [u8],
    pub(crate) spans: &'a [Span],
    /// The column's type as rows read it.
    pub(crate) pg_type: &'a Type,
}

/// The row in the block, and the reason.
type Refused = (usize, ValueError);

impl Cells<'_> {
    /// Passes on the object of each value, None for NULL.
    #[inline(always)]
    fn each<'a>(
        &'a self,
        py: Python<'_>,
        records: &mut RecordBlock<'_>,
        mut make: impl FnMut(&'a [u8]) -> Result<Py<PyAny>, ValueError>,
    ) -> Result<(), Refused> {
        records.push_column(self.spans.iter().map(|span| match span.slice(self.bytes) {
            None => Ok(py.None()),
            Some(raw) => make(raw),
        }))
    }
}

impl Maker {
    /// Gives each record of a block its value of a column.
    pub(crate) fn fill(
        &self,
        py: Python<'_>,
        codecs: &Codecs,
        cells: &Cells<'_>,
        records: &mut RecordBlock<'_>,
    ) -> Result<(), Refused> {
        match self {
            Self::Scalar { line, .. } => fill_scalars(py, codecs, line, cells, records),
            _ => {
                let mut scratch = Vec::new();
                cells.each(py, records, |raw| {
                    self.read(py, codecs, cells.pg_type, raw, &mut scratch)
                })
            }
        }
    }
}

/// One loop for each of the most frequent kinds.
fn fill_scalars(
    py: Python<'_>,
    codecs: &Codecs,
    line: &'static PgType,
    cells: &Cells<'_>,
    records: &mut RecordBlock<'_>,
) -> Result<(), Refused> {
    let read = |raw| (line.value)(raw).map_err(ValueError::Decode);
    let other_kind = |value| to_python(py, codecs, value);
    match line.kind {
        Kind::Bool => cells.each(py, records, |raw| match read(raw)? {
            Value::Bool(value) => Ok(PyBool::new(py, value).to_owned().into_any().unbind()),
            other => other_kind(other),
        }),
        Kind::Int => cells.each(py, records, |raw| match read(raw)? {
            Value::Int(value) => whole(py, value),
            other => other_kind(other),
        }),
        Kind::Float => cells.each(py, records, |raw| match read(raw)? {
            Value::Float(value) => Ok(PyFloat::new(py, value).into_any().unbind()),
            other => other_kind(other),
        }),
        Kind::Float32 => cells.each(py, records, |raw| match read(raw)? {
            Value::Float32(value) => Ok(PyFloat::new(py, value.into()).into_any().unbind()),
            other => other_kind(other),
        }),
        Kind::Text => cells.each(py, records, |raw| match read(raw)? {
            Value::Text(Cow::Borrowed(text)) => Ok(PyString::new(py, text).into_any().unbind()),
            other => other_kind(other),
        }),
        Kind::Date => cells.each(py, records, |raw| match read(raw)? {
            Value::Date(days) => moments::date(py, days),
            other => other_kind(other),
        }),
        Kind::Timestamp => cells.each(py, records, |raw| match read(raw)? {
            Value::Timestamp(us) => moments::timestamp(py, us, None),
            other => other_kind(other),
        }),
        Kind::TimestampTz => {
            let utc = PyTzInfo::utc(py).map_err(|error| (0, error.into()))?.to_owned();
            cells.each(py, records, |raw| match read(raw)? {
                Value::TimestampTz(us) => moments::timestamp(py, us, Some(&utc)),
                other => other_kind(other),
            })
        }
        Kind::Uuid => {
            let maker = uuid::UuidMaker::get(py).map_err(|error| (0, error.into()))?;
            cells.each(py, records, |raw| match read(raw)? {
                Value::Uuid(bytes) => Ok(maker.make(py, bytes)?),
                other => other_kind(other),
            })
        }
        _ => cells.each(py, records, |raw| other_kind(read(raw)?)),
    }
}

fn whole(py: Python<'_>, value: i64) -> Result<Py<PyAny>, ValueError> {
    Ok(value.into_pyobject(py).map_err(PyErr::from)?.into_any().unbind())
}
