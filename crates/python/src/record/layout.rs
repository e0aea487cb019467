//! A record's layout in memory, its creation and its destruction.
//!
//! A `Record` of atomic values has no garbage-collector header, just as a number or a string has
//! none. It is not counted as a new object, so millions of rows do not trigger garbage collection,
//! and it is 16 bytes smaller. All other records have the header.

use std::cell::{Cell, RefCell};
use std::mem::offset_of;
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;

use super::class::{RecordClass, RowClass, is_record_itself};
use super::names::RecordNames;

/// Nested records are destroyed on the stack down to this depth, and then one by one.
const DEPTH_MAX: usize = 50;

/// The head of a record, followed by `ob_size` pointers to values and by a subclass's own fields.
#[repr(C)]
pub(super) struct RawRecord {
    base: ffi::PyVarObject,
    /// A [`RecordNames`] with a name for each value, owned.
    names: *mut ffi::PyObject,
    /// Owned references, or null until the record is finished.
    values: [*mut ffi::PyObject; 0],
}

/// The names of a record's values.
///
/// # Safety
/// A pointer to a record that lives as long as the reference is used.
pub(super) unsafe fn names<'a>(record: *mut ffi::PyObject) -> &'a RecordNames {
    // SAFETY: by the function's contract a record; every record has names of this class from its
    // creation until its destruction.
    unsafe { names_of_pointer(&raw const (*record.cast::<RawRecord>()).names) }
}

/// # Safety
/// The address of a pointer to a [`RecordNames`], which lives as long as the reference is used.
unsafe fn names_of_pointer<'a>(names: *const *mut ffi::PyObject) -> &'a RecordNames {
    // SAFETY: by the function's contract.
    unsafe {
        let py = Python::assume_attached();
        &*ptr::from_ref((*names.cast::<Py<RecordNames>>()).bind(py).get())
    }
}

/// The values of a record; an unfinished one has null pointers among them.
///
/// # Safety
/// As for [`names`].
pub(super) unsafe fn values<'a>(record: *mut ffi::PyObject) -> &'a [*mut ffi::PyObject] {
    // SAFETY: by the function's contract a record; it was allocated with room for `ob_size`
    // pointers, all written when it was made.
    unsafe {
        let values = (&raw const (*record.cast::<RawRecord>()).values).cast();
        std::slice::from_raw_parts(values, ffi::Py_SIZE(record).unsigned_abs())
    }
}

/// Whether an object can hold references and so be part of a cycle.
pub(super) fn can_hold_others(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object is alive.
    unsafe { ffi::PyObject_IS_GC(object.as_ptr()) != 0 }
}

/// Whether the garbage collector must know the records of a class with these names.
pub(super) fn is_tracked(class: &RecordClass, names: &RecordNames) -> bool {
    class.adds_a_dict() || !names.is_atomic
}

/// Whether a record has a garbage-collector header.
///
/// # Safety
/// As for [`names`].
unsafe fn has_collector_header(record: *mut ffi::PyObject) -> bool {
    // SAFETY: by the function's contract. A record keeps the class it was made with: `Record` is an
    // immutable type, so `__class__` of its instances cannot be assigned.
    unsafe {
        let py = Python::assume_attached();
        !is_record_itself(py, ffi::Py_TYPE(record)) || !names(record).is_atomic
    }
}

/// `tp_is_gc`: called by the interpreter before it reads the garbage-collector header.
///
/// # Safety
/// Called by the interpreter only, with a record.
pub(super) unsafe extern "C" fn is_gc(record: *mut ffi::PyObject) -> std::ffi::c_int {
    // SAFETY: the record is alive during the call.
    unsafe { has_collector_header(record).into() }
}

/// The offset of a row's values, in bytes.
pub(super) fn values_offset(class: &RowClass) -> usize {
    match class {
        RowClass::Record(_) => offset_of!(RawRecord, values),
        RowClass::Tuple => offset_of!(ffi::PyTupleObject, ob_item),
    }
}

/// A new untracked tuple of `len` null pointers, at least one. Null with an exception if memory is
/// exhausted.
///
/// # Safety
/// The interpreter must be attached.
#[inline]
pub(super) unsafe fn allocate_tuple(len: usize) -> *mut ffi::PyObject {
    // SAFETY: by the function's contract; a tuple of one value or more is a new object, tracked
    // from the beginning, with no other reference.
    unsafe {
        let tuple = ffi::PyTuple_New(len as ffi::Py_ssize_t);
        if !tuple.is_null() {
            ffi::PyObject_GC_UnTrack(tuple.cast());
        }
        tuple
    }
}

