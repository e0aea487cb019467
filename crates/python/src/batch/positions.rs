//! Positions of rows: integers of NumPy, Arrow, pandas, Polars, a list or a range. A negative one
//! counts from the end.

use colonnade_compute::selection::{self, PositionError};
use colonnade_foreign::arrow_type_name;
use pyo3::buffer::{Element, PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyRange};

use super::masks::{Given, check_flat};
use crate::class_names;
use crate::memory::foreign_buffer::copied;

/// The chosen rows.
pub(super) enum Positions {
    /// Rows one after another: the first and their number.
    Run(usize, usize),
    /// Each row.
    Each(Vec<u64>),
}

/// Positions below `rows`.
pub(super) fn positions(object: &Bound<'_, PyAny>, rows: usize) -> PyResult<Positions> {
    if let Ok(range) = object.cast::<PyRange>() {
        return of_range(range, rows);
    }
    let each = match Given::of(object)? {
        Given::NumPy(array) => of_numpy(&array, rows),
        Given::Masked(array)
            if array.call_method0("count")?.extract::<usize>()? < array.len()? =>
        {
            Err(PyValueError::new_err("a position is masked, and there is no such row"))
        }
        Given::Masked(array) => of_numpy(&array.getattr("data")?, rows),
        Given::Arrow(array) => selection::rows_at_array(&array, rows).map_err(exception),
        Given::Items(items) => of_items(items, rows),
        Given::Other => Err(refused(&class_names::full(&object.get_type()))),
    };
    each.map(Positions::Each)
}

fn of_range(range: &Bound<'_, PyRange>, rows: usize) -> PyResult<Positions> {
    let py = range.py();
    let (count, step) = (range.len()?, range.getattr(intern!(py, "step"))?);
    if count == 0 {
        return Ok(Positions::Each(Vec::new()));
    }
    // The ends are checked, so what is between them is in range, too.
    let (first, last) = (range.get_item(0)?, range.get_item(count - 1)?);
    let first = checked(whole(&first, 0)?, 0, rows)?;
    let last = checked(whole(&last, count - 1)?, count - 1, rows)?;
    if step.eq(1)? && first <= last {
        let first = usize::try_from(first)?;
        return Ok(Positions::Run(first, count));
    }
    let each = (0..count).map(|place| checked(whole(&range.get_item(place)?, place)?, place, rows));
    each.collect::<PyResult<_>>().map(Positions::Each)
}

fn of_numpy(array: &Bound<'_, PyAny>, rows: usize) -> PyResult<Vec<u64>> {
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let kind = dtype.getattr(intern!(py, "kind"))?;
    if kind.eq("O")? {
        check_flat(array, "the positions")?;
        let list = array.call_method0(intern!(py, "tolist"))?;
        return of_items(list.try_iter()?.flatten(), rows);
    }
    if kind.eq("b")? {
        return Err(booleans_refused());
    }
    if !kind.eq("i")? && !kind.eq("u")? {
        return Err(refused(&format!("{} of NumPy", dtype.str()?)));
    }
    check_flat(array, "the positions")?;
    let native = dtype.getattr(intern!(py, "isnative"))?.is_truthy()?;
    let swapped = if native {
        None
    } else {
        let order = dtype.call_method1("newbyteorder", ("=",))?;
        Some(array.call_method1("astype", (order,))?)
    };
    let buffer = PyUntypedBuffer::get(swapped.as_ref().unwrap_or(array))?;
    let found = of_buffer::<i64>(&buffer, py, rows)
        .or_else(|| of_buffer::<i32>(&buffer, py, rows))
        .or_else(|| of_buffer::<u32>(&buffer, py, rows))
        .or_else(|| of_buffer::<u64>(&buffer, py, rows))
        .or_else(|| of_buffer::<i16>(&buffer, py, rows))
        .or_else(|| of_buffer::<u16>(&buffer, py, rows))
        .or_else(|| of_buffer::<i8>(&buffer, py, rows))
        .or_else(|| of_buffer::<u8>(&buffer, py, rows));
    found.unwrap_or_else(|| Err(refused("such an array")))
}

/// None for a buffer of another type.
fn of_buffer<T>(buffer: &PyUntypedBuffer, py: Python<'_>, rows: usize) -> Option<PyResult<Vec<u64>>>
where
    T: Element + Into<i128>,
{
    let typed: &PyBuffer<T> = buffer.as_typed().ok()?;
    Some(
        copied(typed, py)
            .and_then(|values| selection::rows_at(values.into_iter(), rows).map_err(exception)),
    )
}

fn of_items<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    rows: usize,
) -> PyResult<Vec<u64>> {
    items.enumerate().map(|(place, item)| checked(whole(&item, place)?, place, rows)).collect()
}

/// The whole number of an item; what exceeds 64 bits is in no range.
fn whole(item: &Bound<'_, PyAny>, place: usize) -> PyResult<i128> {
    if item.is_instance_of::<PyBool>() {
        return Err(booleans_refused());
    }
    match item.extract::<i64>() {
        Ok(value) => Ok(i128::from(value)),
        Err(error) if error.is_instance_of::<PyTypeError>(item.py()) => {
            let class = class_names::full(&item.get_type());
            Err(refused(&format!("{class}, at position {place}")))
        }
        Err(_) => Err(PyIndexError::new_err(format!(
            "the position at {place} has more than 64 bits, and there is no such row"
        ))),
    }
}

fn checked(value: i128, place: usize, rows: usize) -> PyResult<u64> {
    selection::row_at(value, place, rows).map_err(exception)
}

fn exception(error: PositionError) -> PyErr {
    match error {
        PositionError::NoRow { .. } => PyIndexError::new_err(error.to_string()),
        PositionError::Null(_) => PyValueError::new_err(error.to_string()),
        PositionError::Booleans => PyTypeError::new_err(error.to_string()),
        PositionError::OtherType(other) => {
            refused(&format!("{} of Arrow", arrow_type_name(&other)))
        }
    }
}

fn refused(what: &str) -> PyErr {
    PyTypeError::new_err(format!("positions of rows are whole numbers, not {what}"))
}

fn booleans_refused() -> PyErr {
    exception(PositionError::Booleans)
}
