//! Iterators over a record: its values, or pairs of name and value.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use super::class::make_type;
use super::layout::{names, values};
use super::protocols::tuple_of;

type Object = *mut ffi::PyObject;

/// An iterator of either class.
#[repr(C)]
struct RawIterator {
    base: ffi::PyObject,
    /// An owned reference.
    record: Object,
    /// The number of values returned so far; atomic, because threads may share an iterator.
    position: AtomicUsize,
}

/// Over the values of a record.
///
/// # Safety
/// A pointer to a live record.
pub(super) unsafe fn values_of(record: Object) -> Object {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let make = |py| make_iterator(py, c"colonnade._core.RecordIterator", next_value);
    // SAFETY: by the function's contract.
    unsafe { iterator_of(record, &CLASS, make) }
}

/// Over pairs of name and value.
///
/// # Safety
/// As for [`values_of`].
pub(super) unsafe fn items_of(record: Object) -> Object {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let make = |py| make_iterator(py, c"colonnade._core.RecordItemsIterator", next_item);
    // SAFETY: by the function's contract.
    unsafe { iterator_of(record, &CLASS, make) }
}

unsafe fn iterator_of(
    record: Object,
    class: &'static PyOnceLock<Py<PyType>>,
    make: impl FnOnce(Python<'static>) -> PyResult<Py<PyType>>,
) -> Object {
    // SAFETY: the record is alive; the new object is of the class, and its fields are written
    // before any other code sees it.
    unsafe {
        let py = Python::assume_attached();
        let class = match class.get_or_try_init(py, || make(py)) {
            Ok(class) => class.as_ptr().cast(),
            Err(error) => {
                error.restore(py);
                return ptr::null_mut();
            }
        };
        let made = ffi::PyObject_GC_New::<RawIterator>(class);
        if made.is_null() {
            return ptr::null_mut();
        }
        (&raw mut (*made).record).write(ffi::Py_NewRef(record));
        (&raw mut (*made).position).write(AtomicUsize::new(0));
        ffi::PyObject_GC_Track(made.cast());
        made.cast()
    }
}

fn make_iterator(
    py: Python<'_>,
    name: &'static std::ffi::CStr,
    next: ffi::iternextfunc,
) -> PyResult<Py<PyType>> {
    let flags = ffi::Py_TPFLAGS_DEFAULT
        | ffi::Py_TPFLAGS_HAVE_GC
        | ffi::Py_TPFLAGS_IMMUTABLETYPE
        | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION;
    let slot = |slot, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_dealloc, dealloc as ffi::destructor as *mut c_void),
        slot(ffi::Py_tp_traverse, traverse as ffi::traverseproc as *mut c_void),
        slot(ffi::Py_tp_iter, ffi::PyObject_SelfIter as ffi::getiterfunc as *mut c_void),
        slot(ffi::Py_tp_iternext, next as *mut c_void),
        slot(ffi::Py_tp_methods, super::methods::iterator_table().cast()),
        slot(0, ptr::null_mut()),
    ];
    make_type(py, name, [size_of::<RawIterator>(), 0], flags, &mut slots)
}

/// The next position, if there is one. Without the GIL, two threads may get the same one, as from
/// the iterator of a tuple.
unsafe fn advance(iterator: Object) -> Option<(Object, usize)> {
    // SAFETY: the interpreter calls this with a live iterator, whose record never changes.
    unsafe {
        let raw = iterator.cast::<RawIterator>();
        let (record, next) = ((*raw).record, &(*raw).position);
        let position = next.load(Ordering::Relaxed);
        if position >= ffi::Py_SIZE(record).unsigned_abs() {
            return None;
        }
        next.store(position + 1, Ordering::Relaxed);
        Some((record, position))
    }
}

unsafe extern "C" fn next_value(iterator: Object) -> Object {
    // SAFETY: as for `advance`; the value is held by the record, which the iterator holds.
    unsafe {
        let next = advance(iterator);
        let value = next.and_then(|(record, position)| values(record).get(position));
        value.map_or(ptr::null_mut(), |value| ffi::Py_NewRef(*value))
    }
}

unsafe extern "C" fn next_item(iterator: Object) -> Object {
    // SAFETY: as for `next_value`; there is a name for each value.
    unsafe {
        let Some((record, position)) = advance(iterator) else { return ptr::null_mut() };
        let name = ffi::PyTuple_GetItem(names(record).names.as_ptr(), position as ffi::Py_ssize_t);
        match values(record).get(position) {
            Some(value) if !name.is_null() => tuple_of([name, *value].into_iter()),
            _ => ptr::null_mut(),
        }
    }
}

/// `operator.length_hint(iterator)`.
pub(super) unsafe extern "C" fn length_hint(iterator: Object, _: Object) -> Object {
    // SAFETY: the interpreter calls this with an iterator.
    unsafe {
        let raw = iterator.cast::<RawIterator>();
        let len = ffi::Py_SIZE((*raw).record).unsigned_abs();
        ffi::PyLong_FromSize_t(len.saturating_sub((*raw).position.load(Ordering::Relaxed)))
    }
}

unsafe extern "C" fn traverse(
    iterator: Object,
    visit: ffi::visitproc,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the iterator is alive during the call.
    unsafe {
        let answer = visit(ffi::Py_TYPE(iterator).cast(), argument);
        if answer != 0 { answer } else { visit((*iterator.cast::<RawIterator>()).record, argument) }
    }
}

unsafe extern "C" fn dealloc(iterator: Object) {
    // SAFETY: no reference to the iterator remains; it owns its record and its type.
    unsafe {
        ffi::PyObject_GC_UnTrack(iterator.cast());
        ffi::Py_DECREF((*iterator.cast::<RawIterator>()).record);
        let class = ffi::Py_TYPE(iterator);
        ffi::PyObject_GC_Del(iterator.cast());
        ffi::Py_DECREF(class.cast());
    }
}