/// A new untracked record without values; null with an exception if memory is exhausted.
///
/// # Safety
/// `names` is a [`RecordNames`] of `len` names.
#[inline]
pub(super) unsafe fn allocate(
    class: &RecordClass,
    names: *mut ffi::PyObject,
    len: usize,
) -> *mut ffi::PyObject {
    // A tuple holds the names, so their number fits.
    let size = len as ffi::Py_ssize_t;
    // SAFETY: the class is `Record` or, as `RecordClass` has checked, a subclass that makes its
    // instances in the same way. A `Record` is just its head and its values, so uninitialized
    // memory will do, because each of them is written below. A subclass's own fields are set to
    // null by `PyType_GenericAlloc`, which also tracks the object. `has_collector_header` agrees
    // with both cases.
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

/// The address of a record's values.
///
/// # Safety
/// A pointer to a record.
#[inline]
pub(super) unsafe fn places(record: *mut ffi::PyObject) -> *mut *mut ffi::PyObject {
    // SAFETY: by the function's contract.
    unsafe { (&raw mut (*record.cast::<RawRecord>()).values).cast() }
}

/// A record being filled. No other code sees it before it is finished, not even the garbage
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
        // SAFETY: the names belong to the given object.
        let record = unsafe {
            let record = allocate(class, names.as_ptr(), shared.len(py));
            Bound::from_owned_ptr_or_err(py, record)?
        };
        Ok(Self { record, filled: 0, is_tracked: is_tracked(class, shared) })
    }

    /// Adds the next value. Excess values are dropped.
    pub(crate) fn push(&mut self, value: Py<PyAny>) {
        let record = self.record.as_ptr();
        // SAFETY: no other code has seen the record, and the slot is one of its `ob_size`; it holds
        // a null pointer, because each slot is filled once.
        unsafe {
            if self.filled < ffi::Py_SIZE(record).unsigned_abs() {
                places(record).add(self.filled).write(value.into_ptr());
                self.filled += 1;
            }
        }
    }

    /// The finished record. Missing values become None.
    pub(crate) fn finish(mut self) -> Bound<'py, PyAny> {
        let py = self.record.py();
        // SAFETY: the record is alive.
        let len = unsafe { values(self.record.as_ptr()) }.len();
        while self.filled < len {
            self.push(py.None());
        }
        if self.is_tracked {
            // SAFETY: the record's type has garbage collection, and the record is complete and not
            // tracked yet.
            unsafe { ffi::PyObject_GC_Track(self.record.as_ptr().cast()) };
        }
        self.record
    }
}

/// `tp_traverse`: visits a record's references.
///
/// # Safety
/// Called by the interpreter only, with a record.
pub(super) unsafe extern "C" fn traverse(
    record: *mut ffi::PyObject,
    visit: ffi::visitproc,
    argument: *mut std::ffi::c_void,
) -> std::ffi::c_int {
    // SAFETY: the record is alive during the call, and `visit` accepts any non-null object. The
    // names need no visit: they hold only strings and numbers.
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
    /// The current depth of nested destruction.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Records nested too deep to be destroyed on the same stack.
    static LATER: RefCell<Vec<*mut ffi::PyObject>> = const { RefCell::new(Vec::new()) };
}

/// `tp_dealloc`.
///
/// # Safety
/// Called by the interpreter only, with a record that has no more references.
pub(super) unsafe extern "C" fn dealloc(record: *mut ffi::PyObject) {
    // SAFETY: the record has no more references; untracking an untracked object does nothing. Once
    // its values are released, nothing reads it.
    unsafe {
        if has_collector_header(record) {
            ffi::PyObject_GC_UnTrack(record.cast());
        }
        if names(record).is_atomic {
            return destroy(record);
        }
        let depth = DEPTH.get();
        // The list may already be gone in a thread that is ending.
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

/// Releases a record's values and then its memory.
///
/// # Safety
/// An untracked record that has no more references.
unsafe fn destroy(record: *mut ffi::PyObject) {
    // SAFETY: each pointer is owned by the record or null; it is read once and not used again. The
    // type's `tp_free` starts at the garbage-collector header, if there is one. Instances of a heap
    // type hold a reference to it, which the base class releases for all subclasses.
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

/// The size of a record without values.
pub(super) const HEAD_BYTES: usize = size_of::<RawRecord>();
/// The size of one value.
pub(super) const VALUE_BYTES: usize = size_of::<*mut ffi::PyObject>();
