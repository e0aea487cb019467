//! How a record lies in memory, how it comes to be, and how it goes.
//!
//! A `Record` of atomic values has no header for the garbage collector in front of it, as a number
//! or a text has none: it is not counted as a new object, so that millions of rows do not set off
//! the collector's passes, and costs 16 bytes less. All other records have one.

use std::cell::{Cell, RefCell};
use std::mem::offset_of;
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;

use super::class::{RecordClass, RowClass, is_record_itself};
use super::names::RecordNames;

/// Records within records are destroyed on the stack down to this depth, and then one by one.
const DEPTH_MAX: usize = 50;

/// The head of a record; as many pointers to values follow as `ob_size` says, and behind them what
/// a subclass adds.
#[repr(C)]
pub(super) struct RawRecord {
    base: ffi::PyVarObject,
    /// A [`RecordNames`] with a name for each value, owned.
    names: *mut ffi::PyObject,
    /// Each owned, or null as long as the record is not finished.
    values: [*mut ffi::PyObject; 0],
}

/// The names of a record's values.
///
/// # Safety
/// A pointer to a record that lives as long as the reference is used.
pub(super) unsafe fn names<'a>(record: *mut ffi::PyObject) -> &'a RecordNames {
    // SAFETY: by the function's own condition a record; every record has names of this class from
    // the moment it is made, which only its destruction takes away.
    unsafe { names_of_pointer(&raw const (*record.cast::<RawRecord>()).names) }
}

/// # Safety
/// Where a pointer to a [`RecordNames`] lies that lives as long as the reference is used.
unsafe fn names_of_pointer<'a>(names: *const *mut ffi::PyObject) -> &'a RecordNames {
    // SAFETY: by the function's own condition.
    unsafe {
        let py = Python::assume_attached();
        &*ptr::from_ref((*names.cast::<Py<RecordNames>>()).bind(py).get())
    }
}

/// The values of a record; one that is not finished has null pointers among them.
///
/// # Safety
/// As for [`names`].
pub(super) unsafe fn values<'a>(record: *mut ffi::PyObject) -> &'a [*mut ffi::PyObject] {
    // SAFETY: by the function's own condition a record; it was allocated with room for `ob_size`
    // pointers, all of which were written when it was made.
    unsafe {
        let values = (&raw const (*record.cast::<RawRecord>()).values).cast();
        std::slice::from_raw_parts(values, ffi::Py_SIZE(record).unsigned_abs())
    }
}

/// Whether an object can hold others, so that it may be part of a cycle.
pub(super) fn can_hold_others(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object is alive.
    unsafe { ffi::PyObject_IS_GC(object.as_ptr()) != 0 }
}

/// Whether the garbage collector has to know the records of a class with these names.
pub(super) fn is_tracked(class: &RecordClass, names: &RecordNames) -> bool {
    class.adds_a_dict() || !names.is_atomic
}

/// Whether the collector's header is in front of a record.
///
/// # Safety
/// As for [`names`].
unsafe fn has_collector_header(record: *mut ffi::PyObject) -> bool {
    // SAFETY: by the function's own condition. A record stays what it was made as: `Record` is an
    // immutable type, whose instances' class nobody can change.
    unsafe {
        let py = Python::assume_attached();
        !is_record_itself(py, ffi::Py_TYPE(record)) || !names(record).is_atomic
    }
}

/// `tp_is_gc`: what the interpreter asks before it looks at the collector's header.
///
/// # Safety
/// Called by the interpreter only, with a record.
pub(super) unsafe extern "C" fn is_gc(record: *mut ffi::PyObject) -> std::ffi::c_int {
    // SAFETY: the record is alive during the call.
    unsafe { has_collector_header(record).into() }
}

/// How far behind the beginning of a row its values lie.
pub(super) fn values_offset(class: &RowClass) -> usize {
    match class {
        RowClass::Record(_) => offset_of!(RawRecord, values),
        RowClass::Tuple => offset_of!(ffi::PyTupleObject, ob_item),
    }
}

/// A new tuple of so many values, at least one, all of them null pointers; not tracked. Null with
/// an exception where there is no memory.
///
/// # Safety
/// The interpreter is held.
#[inline]
pub(super) unsafe fn allocate_tuple(len: usize) -> *mut ffi::PyObject {
    // SAFETY: by the function's own condition; a tuple of one value or more is a new one, tracked
    // from the beginning, that nobody else has.
    unsafe {
        let tuple = ffi::PyTuple_New(len as ffi::Py_ssize_t);
        if !tuple.is_null() {
            ffi::PyObject_GC_UnTrack(tuple.cast());
        }
        tuple
    }
}

/// A new record without values, not tracked; null with an exception where there is no memory.
///
/// # Safety
/// `names` is a [`RecordNames`] of `len` names.
#[inline]
pub(super) unsafe fn allocate(
    class: &RecordClass,
    names: *mut ffi::PyObject,
    len: usize,
) -> *mut ffi::PyObject {
    // No more than the names of a tuple.
    let size = len as ffi::Py_ssize_t;
    // SAFETY: the class is `Record` or, as `RecordClass` has checked, a subclass that adds nothing
    // to how its instances are made. `Record` alone has no more than its head and its values, so
    // that memory as it comes will do, once each of them is written below; what a subclass adds is
    // made null by `PyType_GenericAlloc`, which also tracks the object. `has_collector_header`
    // says of each what is done here.
    unsafe {
        let record = if !class.is_record_itself() {
            let made = ffi::PyType_GenericAlloc(class.as_ptr(), size);
            if !made.is_null() {
                ffi::PyObject_GC_UnTrack(made.cast());
            }
            made
        } else if names_of_pointer(&raw const names).is_atomic {
            ffi::PyObject_NewVar::<ffi::PyObject>(class.as_ptr(), size)
        } else {
            ffi::PyObject_GC_NewVar::<ffi::PyObject>(class.as_ptr(), size)
        };
        if !record.is_null() {
            ffi::Py_INCREF(names);
            (&raw mut (*record.cast::<RawRecord>()).names).write(names);
            places(record).write_bytes(0, len);
        }
        record
    }
}

