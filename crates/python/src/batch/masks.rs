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
    match Given::of(object)? {
        Given::NumPy(array) => of_numpy(&array),
        Given::Masked(array) => of_numpy(&array.call_method1("filled", (false,))?),
        Given::Arrow(array) => of_arrow(&array),
        Given::Items(items) => of_items(items),
        Given::Other => Err(refused(&class_names::full(&object.get_type()))),
    }
}

/// A mask, by the way in which it is read.
pub(super) enum Given<'py> {
    NumPy(Bound<'py, PyAny>),
    /// A masked array of NumPy's.
    Masked(Bound<'py, PyAny>),
    Arrow(ArrayRef),
    /// The items of a list or tuple.
    Items(Box<dyn Iterator<Item = Bound<'py, PyAny>> + 'py>),
    Other,
}

impl<'py> Given<'py> {
    pub(super) fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if numpy_import::is_array(object)? {
            return Ok(Self::NumPy(object.clone()));
        }
        if let Ok(columns) = object.cast::<Batch>() {
            return columns.get().only_column(object.py()).map(Self::Arrow);
        }
        if let Ok(list) = object.cast::<PyList>() {
            return Ok(Self::Items(Box::new(list.clone().into_iter())));
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return Ok(Self::Items(Box::new(tuple.clone().into_iter())));
        }
        let class = object.get_type();
        if class.name()? == "MaskedArray" && class_names::is_of(&class, "numpy") {
            return Ok(Self::Masked(object.clone()));
        }
        let array = numpy_import::without_index(object)?;
        if numpy_import::is_array(&array)? {
            return Ok(Self::NumPy(array));
        }
        Ok(series::array(&array)?.map_or(Self::Other, Self::Arrow))
    }
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
