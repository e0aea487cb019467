//! Values made of values of other types: arrays, composites, ranges.

use colonnade_columnar::given::{self, ArrayShape, Containers, Parts, ShapeError, Step};
use colonnade_columnar::{Attribute, Kind, List, Range, Type, Value};
use pyo3::prelude::*;
use pyo3::types::{
    PyByteArray, PyBytes, PyDate, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PyMemoryView, PySet,
    PyString, PyTuple,
};

use super::arrays::check_zone;
use super::plain::check_array_elements;
use super::refusal::{ChangedError, Refusal, answered, expected};
use super::{is_null, to_value};
use crate::arrow::numpy_import;
use crate::record::is_record;
use crate::shown::shown;
use crate::types::codecs::Codecs;
use crate::values::classes;

/// A value within another, which does not borrow from its Python object.
fn part(
    pg_type: &Type,
    codecs: &Codecs,
    object: &Bound<'_, PyAny>,
) -> Result<Value<'static>, Refusal> {
    if is_null(object)? {
        return Ok(Value::Null);
    }
    to_value(pg_type, codecs, object).map(Value::into_owned)
}

/// Whether an object within an array is a dimension and not an element.
fn is_dimension(containers: Containers, object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(list) = object.cast::<PyList>() {
        return Ok(match containers {
            Containers::ListsOfLists => {
                list.get_item(0).is_ok_and(|first| first.is_instance_of::<PyList>())
            }
            _ => true,
        });
    }
    match containers {
        Containers::All => is_container(object),
        Containers::ListsAndTuples => {
            Ok(object.is_instance_of::<PyTuple>() || numpy_import::holds_objects(object)?)
        }
        // An array of numbers is a point or a vector; an array of objects holds points or vectors.
        Containers::Lists => numpy_import::holds_objects(object),
        Containers::ListsOfLists => Ok(false),
    }
}

/// Whether an object is a sized iterable, but not text, bytes, a mapping or a row of NumPy.
fn is_container(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return Ok(true);
    }
    // Asking these for a size raises an exception, which costs more than encoding the value.
    if object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyFloat>()
        || object.is_instance_of::<PyDate>()
    {
        return Ok(false);
    }
    if object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>()
        || object.is_instance_of::<PyMemoryView>()
        || object.is_instance_of::<PyDict>()
    {
        return Ok(false);
    }
    if object.is_instance_of::<PySet>() || object.is_instance_of::<PyFrozenSet>() {
        return Ok(true);
    }
    let is_sized = answered(object.py(), object.len())?.is_some() && object.hasattr("__iter__")?;
    Ok(is_sized && !classes::MAPPING.is_instance(object)? && !numpy_import::is_row(object)?)
}

/// An array of any type, nested by its dimensions.
pub(super) fn list(
    element: &Type,
    codecs: &Codecs,
    argument: &Bound<'_, PyAny>,
) -> Result<List<'static>, Refusal> {
    if !is_container(argument)? {
        return Ok(expected("a list, or another sized iterable", argument)?);
    }
    let containers = Containers::of(element);
    let shape = shape_of(containers, argument)?;
    check_array_elements(shape.count())?;
    let mut reader = ListReader { element, codecs, containers, shape, values: Vec::new() };
    reader.read(argument, &mut Vec::new())?;
    Ok(reader.shape.into_list(reader.values))
}

/// The lengths of an array, taken from its first element in each dimension.
fn shape_of(containers: Containers, argument: &Bound<'_, PyAny>) -> Result<ArrayShape, Refusal> {
    let mut shape = ArrayShape::new(argument.len()?);
    let mut level = argument.clone();
    while let Some(first) = level.try_iter()?.next() {
        let first = first?;
        if !is_dimension(containers, &first)? {
            break;
        }
        shape.check_room()?;
        shape.push(first.len()?)?;
        level = first;
    }
    Ok(shape)
}

impl From<ShapeError> for Refusal {
    fn from(error: ShapeError) -> Self {
        Self::because(error.to_string())
    }
}

struct ListReader<'t> {
    element: &'t Type,
    codecs: &'t Codecs,
    containers: Containers,
    shape: ArrayShape,
    values: Vec<Value<'static>>,
}

