//! Python's operators on a record: as a tuple, and by name as a mapping.

use std::ffi::c_int;
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;

use super::class::record_type;
use super::iterators;
use super::layout::{names, values};

type Object = *mut ffi::PyObject;

/// A new reference to an object, or a null pointer with Python's exception set.
pub(super) fn given(py: Python<'_>, made: PyResult<Bound<'_, PyAny>>) -> Object {
    match made {
        Ok(object) => object.into_ptr(),
        Err(error) => {
            error.restore(py);
            ptr::null_mut()
        }
    }
}

/// A tuple of borrowed objects. Null with an exception if memory is exhausted.
pub(super) unsafe fn tuple_of(objects: impl ExactSizeIterator<Item = Object>) -> Object {
    // SAFETY: by the caller's contract the objects are alive; each slot of the tuple is written
    // once.
    unsafe {
        let tuple = ffi::PyTuple_New(objects.len() as ffi::Py_ssize_t);
        if tuple.is_null() {
            return tuple;
        }
        for (place, object) in objects.enumerate() {
            ffi::PyTuple_SET_ITEM(tuple, place as ffi::Py_ssize_t, ffi::Py_NewRef(object));
        }
        tuple
    }
}

/// The position of a string key, or None; None also with an exception set.
pub(super) unsafe fn position(record: Object, key: Object) -> Option<usize> {
    // SAFETY: the record and the key are alive, and so are the names that the record holds.
    unsafe {
        if ffi::PyUnicode_Check(key) == 0 {
            return None;
        }
        let positions = names(record).positions.as_ptr();
        let found = ffi::PyDict_GetItemWithError(positions, key);
        if found.is_null() { None } else { usize::try_from(ffi::PyLong_AsSsize_t(found)).ok() }
    }
}

/// `len(record)`.
pub(super) unsafe extern "C" fn length(record: Object) -> ffi::Py_ssize_t {
    // SAFETY: the interpreter calls this with a record.
    unsafe { ffi::Py_SIZE(record) }
}

/// The value at an index that counts from the beginning.
pub(super) unsafe extern "C" fn item(record: Object, index: ffi::Py_ssize_t) -> Object {
    // SAFETY: the interpreter calls this with a record, whose values are alive.
    unsafe {
        let value = usize::try_from(index).ok().and_then(|index| values(record).get(index));
        match value {
            Some(value) => ffi::Py_NewRef(*value),
            None => out_of_range(),
        }
    }
}

// Errors are set by the interpreter's own functions: PyO3 does not know here that the interpreter
// is attached, and would defer releasing references until the next call that it knows of.

unsafe fn out_of_range() -> Object {
    // SAFETY: called by the interpreter.
    unsafe {
        ffi::PyErr_SetString(ffi::PyExc_IndexError, c"record index out of range".as_ptr());
    }
    ptr::null_mut()
}

/// `KeyError(key)`, as a mapping raises it, with a note that lists the names.
unsafe fn no_such_key(record: Object, key: Object) -> Object {
    // SAFETY: by the caller's contract the record and the key are alive, and so are the record's
    // names; references made here are released here.
    unsafe {
        let error = ffi::PyObject_CallFunctionObjArgs(
            ffi::PyExc_KeyError,
            key,
            ptr::null_mut::<ffi::PyObject>(),
        );
        if error.is_null() {
            return error;
        }
        if note_names(record, error) {
            ffi::PyErr_SetObject(ffi::PyExc_KeyError, error);
        }
        ffi::Py_DECREF(error);
    }
    ptr::null_mut()
}

/// Adds a note with a record's names to an exception; returns false with another exception set.
unsafe fn note_names(record: Object, error: Object) -> bool {
    // SAFETY: by the caller's contract both are alive, and so are the record's names.
    unsafe {
        let comma = ffi::PyUnicode_FromString(c", ".as_ptr());
        if comma.is_null() {
            return false;
        }
        let listed = ffi::PyUnicode_Join(comma, names(record).names.as_ptr());
        ffi::Py_DECREF(comma);
        if listed.is_null() {
            return false;
        }
        let note = ffi::PyUnicode_FromFormat(c"the record has: %U".as_ptr(), listed);
        ffi::Py_DECREF(listed);
        if note.is_null() {
            return false;
        }
        let method = ffi::PyUnicode_FromString(c"add_note".as_ptr());
        let added = if method.is_null() {
            ptr::null_mut()
        } else {
            let none = ptr::null_mut::<ffi::PyObject>();
            ffi::PyObject_CallMethodObjArgs(error, method, note, none)
        };
        ffi::Py_XDECREF(method);
        ffi::Py_DECREF(note);
        ffi::Py_XDECREF(added);
        !added.is_null()
    }
}

/// `record[key]`.
pub(super) unsafe extern "C" fn subscript(record: Object, key: Object) -> Object {
    // SAFETY: the interpreter calls this with a record and any object, both alive.
    unsafe {
        if let Some(position) = position(record, key) {
            return item(record, position as ffi::Py_ssize_t);
        }
        if !ffi::PyErr_Occurred().is_null() {
            return ptr::null_mut();
        }
        if ffi::PyIndex_Check(key) != 0 {
            let index = ffi::PyNumber_AsSsize_t(key, ffi::PyExc_IndexError);
            if index == -1 && !ffi::PyErr_Occurred().is_null() {
                return ptr::null_mut();
            }
            let index = if index < 0 { index + ffi::Py_SIZE(record) } else { index };
            return item(record, index);
        }
        if ffi::PySlice_Check(key) != 0 {
            return slice(record, key);
        }
        no_such_key(record, key)
    }
}