/// Where the values of a record lie.
///
/// # Safety
/// A pointer to a record.
#[inline]
pub(super) unsafe fn places(record: *mut ffi::PyObject) -> *mut *mut ffi::PyObject {
    // SAFETY: by the function's own condition.
    unsafe { (&raw mut (*record.cast::<RawRecord>()).values).cast() }
}

/// A record that gets its values. Nobody sees it before it is finished, not even the garbage
/// collector.
pub(crate) struct UnfinishedRecord<'py> {
    record: Bound<'py, PyAny>,
    filled: usize,
    is_tracked: bool,
}

impl<'py> UnfinishedRecord<'py> {
    pub(crate) fn new(
        py: Python<'py>,
        class: &RecordClass,
        names: &Py<RecordNames>,
    ) -> PyResult<Self> {
        let shared = names.bind(py).get();
        // SAFETY: the names are those of the given object.
        let record = unsafe {
            let record = allocate(class, names.as_ptr(), shared.len(py));
            Bound::from_owned_ptr_or_err(py, record)?
        };
        Ok(Self { record, filled: 0, is_tracked: is_tracked(class, shared) })
    }

    /// The next value. What there is no place for is dropped.
    pub(crate) fn push(&mut self, value: Py<PyAny>) {
        let record = self.record.as_ptr();
        // SAFETY: nobody else has seen the record, and the place is one of its `ob_size`; it holds
        // a null pointer, since each is filled once.
        unsafe {
            if self.filled < ffi::Py_SIZE(record).unsigned_abs() {
                places(record).add(self.filled).write(value.into_ptr());
                self.filled += 1;
            }
        }
    }

    /// The record. Places that got no value have None.
    pub(crate) fn finish(mut self) -> Bound<'py, PyAny> {
        let py = self.record.py();
        // SAFETY: the record is alive.
        let len = unsafe { values(self.record.as_ptr()) }.len();
        while self.filled < len {
            self.push(py.None());
        }
        if self.is_tracked {
            // SAFETY: of a type with garbage collection, not tracked yet, and whole.
            unsafe { ffi::PyObject_GC_Track(self.record.as_ptr().cast()) };
        }
        self.record
    }
}

/// `tp_traverse`: what a record holds.
///
/// # Safety
/// Called by the interpreter only, with a record.
pub(super) unsafe extern "C" fn traverse(
    record: *mut ffi::PyObject,
    visit: ffi::visitproc,
    argument: *mut std::ffi::c_void,
) -> std::ffi::c_int {
    // SAFETY: the record is alive during the call, and `visit` takes what is not null. The names
    // need no visit: they hold nothing but strings and numbers.
    unsafe {
        let class = ffi::Py_TYPE(record).cast();
        let held = values(record).iter().copied().filter(|value| !value.is_null());
        for object in std::iter::once(class).chain(held) {
            let answer = visit(object, argument);
            if answer != 0 {
                return answer;
            }
        }
    }
    0
}

thread_local! {
    /// How many records are being destroyed, one because of the other.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Records too deep within others to be destroyed on the same stack.
    static LATER: RefCell<Vec<*mut ffi::PyObject>> = const { RefCell::new(Vec::new()) };
}

/// `tp_dealloc`.
///
/// # Safety
/// Called by the interpreter only, with a record that nobody holds any more.
pub(super) unsafe extern "C" fn dealloc(record: *mut ffi::PyObject) {
    // SAFETY: the record is nobody's any more; to untrack one that is not tracked does nothing.
    // Once its values are gone nobody reads it.
    unsafe {
        if has_collector_header(record) {
            ffi::PyObject_GC_UnTrack(record.cast());
        }
        if names(record).is_atomic {
            return destroy(record);
        }
        let depth = DEPTH.get();
        // A thread that ends may have no such list any more.
        if depth >= DEPTH_MAX && LATER.try_with(|later| later.borrow_mut().push(record)).is_ok() {
            return;
        }
        DEPTH.set(depth + 1);
        destroy(record);
        if depth == 0 {
            while let Ok(Some(record)) = LATER.try_with(|later| later.borrow_mut().pop()) {
                destroy(record);
            }
        }
        DEPTH.set(depth);
    }
}

/// Lets go of a record's values and then of its memory.
///
/// # Safety
/// A record that nobody holds any more and that is not tracked.
unsafe fn destroy(record: *mut ffi::PyObject) {
    // SAFETY: each pointer is owned by the record or null; it is read once and not used again.
    // The type's `tp_free` begins at the collector's header, where there is one. Instances of a
    // type from the heap hold it, and the base class lets go of it for all.
    unsafe {
        for value in values(record) {
            ffi::Py_XDECREF(*value);
        }
        let class = ffi::Py_TYPE(record);
        let has_header = has_collector_header(record);
        let free = if has_header { (*class).tp_free } else { Some(ffi::PyObject_Free as _) };
        ffi::Py_DECREF((*record.cast::<RawRecord>()).names);
        if let Some(free) = free {
            free(record.cast());
        }
        ffi::Py_DECREF(class.cast());
    }
}

/// Bytes of a record without values.
pub(super) const HEAD_BYTES: usize = size_of::<RawRecord>();
/// Bytes of one value.
pub(super) const VALUE_BYTES: usize = size_of::<*mut ffi::PyObject>();