impl ListReader<'_> {
    /// Reads the dimension at `indices`.
    fn read(&mut self, level: &Bound<'_, PyAny>, indices: &mut Vec<usize>) -> Result<(), Refusal> {
        check_zone(self.element, level)?;
        let length = self.shape.check_length(indices, level.len()?)?;
        let mut count = 0;
        for (index, item) in level.try_iter()?.enumerate() {
            let item = item?;
            count = index + 1;
            if count > length {
                return Err(changed());
            }
            indices.push(index);
            if self.shape.check_item(indices, is_dimension(self.containers, &item)?)? {
                self.read(&item, indices)?;
            } else {
                let value = part(self.element, self.codecs, &item)
                    .map_err(|refusal| refusal.within(Step::Element(indices.clone())))?;
                self.values.push(value);
            }
            indices.pop();
        }
        if count == length { Ok(()) } else { Err(changed()) }
    }
}

/// The error if an element's methods or a codec have changed the container of the element.
fn changed() -> Refusal {
    ChangedError::new_err("its number of elements changed while it was encoded").into()
}

/// The items of a container, all taken before the first is converted: an item's methods, or a
/// codec, may change the container.
pub(super) fn items<'py>(container: &Bound<'py, PyAny>) -> Result<Vec<Bound<'py, PyAny>>, Refusal> {
    let length = container.len()?;
    // No capacity is reserved: the length may be wrong.
    let mut items = Vec::new();
    for item in container.try_iter()? {
        items.push(item?);
        if items.len() > length {
            return Err(changed());
        }
    }
    if items.len() == length { Ok(items) } else { Err(changed()) }
}

/// A composite, from its fields in order or by name.
pub(super) fn composite<'a>(
    attributes: &[Attribute],
    codecs: &Codecs,
    argument: &'a Bound<'_, PyAny>,
) -> Result<Value<'a>, Refusal> {
    let field = |attribute: &Attribute, object: &Bound<'_, PyAny>| {
        part(&attribute.pg_type, codecs, object)
            .map_err(|refusal| refusal.within(Step::Field(attribute.name.clone())))
    };
    // All objects are taken before the first is encoded, because encoding may change the others.
    let fields = |objects: &[Bound<'_, PyAny>]| {
        let pairs = attributes.iter().zip(objects);
        let values = pairs.map(|(attribute, object)| field(attribute, object));
        Ok(Value::Composite(values.collect::<Result<Vec<_>, Refusal>>()?))
    };
    if argument.is_instance_of::<PyTuple>()
        || argument.is_instance_of::<PyList>()
        || is_record(argument)
    {
        let objects = items(argument)?;
        if objects.len() != attributes.len() {
            return Err(Refusal::because(format!(
                "the composite has {} fields, and {} were given",
                attributes.len(),
                objects.len()
            )));
        }
        return fields(&objects);
    }
    if classes::MAPPING.is_instance(argument)? {
        for key in argument.call_method0("keys")?.try_iter()? {
            let key = key?;
            let is_field = |name: &str| attributes.iter().any(|attribute| attribute.name == name);
            if !key.extract::<String>().is_ok_and(|name| is_field(&name)) {
                let names: Vec<_> = attributes.iter().map(|a| a.name.as_str()).collect();
                return Err(Refusal::because(format!(
                    "the composite has no field {}; its fields: {}",
                    shown(&key),
                    names.join(", ")
                )));
            }
        }
        let objects = attributes
            .iter()
            .map(|attribute| argument.call_method1("get", (attribute.name.as_str(),)))
            .collect::<PyResult<Vec<_>>>()?;
        return fields(&objects);
    }
    text_or(argument, "a tuple, a mapping or a Record")
}

/// The text format, for types that are sent as text; the encoder refuses it for others.
fn text_or<'a>(argument: &'a Bound<'_, PyAny>, what: &str) -> Result<Value<'a>, Refusal> {
    match argument.cast::<PyString>() {
        Ok(text) => Ok(Value::Text(text.to_str()?.into())),
        Err(_) => Ok(expected(what, argument)?),
    }
}

/// A range: an object with bounds, or, as in asyncpg, a tuple of at most two bounds, both
/// inclusive.
pub(super) fn range<'a>(
    subtype: &Type,
    codecs: &Codecs,
    argument: &'a Bound<'_, PyAny>,
) -> Result<Value<'a>, Refusal> {
    match bounds(subtype, codecs, argument)? {
        Some(range) => Ok(Value::Range(Box::new(range))),
        None => text_or(argument, "a Range, or a tuple (lower, upper)"),
    }
}

