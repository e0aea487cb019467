//! NumPy arrays as Arrow arrays. This module never imports NumPy: given an array, NumPy is already
//! there.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, StringArray};
use colonnade_foreign::numpy;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrow::import::check_by_owner;
use crate::class_names;
use crate::memory::foreign_buffer::copied;

/// Whether an object is a NumPy array.
pub(crate) fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = object.get_type();
    // A subclass, such as a masked array, may give its values another meaning.
    Ok(class.name()? == "ndarray" && class_names::is_of(&class, "numpy"))
}

/// Whether an object is a NumPy array of Python objects or strings.
pub(crate) fn holds_objects(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !is_array(object)? {
        return Ok(false);
    }
    let kind: String = object.getattr("dtype")?.getattr("kind")?.extract()?;
    Ok(matches!(kind.as_str(), "O" | "T" | "U"))
}

/// Whether an object is one row of a structured NumPy array, masked or not: a value with fields.
pub(crate) fn is_row(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !class_names::is_of(&object.get_type(), "numpy") {
        return Ok(false);
    }
    let Some(dtype) = object.getattr_opt("dtype")? else { return Ok(false) };
    Ok(!dtype.getattr("names")?.is_none() && object.getattr("shape")?.len()? == 0)
}

/// The dtype of a pandas Series, Index or array; None for other objects.
fn dtype_of_series<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !class_names::is_of(&object.get_type(), "pandas") || !object.hasattr("to_numpy")? {
        return Ok(None);
    }
    // A DataFrame has no dtype.
    object.getattr_opt("dtype")
}

/// Whether an object is a pandas Series or Index of naive timestamps.
pub(crate) fn is_naive_series(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(dtype) = dtype_of_series(object)? else { return Ok(false) };
    let kind = dtype.getattr_opt("kind")?;
    if !kind.map_or(Ok(false), |kind| kind.eq("M"))? {
        return Ok(false);
    }
    // pandas or pyarrow knows the time zone; NumPy's dtype has none.
    let inner = dtype.getattr_opt("pyarrow_dtype")?.unwrap_or(dtype);
    Ok(inner.getattr_opt("tz")?.is_none_or(|zone| zone.is_none()))
}

/// The array below a pandas Series or Index; other objects unchanged. With pandas' own dtypes it is
/// an array of objects, with None for missing values.
pub(crate) fn without_index<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let Some(dtype) = dtype_of_series(object)? else { return Ok(object.clone()) };
    if class_names::is_of(&dtype.get_type(), "numpy") {
        return object.call_method0("to_numpy");
    }
    check_arrow(object, &dtype)?;
    object.call_method1("to_numpy", ("object", false, object.py().None()))
}

/// As `without_index`, for moments: those with a time zone are in UTC. For years beyond Python's,
/// pandas makes no objects of them in most zones.
pub(crate) fn moments_of_series<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(dtype) = dtype_of_series(object)?
        && dtype.getattr_opt("tz")?.is_some_and(|zone| !zone.is_none())
    {
        let unit: String = dtype.getattr("unit")?.extract()?;
        return object.call_method1("to_numpy", (format!("M8[{unit}]"),));
    }
    without_index(object)
}

/// Validates values that pandas keeps in a pyarrow array, before pandas reads them.
fn check_arrow(object: &Bound<'_, PyAny>, dtype: &Bound<'_, PyAny>) -> PyResult<()> {
    let storage = dtype.getattr_opt("storage")?;
    let is_stored = storage.map_or(Ok(false), |storage| storage.eq("pyarrow"))?;
    if is_stored || dtype.get_type().name()? == "ArrowDtype" {
        // A Series and an Index have an array; an array is one.
        let array = object.getattr_opt("array")?.unwrap_or_else(|| object.clone());
        let array = array.call_method0("__arrow_array__")?;
        check_by_owner(&array)?;
    }
    Ok(())
}

