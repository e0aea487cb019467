//! The rows that a mask chooses: booleans of NumPy, Arrow, pandas, Polars, or a list.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use colonnade_foreign::{arrow_type_name, numpy};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyTuple};

use super::Batch;
use crate::arrow::numpy_import;
use crate::arrow::series;
use crate::class_names;
use crate::memory::foreign_buffer::copied;

/// A boolean for each row; NULL chooses no row.
pub(super) fn mask(object: &Bound<'_, PyAny>, rows: usize) -> PyResult<BooleanArray> {
    let mask = booleans(object)?;
    if mask.len() != rows {
        return Err(PyValueError::new_err(format!(
            "the mask has {} values, and there are {rows} rows: it needs one for each row",
            mask.len()
        )));
    }
    Ok(mask)
}

fn booleans(object: &Bound<'_, PyAny>) -> PyResult<BooleanArray> {
    if numpy_import::is_array(object)? {
        return of_numpy(object);
    }
    if let Ok(columns) = object.cast::<Batch>() {
        return of_arrow(&columns.get().only_column(object.py())?);
    }
    if let Some(items) = items(object) {
        return of_items(items);
    }
    if is_masked(object)? {
        return of_numpy(&object.call_method1(intern!(object.py(), "filled"), (false,))?);
    }
    let array = numpy_import::without_index(object)?;
    if numpy_import::is_array(&array)? {
        return of_numpy(&array);
    }
    match series::array(&array)? {
        Some(array) => of_arrow(&array),
        None => Err(refused(&class_names::full(&object.get_type()))),
    }
}

/// Whether an object is a masked array of NumPy's.
pub(super) fn is_masked(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = object.get_type();
    Ok(class.name()? == "MaskedArray" && class_names::is_of(&class, "numpy"))
}

/// The items of a list or tuple; None for other objects.
pub(super) fn items<'py>(
    object: &Bound<'py, PyAny>,
) -> Option<Box<dyn Iterator<Item = Bound<'py, PyAny>> + 'py>> {
    if let Ok(list) = object.cast::<PyList>() {
        return Some(Box::new(list.clone().into_iter()));
    }
    let tuple = object.cast::<PyTuple>().ok()?;
    Some(Box::new(tuple.clone().into_iter()))
}

/// A NumPy array without its second dimension, if it has none; ValueError otherwise.
pub(super) fn check_flat(array: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    let dimensions: usize = array.getattr(intern!(array.py(), "ndim"))?.extract()?;
    if dimensions == 1 {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("{what} must have one dimension, not {dimensions}")))
}

fn of_numpy(array: &Bound<'_, PyAny>) -> PyResult<BooleanArray> {
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let kind = dtype.getattr(intern!(py, "kind"))?;
    if kind.eq("O")? {
        check_flat(array, "the mask")?;
        return of_items(array.call_method0(intern!(py, "tolist"))?.try_iter()?.flatten());
    }
    if !kind.eq("b")? {
        return Err(refused(&format!("{} of NumPy", dtype.str()?)));
    }
    check_flat(array, "the mask")?;
    let bytes = array.call_method1(intern!(py, "view"), (intern!(py, "u1"),))?;
    let bytes: Vec<u8> = copied(&PyBuffer::get(&bytes)?, py)?;
    Ok(BooleanArray::new(numpy::packed(&bytes), None))
}

fn of_arrow(array: &ArrayRef) -> PyResult<BooleanArray> {
    let booleans = array.as_boolean_opt().cloned();
    booleans.ok_or_else(|| refused(&format!("{} of Arrow", arrow_type_name(array.data_type()))))
}

fn of_items<'py>(items: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<BooleanArray> {
    let mut values = Vec::with_capacity(items.size_hint().0);
    for (place, item) in items.enumerate() {
        values.push(match item.cast::<PyBool>() {
            Ok(value) => value.is_true(),
            Err(_) if item.is_none() => false,
            Err(_) if is_numpy_bool(&item)? => item.is_truthy()?,
            Err(_) => {
                let class = class_names::full(&item.get_type());
                return Err(refused(&format!("{class}, at position {place}")));
            }
        });
    }
    Ok(BooleanArray::from(values))
}

fn is_numpy_bool(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = item.get_type();
    let name = class.name()?;
    Ok((name == "bool" || name == "bool_") && class_names::is_of(&class, "numpy"))
}

fn refused(what: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "a mask has booleans, not {what}; take() chooses rows by their positions"
    ))
}

impl Batch {
    /// The array of a batch of one column.
    pub(super) fn only_column(&self, py: Python<'_>) -> PyResult<ArrayRef> {
        if self.table.num_columns() != 1 {
            return Err(PyValueError::new_err(format!(
                "these Columns have {} columns, and one is needed: choose it with select()",
                self.table.num_columns()
            )));
        }
        self.array(py, 0)
    }
}
