//! A type's contribution to its values: the names of fields, and users' codecs.

use colonnade_columnar::{CodecFormat, Kind, PgType, Shape, Type, Value};
use colonnade_protocol::Span;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::{ValueError, apart, multirange, nested_list, range, to_python};
use crate::record::{RecordClass, RecordNames, UnfinishedRecord};
use crate::types::codecs::Codecs;

/// Makes the Python objects of one type. Made once per column, used for each row.
pub(crate) enum Maker {
    /// A type of the table.
    Scalar {
        line: &'static PgType,
        /// As in `Plain`.
        is_atomic: bool,
    },
    /// A type whose values need nothing but themselves.
    Plain {
        /// Whether the objects hold no references that could form a cycle.
        is_atomic: bool,
    },
    List(Box<Self>),
    Composite {
        class: RecordClass,
        names: Py<RecordNames>,
        fields: Vec<Self>,
    },
    Range(Box<Self>),
    Multirange(Box<Self>),
    /// A type with a user's codec that takes a value's parts.
    Parts {
        codec: usize,
    },
    /// A type with a user's codec that takes text or bytes.
    Encoded,
}

impl Maker {
    pub(crate) fn new(py: Python<'_>, pg_type: &Type) -> PyResult<Self> {
        Ok(match &pg_type.shape {
            Shape::Scalar(line) => {
                let is_atomic = !matches!(line.kind, Kind::Map | Kind::Floats);
                Self::Scalar { line, is_atomic }
            }
            Shape::Enum(_) | Shape::Opaque => Self::Plain { is_atomic: true },
            Shape::Record(_) => Self::Plain { is_atomic: false },
            Shape::Domain { base, .. } => Self::new(py, base)?,
            Shape::Array(element) => Self::List(Box::new(Self::new(py, element)?)),
            Shape::Composite(attributes) => {
                let fields = attributes.iter().map(|attribute| Self::new(py, &attribute.pg_type));
                let fields = fields.collect::<PyResult<Vec<_>>>()?;
                let names = attributes.iter().map(|attribute| attribute.name.as_str());
                let names = RecordNames::new(py, names, fields.iter().all(Self::is_atomic))?;
                Self::Composite { class: RecordClass::of(py, None)?, names, fields }
            }
            Shape::Range(subtype) => Self::Range(Box::new(Self::new(py, subtype)?)),
            Shape::Multirange(subtype) => Self::Multirange(Box::new(Self::new(py, subtype)?)),
            Shape::Custom { codec, format: CodecFormat::Tuple, .. } => {
                Self::Parts { codec: *codec }
            }
            Shape::Custom { .. } => Self::Encoded,
        })
    }

    /// Whether the objects can never be part of a cycle.
    pub(crate) fn is_atomic(&self) -> bool {
        match self {
            Self::Scalar { is_atomic, .. } | Self::Plain { is_atomic } => *is_atomic,
            Self::Composite { fields, .. } => fields.iter().all(Self::is_atomic),
            Self::Range(subtype) => subtype.is_atomic(),
            Self::List(_) | Self::Multirange(_) | Self::Parts { .. } | Self::Encoded => false,
        }
    }

    /// Whether a long value takes hardly longer than a short one: only its bytes are copied.
    pub(crate) fn is_even(&self) -> bool {
        match self {
            Self::Scalar { line, .. } => {
                line.width.is_some() || matches!(line.kind, Kind::Text | Kind::Bytes)
            }
            Self::Plain { is_atomic } => *is_atomic,
            Self::List(_)
            | Self::Composite { .. }
            | Self::Range(_)
            | Self::Multirange(_)
            | Self::Parts { .. }
            | Self::Encoded => false,
        }
    }

    /// The Python object of a value as received. `scratch` is reusable memory.
    pub(crate) fn read(
        &self,
        py: Python<'_>,
        codecs: &Codecs,
        pg_type: &Type,
        raw: &[u8],
        scratch: &mut Vec<Span>,
    ) -> Result<Py<PyAny>, ValueError> {
        if matches!(self, Self::List(_) | Self::Composite { .. }) {
            // Nested parts get new memory.
            let mut cells = std::mem::take(scratch);
            let made = self.read_parts(py, codecs, pg_type, raw, &mut cells);
            *scratch = cells;
            if let Some(object) = made? {
                return Ok(object);
            }
        }
        self.make(py, codecs, pg_type.value(raw).map_err(ValueError::Decode)?)
    }

