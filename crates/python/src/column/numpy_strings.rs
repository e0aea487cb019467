//! Text as NumPy's variable-width strings (`StringDType`), filled from the column's bytes without
//! making Python strings.
//!
//! The strings of such an array are accessible only through NumPy's C interface, a table of
//! function pointers in a capsule. All `unsafe` in this file is calling it. The indices in the
//! table are part of NumPy's binary interface since 2.0, the first version with the type.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

use arrow_array::cast::AsArray;
use arrow_array::{Array, StringArrayType};
use arrow_schema::DataType;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

/// Bytes from one string of an array to the next.
const STRIDE: usize = 16;

/// `NpyString_pack`: copies the bytes, which must be UTF-8, into a string of an array.
type Pack = unsafe extern "C" fn(*mut c_void, *mut c_void, *const c_char, usize) -> c_int;
/// `NpyString_pack_null`
type PackNull = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
/// `NpyString_acquire_allocator`: locks the memory behind the strings of a dtype.
type Acquire = unsafe extern "C" fn(*const c_void) -> *mut c_void;
/// `NpyString_release_allocator`
type Release = unsafe extern "C" fn(*mut c_void);

/// The functions in use, each with its index in the table.
struct Interface {
    pack: Pack,
    pack_null: PackNull,
    acquire: Acquire,
    release: Release,
}

impl Interface {
    fn import(py: Python<'_>) -> PyResult<Self> {
        let module = PyModule::import(py, "numpy._core._multiarray_umath")?;
        let capsule = module.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
        let table = capsule.pointer_checked(None)?.cast::<*const c_void>().as_ptr();
        // SAFETY: the capsule holds NumPy's table of functions, which lives as long as the
        // process. Its caller has made a `StringDType`, so this is NumPy 2.0 or newer, whose table
        // has these functions, with these signatures, at these places.
        unsafe {
            Ok(Self {
                pack: std::mem::transmute::<*const c_void, Pack>(*table.add(314)),
                pack_null: std::mem::transmute::<*const c_void, PackNull>(*table.add(315)),
                acquire: std::mem::transmute::<*const c_void, Acquire>(*table.add(316)),
                release: std::mem::transmute::<*const c_void, Release>(*table.add(318)),
            })
        }
    }
}

/// The text column as a new array of `StringDType(na_object=None)`, None for NULL.
pub(super) fn string_array<'py>(
    py: Python<'py>,
    column: &dyn Array,
) -> PyResult<Bound<'py, PyAny>> {
    let numpy = PyModule::import(py, "numpy")?;
    let options = PyDict::new(py);
    options.set_item("na_object", py.None())?;
    let dtype = numpy.getattr("dtypes")?.getattr("StringDType")?.call((), Some(&options))?;
    let array = numpy.getattr("empty")?.call1((column.len(), dtype))?;
    if array.getattr("itemsize")?.extract::<usize>()? != STRIDE {
        return Err(PyRuntimeError::new_err("this NumPy version stores strings in another way"));
    }
    if column.is_empty() {
        return Ok(array);
    }
    let interface = Interface::import(py)?;
    match column.data_type() {
        DataType::Utf8 => fill(&interface, &array, column.as_string::<i32>())?,
        DataType::LargeUtf8 => fill(&interface, &array, column.as_string::<i64>())?,
        DataType::Utf8View => fill(&interface, &array, column.as_string_view())?,
        other => return Err(PyTypeError::new_err(format!("a column of {other} is not text"))),
    }
    Ok(array)
}

/// `array` must be new, contiguous, of a dtype of its own, and as long as `strings`.
fn fill<'a>(
    interface: &Interface,
    array: &Bound<'_, PyAny>,
    strings: impl StringArrayType<'a>,
) -> PyResult<()> {
    let places = array.getattr("__array_interface__")?.get_item("data")?.get_item(0)?;
    let places = NonNull::new(places.extract::<usize>()? as *mut u8)
        .ok_or_else(|| PyRuntimeError::new_err("NumPy could not allocate memory for strings"))?;
    let dtype = array.getattr("dtype")?;
    // SAFETY: the dtype is a `StringDType`, and nothing else holds its lock, because no other code
    // knows the new array. The lock is released below, and no Python code runs before that.
    let allocator = unsafe { (interface.acquire)(dtype.as_ptr().cast()) };
    let is_filled = (0..strings.len()).all(|row| {
        // SAFETY: the array has as many strings of `STRIDE` bytes as the column has rows.
        let place = unsafe { places.add(row * STRIDE) }.as_ptr().cast();
        let status = if strings.is_null(row) {
            // SAFETY: the allocator is the locked one of this array's dtype.
            unsafe { (interface.pack_null)(allocator, place) }
        } else {
            let text = strings.value(row);
            // SAFETY: as above; the text's bytes are copied before this returns.
            unsafe { (interface.pack)(allocator, place, text.as_ptr().cast(), text.len()) }
        };
        status == 0
    });
    // SAFETY: acquired above, and no longer used.
    unsafe { (interface.release)(allocator) };
    if is_filled { Ok(()) } else { Err(PyMemoryError::new_err("no memory for NumPy's strings")) }
}
