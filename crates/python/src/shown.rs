//! A caller's object in an error message.
//!
//! `repr` and `str` of an object may run foreign code: it may be slow, return megabytes, raise, or
//! read memory that invalid Arrow data points to. So values of Python's plain classes are shown,
//! cut to a length; of all other objects the class is shown, and the length if asking for it runs
//! no code of the object's class. `colonnade/_words/shown.py` does the same for messages written in
//! Python.

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDelta, PyDict, PyFloat, PyFrozenSet, PyInt, PyList,
    PySet, PySlice, PyString, PyTuple, PyType,
};

use crate::class_names;
use crate::values::classes;

const CHARACTERS_MOST: usize = 80;
/// The decimal form of a longer int takes quadratic time.
const BITS_MOST: u64 = 256;
/// Libraries whose containers can be asked for their length.
const LIBRARIES: [&str; 4] = ["numpy", "pandas", "polars", "pyarrow"];

/// A short description of the object. It never fails, and runs no code of the object's class.
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> String {
    plain(object).ok().flatten().unwrap_or_else(|| described(object))
}

/// A value of one of Python's plain classes; None for other objects.
fn plain(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if object.is_none()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyDate>()
        || object.is_exact_instance_of::<PyDelta>()
    {
        return cut(object).map(Some);
    }
    if object.is_exact_instance_of::<PyString>() || object.is_exact_instance_of::<PyBytes>() {
        let (py, end) = (object.py(), CHARACTERS_MOST as isize);
        return cut(&object.get_item(PySlice::new(py, 0, end, 1))?).map(Some);
    }
    if object.is_exact_instance_of::<PyInt>() {
        let bits: u64 = object.call_method0("bit_length")?.extract()?;
        return match bits {
            0..=BITS_MOST => cut(object).map(Some),
            _ => Ok(Some(format!("an int of {bits} bits"))),
        };
    }
    let class = object.get_type();
    for of_python in [&classes::DECIMAL, &classes::UUID] {
        if class.is(of_python.get(object.py())?) {
            return cut(object).map(Some);
        }
    }
    if classes::ENUM.is_instance(object)?
        && let Some(name) = object.getattr_opt("_name_")?
        && name.is_exact_instance_of::<PyString>()
    {
        return Ok(Some(format!("{}.{name}", class.name()?)));
    }
    moment(object)
}

/// A datetime or time, whose time zone may be of any class.
fn moment(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = object.py();
    let class = object.get_type();
    if !class.is(classes::DATETIME.get(py)?) && !class.is(classes::TIME.get(py)?) {
        return Ok(None);
    }
    let zone = object.getattr("tzinfo")?;
    let is_known = zone.is_none()
        || zone.get_type().is(classes::TIMEZONE.get(py)?)
        || zone.get_type().is(classes::ZONE_INFO.get(py)?);
    if is_known { cut(object).map(Some) } else { Ok(None) }
}

fn cut(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = object.repr()?.to_string();
    if text.chars().count() <= CHARACTERS_MOST {
        return Ok(text);
    }
    Ok(text.chars().take(CHARACTERS_MOST - 3).chain("...".chars()).collect())
}

/// The class, and the length.
fn described(object: &Bound<'_, PyAny>) -> String {
    if let Ok(class) = object.cast::<PyType>() {
        return format!("the class {}", named(class));
    }
    let name = named(&object.get_type());
    match length(object) {
        Some(length) => format!("a {name} of length {length}"),
        None => format!("an object of {name}"),
    }
}

fn named(class: &Bound<'_, PyType>) -> String {
    class_names::full(class).chars().take(CHARACTERS_MOST).collect()
}

fn length(object: &Bound<'_, PyAny>) -> Option<usize> {
    let is_of_python = object.is_exact_instance_of::<PyList>()
        || object.is_exact_instance_of::<PyTuple>()
        || object.is_exact_instance_of::<PyDict>()
        || object.is_exact_instance_of::<PySet>()
        || object.is_exact_instance_of::<PyFrozenSet>()
        || object.is_exact_instance_of::<PyByteArray>();
    let class = object.get_type();
    if is_of_python || LIBRARIES.iter().any(|library| class_names::is_of(&class, library)) {
        object.len().ok()
    } else {
        None
    }
}