/// The Arrow array of a NumPy array and its shape; None if only its objects can be used, as for
/// datetimes that exceed 64 bits in Arrow's units: then each object is converted or refused by
/// itself. `is_utc` says that its datetimes are UTC.
pub(crate) fn array(
    object: &Bound<'_, PyAny>,
    is_utc: bool,
) -> PyResult<Option<(ArrayRef, Vec<usize>)>> {
    let shape: Vec<usize> = object.getattr("shape")?.extract()?;
    if shape.is_empty() {
        return Err(PyTypeError::new_err("an array without dimensions is not a list"));
    }
    let dtype = object.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    if matches!(kind.as_str(), "O" | "T") {
        return Ok(None);
    }
    let native = dtype.call_method1("newbyteorder", ("=",))?;
    // Contiguous, in native byte order, with one dimension.
    let plain = || object.call_method1("astype", (&native, "C"))?.call_method1("reshape", (-1,));
    let width: usize = dtype.getattr("itemsize")?.extract()?;
    let array = match (kind.as_str(), width) {
        ("b", _) => {
            let bytes = values::<u8>(&plain()?.call_method1("view", ("u1",))?)?;
            Arc::new(BooleanArray::from_iter(bytes.into_iter().map(|byte| Some(byte != 0))))
        }
        ("i", 1) => primitive::<Int8Type>(&plain()?)?,
        ("i", 2) => primitive::<Int16Type>(&plain()?)?,
        ("i", 4) => primitive::<Int32Type>(&as_type(&plain()?, "i4")?)?,
        ("i", _) => primitive::<Int64Type>(&as_type(&plain()?, "i8")?)?,
        ("u", 1) => primitive::<UInt8Type>(&plain()?)?,
        ("u", 2) => primitive::<UInt16Type>(&plain()?)?,
        ("u", 4) => primitive::<UInt32Type>(&as_type(&plain()?, "u4")?)?,
        ("u", _) => primitive::<UInt64Type>(&as_type(&plain()?, "u8")?)?,
        ("f", 2 | 4) => primitive::<Float32Type>(&as_type(&plain()?, "f4")?)?,
        ("f", 8) => primitive::<Float64Type>(&plain()?)?,
        ("M", _) => {
            let (counts, unit, step) = counts(&plain()?)?;
            let moments = numpy::moments(counts, &unit, step, is_utc);
            return Ok(moments.map(|array| (array, shape)));
        }
        ("m", _) => {
            let (counts, unit, step) = counts(&plain()?)?;
            return Ok(numpy::durations(counts, &unit, step).map(|array| (array, shape)));
        }
        ("S", _) => fixed_bytes(&plain()?, width)?,
        ("U", _) => fixed_text(&plain()?, width / 4)?,
        _ => {
            return Err(PyTypeError::new_err(format!(
                "an array of dtype {} does not hold values that PostgreSQL has",
                dtype.str()?
            )));
        }
    };
    Ok(Some((array, shape)))
}

fn as_type<'py>(array: &Bound<'py, PyAny>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    array.call_method1("astype", (dtype,))
}

fn values<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    copied(&PyBuffer::get(array)?, array.py())
}

fn primitive<T>(array: &Bound<'_, PyAny>) -> PyResult<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: Element,
{
    Ok(Arc::new(PrimitiveArray::<T>::from_iter_values(values::<T::Native>(array)?)))
}

/// The numbers of an array of times, their unit, and how many units each of them counts.
fn counts(array: &Bound<'_, PyAny>) -> PyResult<(Vec<i64>, String, i64)> {
    let numpy = PyModule::import(array.py(), "numpy")?;
    let (unit, step) =
        numpy.call_method1("datetime_data", (array.getattr("dtype")?,))?.extract()?;
    Ok((values(&array.call_method1("view", ("i8",))?)?, unit, step))
}

fn fixed_bytes(array: &Bound<'_, PyAny>, width: usize) -> PyResult<ArrayRef> {
    let Some(width) = NonZeroUsize::new(width) else {
        return Ok(Arc::new(BinaryArray::from_iter_values(vec![b""; array.len()?])));
    };
    let bytes = values::<u8>(&array.call_method1("view", ("u1",))?)?;
    Ok(numpy::fixed_bytes(&bytes, width))
}

/// As [`fixed_bytes`], for code points of four bytes.
fn fixed_text(array: &Bound<'_, PyAny>, width: usize) -> PyResult<ArrayRef> {
    let Some(width) = NonZeroUsize::new(width) else {
        return Ok(Arc::new(StringArray::from_iter_values(vec![""; array.len()?])));
    };
    let points = values::<u32>(&array.call_method1("view", ("u4",))?)?;
    let strings = numpy::fixed_text(&points, width);
    strings.ok_or_else(|| PyValueError::new_err("a string has no UTF-8 form"))
}
