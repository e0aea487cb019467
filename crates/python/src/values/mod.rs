//! Neutral values as Python objects: the same for rows and for columns read value by value.

mod arrow;
mod cells;
pub(crate) mod classes;
mod figures;
pub(crate) mod inexact;
mod maker;
mod moments;
pub(crate) mod numbers;
pub(crate) mod times;
mod uuid;

use std::borrow::Cow;

use colonnade_columnar::given::{Parts, parts_of};
use colonnade_columnar::{List, Place, Range, Reason, Value, within};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyFloat, PyList, PyString, PyTuple, PyTzInfo};

pub(crate) use self::arrow::list_of_array;
pub(crate) use self::cells::Cells;
pub(crate) use self::maker::Maker;
use crate::types::codecs::{Codecs, Dates};

/// The reason why a field has no Python object.
pub(crate) enum ValueError {
    /// The bytes are not a value of the type.
    Decode(Reason),
    /// The value is valid, but outside the range of Python's type; the text says so.
    OutOfRange(String),
    /// Python raised an exception.
    Python(PyErr),
}

impl ValueError {
    fn within_element(self, index: usize) -> Self {
        match self {
            Self::Decode(reason) => Self::Decode(within(Place::Element(index), reason)),
            other => other,
        }
    }

    fn within_field(self, name: &str) -> Self {
        match self {
            Self::Decode(reason) => Self::Decode(within(Place::Field(name.to_owned()), reason)),
            other => other,
        }
    }
}

