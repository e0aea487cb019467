//! The methods of a record, and those of its iterators.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::iterators;
use super::layout::{names, values};
use super::protocols::{given, position, tuple_of};

type Object = *mut ffi::PyObject;

/// A table for the interpreter: at a fixed address, and behind a mutable pointer.
struct Table<const N: usize>(UnsafeCell<[ffi::PyMethodDef; N]>);

// SAFETY: the interpreter only reads the tables, and nothing else accesses them.
unsafe impl<const N: usize> Sync for Table<N> {}

static RECORD: Table<6> = Table(UnsafeCell::new([
    ffi::PyMethodDef {
        ml_name: c"get".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFast: get },
        ml_flags: ffi::METH_FASTCALL,
        ml_doc: c"get($self, name, default=None, /)\n--\n\n\
            The value of a column, or `default` if there is no such column."
            .as_ptr(),
    },
    without_arguments(
        c"keys".as_ptr(),
        keys,
        c"keys($self, /)\n--\n\nAn iterator over the names of the columns, in order.".as_ptr(),
    ),
    without_arguments(
        c"values".as_ptr(),
        values_iterator,
        c"values($self, /)\n--\n\nAn iterator over the values, in order.".as_ptr(),
    ),
    without_arguments(
        c"items".as_ptr(),
        items,
        c"items($self, /)\n--\n\nAn iterator over pairs of name and value, in order.".as_ptr(),
    ),
    without_arguments(c"__reduce__".as_ptr(), reduce, ptr::null()),
    END,
]));

static ITERATOR: Table<2> = Table(UnsafeCell::new([
    without_arguments(c"__length_hint__".as_ptr(), iterators::length_hint, ptr::null()),
    END,
]));

const END: ffi::PyMethodDef = ffi::PyMethodDef::zeroed();

const fn without_arguments(
    name: *const std::ffi::c_char,
    method: ffi::PyCFunction,
    doc: *const std::ffi::c_char,
) -> ffi::PyMethodDef {
    let ml_meth = ffi::PyMethodDefPointer { PyCFunction: method };
    ffi::PyMethodDef { ml_name: name, ml_meth, ml_flags: ffi::METH_NOARGS, ml_doc: doc }
}

/// The methods of a record.
pub(super) fn table() -> *mut c_void {
    RECORD.0.get().cast()
}

/// The methods of an iterator.
pub(super) fn iterator_table() -> *mut c_void {
    ITERATOR.0.get().cast()
}

unsafe extern "C" fn get(record: Object, arguments: *mut Object, count: ffi::Py_ssize_t) -> Object {
    // SAFETY: the interpreter calls this with a live record and `count` live arguments.
    unsafe {
        if !(1..=2).contains(&count) {
            let told = c"Record.get() expected 1 or 2 arguments, got %zd".as_ptr();
            return ffi::PyErr_Format(ffi::PyExc_TypeError, told, count);
        }
        let found = position(record, *arguments).and_then(|position| values(record).get(position));
        match found {
            Some(value) => ffi::Py_NewRef(*value),
            None if !ffi::PyErr_Occurred().is_null() => ptr::null_mut(),
            None if count == 2 => ffi::Py_NewRef(*arguments.add(1)),
            None => ffi::Py_NewRef(ffi::Py_None()),
        }
    }
}

unsafe extern "C" fn keys(record: Object, _: Object) -> Object {
    // SAFETY: the interpreter calls this with a record, which holds its names.
    unsafe { ffi::PyObject_GetIter(names(record).names.as_ptr()) }
}

unsafe extern "C" fn values_iterator(record: Object, _: Object) -> Object {
    // SAFETY: the interpreter calls this with a record.
    unsafe { iterators::values_of(record) }
}

unsafe extern "C" fn items(record: Object, _: Object) -> Object {
    // SAFETY: the interpreter calls this with a record.
    unsafe { iterators::items_of(record) }
}

/// The reduced form for pickle and copy: class, names, values, and a subclass's `__dict__`.
unsafe extern "C" fn reduce(record: Object, _: Object) -> Object {
    // SAFETY: the interpreter calls this with a record, whose values are alive.
    unsafe {
        let py = Python::assume_attached();
        let values = tuple_of(values(record).iter().copied());
        let made = Bound::from_owned_ptr_or_err(py, values).and_then(|values| {
            let record = Bound::from_borrowed_ptr(py, record);
            let restore = py.import(intern!(py, "colonnade._core"))?.getattr("restore_record")?;
            let names = names(record.as_ptr()).names.bind(py);
            let parts = (record.get_type(), names, values);
            let state = record.getattr_opt(intern!(py, "__dict__"))?;
            let state = state.filter(|state| state.cast::<PyDict>().is_ok_and(|d| !d.is_empty()));
            Ok((restore, parts, state).into_pyobject(py)?.into_any())
        });
        given(py, made)
    }
}