    /// For a one-dimensional list or a composite, in the binary format.
    fn read_parts(
        &self,
        py: Python<'_>,
        codecs: &Codecs,
        pg_type: &Type,
        raw: &[u8],
        cells: &mut Vec<Span>,
    ) -> Result<Option<Py<PyAny>>, ValueError> {
        match self {
            Self::List(maker) => {
                let element = pg_type.array_cells(raw, cells).map_err(ValueError::Decode)?;
                let Some(element) = element else { return Ok(None) };
                maker.read_list(py, codecs, element, raw, cells).map(Some)
            }
            Self::Composite { class, names, fields } => {
                let found = pg_type.composite_cells(raw, cells).map_err(ValueError::Decode)?;
                let Some(attributes) = found else { return Ok(None) };
                let mut record = UnfinishedRecord::new(py, class, names)?;
                let mut scratch = Vec::new();
                for ((maker, attribute), cell) in fields.iter().zip(attributes).zip(cells) {
                    record.push(match cell.slice(raw) {
                        None => py.None(),
                        Some(cell) => maker
                            .read(py, codecs, &attribute.pg_type, cell, &mut scratch)
                            .map_err(|error| error.within_field(&attribute.name))?,
                    });
                }
                Ok(Some(record.finish().unbind()))
            }
            _ => Ok(None),
        }
    }

    /// A list of the elements that the cells hold.
    fn read_list(
        &self,
        py: Python<'_>,
        codecs: &Codecs,
        element: &Type,
        raw: &[u8],
        cells: &[Span],
    ) -> Result<Py<PyAny>, ValueError> {
        let mut scratch = Vec::new();
        let mut failed = None;
        let objects = cells.iter().enumerate().map(|(index, cell)| {
            let (Some(cell), None) = (cell.slice(raw), &failed) else { return py.None() };
            self.read(py, codecs, element, cell, &mut scratch).unwrap_or_else(|error| {
                failed = Some(error.within_element(index));
                py.None()
            })
        });
        let list = PyList::new(py, objects)?;
        match failed {
            None => Ok(list.into_any().unbind()),
            Some(error) => Err(error),
        }
    }

    /// The Python object of a value of the type.
    // For most types this is just a call, and it should not become two.
    #[inline(always)]
    pub(crate) fn make(
        &self,
        py: Python<'_>,
        codecs: &Codecs,
        value: Value<'_>,
    ) -> Result<Py<PyAny>, ValueError> {
        match self {
            Self::Scalar { .. } | Self::Plain { .. } => to_python(py, codecs, value),
            _ => self.make_of_parts(py, codecs, value),
        }
    }

    fn make_of_parts(
        &self,
        py: Python<'_>,
        codecs: &Codecs,
        value: Value<'_>,
    ) -> Result<Py<PyAny>, ValueError> {
        match (self, value) {
            (Self::List(element), Value::List(list)) => {
                nested_list(py, list, |value| element.make(py, codecs, value))
            }
            (Self::Composite { class, names, fields }, Value::Composite(values)) => {
                let mut record = UnfinishedRecord::new(py, class, names)?;
                for (field, value) in fields.iter().zip(values) {
                    record.push(field.make(py, codecs, value)?);
                }
                Ok(record.finish().unbind())
            }
            (Self::Range(subtype), Value::Range(bounds)) => {
                range(py, *bounds, |value| subtype.make(py, codecs, value))
            }
            (Self::Multirange(subtype), Value::Multirange(ranges)) => {
                multirange(py, ranges, |value| subtype.make(py, codecs, value))
            }
            (Self::Parts { .. }, Value::Null) => Ok(py.None()),
            (Self::Parts { codec }, value) => {
                let parts = apart(py, codecs, value)?;
                Ok(codecs.decode_parts(py, *codec, parts)?)
            }
            // A type with parts may come as text.
            (_, value) => to_python(py, codecs, value),
        }
    }
}