impl From<PyErr> for ValueError {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<ValueError> for PyErr {
    fn from(error: ValueError) -> Self {
        match error {
            ValueError::Decode(reason) => PyOverflowError::new_err(reason.to_string()),
            ValueError::OutOfRange(text) => PyOverflowError::new_err(text),
            ValueError::Python(error) => error,
        }
    }
}

/// The Python object of a value, without its type's contribution: the fields of a composite come
/// without names, as a tuple. A [`Maker`] adds them.
pub(crate) fn to_python(
    py: Python<'_>,
    codecs: &Codecs,
    value: Value<'_>,
) -> Result<Py<PyAny>, ValueError> {
    let object = match &value {
        Value::Null => py.None(),
        Value::Bool(value) => {
            value.into_pyobject(py).map_err(PyErr::from)?.to_owned().into_any().unbind()
        }
        Value::Int(value) => value.into_pyobject(py).map_err(PyErr::from)?.into_any().unbind(),
        Value::UInt(value) => value.into_pyobject(py).map_err(PyErr::from)?.into_any().unbind(),
        Value::Float(value) => PyFloat::new(py, *value).into_any().unbind(),
        Value::Float32(value) => PyFloat::new(py, f64::from(*value)).into_any().unbind(),
        Value::Text(Cow::Borrowed(text)) => PyString::new(py, text).into_any().unbind(),
        Value::Bytes(Cow::Borrowed(bytes)) => PyBytes::new(py, bytes).into_any().unbind(),
        Value::Uuid(bytes) => uuid::UuidMaker::get(py)?.make(py, *bytes)?,
        Value::Date(days) => moments::date(py, *days)?,
        Value::Time(us) => moments::time(py, *us, None)?,
        Value::Timestamp(us) => moments::timestamp(py, *us, None)?,
        Value::TimestampTz(us) => {
            moments::timestamp(py, *us, Some(&PyTzInfo::utc(py)?.to_owned()))?
        }
        _ => return rarer_to_python(py, codecs, value),
    };
    // None of these owns memory; checking for it would take as long as making the value.
    std::mem::forget(value);
    Ok(object)
}

fn rarer_to_python(
    py: Python<'_>,
    codecs: &Codecs,
    value: Value<'_>,
) -> Result<Py<PyAny>, ValueError> {
    let part = |value| to_python(py, codecs, value);
    Ok(match value {
        Value::Text(text) => PyString::new(py, &text).into_any().unbind(),
        Value::Bytes(bytes) => PyBytes::new(py, &bytes).into_any().unbind(),
        Value::Numeric(text) => decimal(py, &text)?,
        Value::DateInfinity(sign) | Value::TimestampInfinity(sign)
            if codecs.dates() == Dates::Exact =>
        {
            return Err(moments::no_infinity(sign));
        }
        Value::DateInfinity(sign) => moments::date_infinity(py, sign)?,
        Value::TimestampInfinity(sign) => moments::timestamp_infinity(py, sign)?,
        Value::Interval { months, days, micros } => moments::interval(py, months, days, micros)?,
        Value::IntervalInfinity(sign) => return Err(moments::interval_infinity(sign)),
        Value::TimeTz { micros, offset_s } => moments::time_tz(py, micros, offset_s)?,
        Value::Bits(bits) => figures::bits(py, &bits)?,
        Value::Network(network) => figures::network(py, &network)?,
        Value::Point(numbers) => figures::of_numbers(py, &classes::POINT, numbers)?,
        Value::Line(numbers) => figures::of_numbers(py, &classes::LINE, numbers)?,
        Value::LineSegment(numbers) => figures::of_points(py, &classes::LINE_SEGMENT, numbers)?,
        Value::Box(numbers) => figures::of_points(py, &classes::BOX, numbers)?,
        Value::Circle(numbers) => figures::circle(py, numbers)?,
        Value::Path { is_closed, points } => figures::path(py, is_closed, &points)?,
        Value::Polygon(points) => figures::polygon(py, &points)?,
        Value::Tid { block, offset } => tuple(py, (block, offset))?,
        Value::Snapshot { xmin, xmax, running } => {
            tuple(py, (xmin, xmax, PyTuple::new(py, running)?))?
        }
        Value::Floats(numbers) => {
            PyList::new(py, numbers.into_iter().map(f64::from))?.into_any().unbind()
        }
        Value::Map(pairs) => {
            let dict = PyDict::new(py);
            for (key, value) in pairs {
                dict.set_item(key, value)?;
            }
            dict.into_any().unbind()
        }
        Value::List(list) => nested_list(py, list, part)?,
        Value::Composite(fields) => {
            let fields = fields.into_iter().map(part).collect::<Result<Vec<_>, _>>()?;
            PyTuple::new(py, fields)?.into_any().unbind()
        }
        Value::Range(bounds) => range(py, *bounds, part)?,
        Value::Multirange(ranges) => multirange(py, ranges, part)?,
        Value::OfType(part) => Maker::new(py, &part.pg_type)?.make(py, codecs, part.value)?,
        Value::Custom { codec, raw } => codecs.decode(py, codec, &raw)?,
        other => {
            let kind = other.describe();
            return Err(PyTypeError::new_err(format!("no Python object for {kind}")).into());
        }
    })
}

fn tuple<'py>(
    py: Python<'py>,
    parts: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Py<PyAny>> {
    Ok(parts.into_pyobject(py)?.into_any().unbind())
}

fn decimal(py: Python<'_>, text: &str) -> PyResult<Py<PyAny>> {
    classes::DECIMAL.get(py)?.call1((text,)).map(Bound::unbind)
}

/// An array as lists within lists, one level per dimension.
fn nested_list<'a>(
    py: Python<'_>,
    list: List<'a>,
    part: impl Fn(Value<'a>) -> Result<Py<PyAny>, ValueError>,
) -> Result<Py<PyAny>, ValueError> {
    let mut level = list.elements.into_iter().map(part).collect::<Result<Vec<_>, _>>()?;
    // From the innermost dimension outwards; the outermost list is the remainder.
    for length in list.dimensions.iter().skip(1).rev() {
        level = level
            .chunks((*length).max(1))
            .map(|chunk| {
                let objects = chunk.iter().map(|object| object.clone_ref(py));
                PyList::new(py, objects).map(|list| list.into_any().unbind())
            })
            .collect::<PyResult<_>>()?;
    }
    Ok(PyList::new(py, level)?.into_any().unbind())
}

fn range<'a>(
    py: Python<'_>,
    range: Range<'a>,
    part: impl Fn(Value<'a>) -> Result<Py<PyAny>, ValueError>,
) -> Result<Py<PyAny>, ValueError> {
    let class = classes::RANGE.get(py)?;
    Ok(match range {
        Range::Empty => {
            let keywords = [(intern!(py, "empty"), true)].into_py_dict(py)?;
            class.call((), Some(&keywords))?.unbind()
        }
        Range::Bounds { lower, upper, lower_inclusive, upper_inclusive } => {
            let keywords = [
                (intern!(py, "lower_inc"), lower_inclusive),
                (intern!(py, "upper_inc"), upper_inclusive),
            ]
            .into_py_dict(py)?;
            class.call((part(lower)?, part(upper)?), Some(&keywords))?.unbind()
        }
    })
}

fn multirange<'a>(
    py: Python<'_>,
    ranges: Vec<Range<'a>>,
    part: impl Fn(Value<'a>) -> Result<Py<PyAny>, ValueError> + Copy,
) -> Result<Py<PyAny>, ValueError> {
    let ranges = ranges.into_iter().map(|bounds| range(py, bounds, part));
    let ranges = ranges.collect::<Result<Vec<_>, _>>()?;
    Ok(PyList::new(py, ranges)?.into_any().unbind())
}

/// A value's parts for a tuple codec (`given::parts_of`), or the fields of a composite.
fn apart(py: Python<'_>, codecs: &Codecs, value: Value<'_>) -> Result<Py<PyAny>, ValueError> {
    Ok(match parts_of(&value) {
        Some(Parts::One(number)) => tuple(py, (number,))?,
        Some(Parts::Two(micros, west)) => tuple(py, (micros, west))?,
        Some(Parts::Three(months, days, micros)) => tuple(py, (months, days, micros))?,
        None => to_python(py, codecs, value)?,
    })
}