fn bounds(
    subtype: &Type,
    codecs: &Codecs,
    argument: &Bound<'_, PyAny>,
) -> Result<Option<Range<'static>>, Refusal> {
    let bound = |object: &Bound<'_, PyAny>, name| {
        part(subtype, codecs, object).map_err(|refusal| refusal.within(Step::Bound(name)))
    };
    // By attributes: the ranges of other libraries have the same.
    if let Some(is_empty) = argument.getattr_opt("isempty")? {
        if is_empty.is_truthy()? {
            return Ok(Some(Range::Empty));
        }
        let flag = |name: &str| argument.getattr(name)?.extract::<bool>();
        // Both bounds are taken before the first is encoded, because encoding may change the
        // object.
        let (lower, upper) = (argument.getattr("lower")?, argument.getattr("upper")?);
        let (lower_inclusive, upper_inclusive) = (flag("lower_inc")?, flag("upper_inc")?);
        return Ok(Some(Range::Bounds {
            lower: bound(&lower, "lower")?,
            upper: bound(&upper, "upper")?,
            lower_inclusive,
            upper_inclusive,
        }));
    }
    if !argument.is_instance_of::<PyTuple>() && !argument.is_instance_of::<PyList>() {
        return Ok(None);
    }
    let given = argument.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let none = argument.py().None().into_bound(argument.py());
    let (lower, upper) = match given.as_slice() {
        [] => return Ok(Some(Range::Empty)),
        [lower] => (lower, &none),
        [lower, upper] => (lower, upper),
        more => {
            return Err(Refusal::because(format!(
                "a range has 2 bounds at most, and {} were given",
                more.len()
            )));
        }
    };
    let (lower, upper) = (bound(lower, "lower")?, bound(upper, "upper")?);
    Ok(Some(Range::Bounds {
        lower_inclusive: lower != Value::Null,
        upper_inclusive: upper != Value::Null,
        lower,
        upper,
    }))
}

/// A multirange: a list of ranges.
pub(super) fn multirange<'a>(
    subtype: &Type,
    codecs: &Codecs,
    argument: &'a Bound<'_, PyAny>,
) -> Result<Value<'a>, Refusal> {
    const EXPECTED: &str = "a list of Range";
    if !is_container(argument)? {
        return text_or(argument, EXPECTED);
    }
    let objects = items(argument)?;
    let mut ranges = Vec::with_capacity(objects.len());
    for (index, object) in objects.into_iter().enumerate() {
        let at = |refusal: Refusal| refusal.within(Step::Element(vec![index]));
        match bounds(subtype, codecs, &object).map_err(at)? {
            Some(range) => ranges.push(range),
            None => return Err(at(Refusal::from(refused_range(&object)))),
        }
    }
    Ok(Value::Multirange(ranges))
}

fn refused_range(object: &Bound<'_, PyAny>) -> PyErr {
    match expected::<()>("a Range, or a tuple (lower, upper)", object) {
        Ok(()) => pyo3::exceptions::PyTypeError::new_err("no range"),
        Err(error) => error,
    }
}

/// The value of the parts that a tuple codec returned; the inverse of `values::apart`.
pub(super) fn from_parts(
    pg_type: &Type,
    codecs: &Codecs,
    parts: &Bound<'_, PyAny>,
) -> Result<Value<'static>, Refusal> {
    let (kind, parts) = match pg_type.kind() {
        Some(kind @ Kind::Interval) => {
            let (months, days, micros) = parts.extract()?;
            (kind, Parts::Three(months, days, micros))
        }
        Some(kind @ Kind::Date) => (kind, Parts::One(parts.extract::<(i32,)>()?.0.into())),
        Some(kind @ (Kind::Time | Kind::Timestamp | Kind::TimestampTz)) => {
            (kind, Parts::One(parts.extract::<(i64,)>()?.0))
        }
        Some(kind @ Kind::TimeTz) => {
            let (micros, west) = parts.extract()?;
            (kind, Parts::Two(micros, west))
        }
        _ => return part(pg_type, codecs, parts),
    };
    let out_of_range = || Refusal::because("value is outside of 64 bits of microseconds");
    given::value_of(kind, parts).ok_or_else(out_of_range)
}