unsafe fn slice(record: Object, key: Object) -> Object {
    let (mut start, mut stop, mut step) = (0, 0, 0);
    // SAFETY: the key is a slice; the adjusted positions are those of values.
    unsafe {
        if ffi::PySlice_Unpack(key, &raw mut start, &raw mut stop, &raw mut step) < 0 {
            return ptr::null_mut();
        }
        let len = ffi::Py_SIZE(record);
        let count = ffi::PySlice_AdjustIndices(len, &raw mut start, &raw mut stop, step);
        let values = values(record);
        let at = |place: usize| start + place as ffi::Py_ssize_t * step;
        let chosen = (0..count.unsigned_abs())
            .map(|place| usize::try_from(at(place)).ok().and_then(|at| values.get(at)));
        tuple_of(chosen.map(|value| value.copied().unwrap_or_else(|| ffi::Py_None())))
    }
}

/// `key in record`: whether a column has this name.
pub(super) unsafe extern "C" fn contains(record: Object, key: Object) -> c_int {
    // SAFETY: the interpreter calls this with a record and any object.
    unsafe {
        match position(record, key) {
            Some(_) => 1,
            None if ffi::PyErr_Occurred().is_null() => 0,
            None => -1,
        }
    }
}

/// `iter(record)`: over the values.
pub(super) unsafe extern "C" fn iterate(record: Object) -> Object {
    // SAFETY: the interpreter calls this with a record.
    unsafe { iterators::values_of(record) }
}

/// `hash(record)`: that of the tuple.
pub(super) unsafe extern "C" fn hash(record: Object) -> ffi::Py_hash_t {
    // SAFETY: the interpreter calls this with a record.
    unsafe {
        let tuple = tuple_of(values(record).iter().copied());
        if tuple.is_null() {
            return -1;
        }
        let hash = ffi::PyObject_Hash(tuple);
        ffi::Py_DECREF(tuple);
        hash
    }
}

/// The values of a record or a tuple; None for other objects.
unsafe fn compared<'a>(object: Object) -> Option<&'a [Object]> {
    // SAFETY: the object is alive; a tuple has as many items as its size says, none of them null.
    unsafe {
        if ffi::PyTuple_Check(object) != 0 {
            let items = (&raw const (*object.cast::<ffi::PyTupleObject>()).ob_item).cast();
            let len = ffi::Py_SIZE(object).unsigned_abs();
            return Some(std::slice::from_raw_parts(items, len));
        }
        let record = record_type(Python::assume_attached()).ok()?.as_type_ptr();
        (ffi::PyObject_TypeCheck(object, record) != 0).then(|| values(object))
    }
}

/// Compares records with records and tuples, as tuples compare.
pub(super) unsafe extern "C" fn compare(left: Object, right: Object, operator: c_int) -> Object {
    // SAFETY: the interpreter calls this with a record on one side and any object on the other.
    // Tuples and records hold the objects of both sides, and never change.
    unsafe {
        let (Some(ours), Some(theirs)) = (compared(left), compared(right)) else {
            return ffi::Py_NewRef(ffi::Py_NotImplemented());
        };
        if matches!(operator, ffi::Py_EQ | ffi::Py_NE) && ours.len() != theirs.len() {
            return ffi::PyBool_FromLong((operator == ffi::Py_NE).into());
        }
        for (one, other) in ours.iter().zip(theirs) {
            match ffi::PyObject_RichCompareBool(*one, *other, ffi::Py_EQ) {
                0 if operator == ffi::Py_EQ => return ffi::PyBool_FromLong(0),
                0 if operator == ffi::Py_NE => return ffi::PyBool_FromLong(1),
                0 => return ffi::PyObject_RichCompare(*one, *other, operator),
                1 => {}
                _ => return ptr::null_mut(),
            }
        }
        let order = ours.len().cmp(&theirs.len());
        let answer = match operator {
            ffi::Py_EQ => order.is_eq(),
            ffi::Py_NE => order.is_ne(),
            ffi::Py_LT => order.is_lt(),
            ffi::Py_LE => order.is_le(),
            ffi::Py_GT => order.is_gt(),
            _ => order.is_ge(),
        };
        ffi::PyBool_FromLong(answer.into())
    }
}

/// `repr(record)`.
pub(super) unsafe extern "C" fn repr(record: Object) -> Object {
    // SAFETY: the interpreter calls this with a record.
    let (py, record) = unsafe {
        let py = Python::assume_attached();
        (py, Bound::from_borrowed_ptr(py, record))
    };
    given(
        py,
        text(&record)
            .map(|text| text.into_pyobject(py).map(Bound::into_any))
            .and_then(|made| made.map_err(PyErr::from)),
    )
}

fn text(record: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = record.py();
    let mut text = format!("<{}", record.get_type().name()?);
    // SAFETY: the caller holds the record.
    let (shared, values) = unsafe { (names(record.as_ptr()), values(record.as_ptr())) };
    for (name, value) in shared.names.bind(py).iter().zip(values) {
        // SAFETY: the record holds the value.
        let value = unsafe { Bound::from_borrowed_ptr(py, *value) };
        text.push(' ');
        text.push_str(&name.str()?.to_string_lossy());
        text.push('=');
        text.push_str(&value.repr()?.to_string_lossy());
    }
    text.push('>');
    Ok(text)
}
