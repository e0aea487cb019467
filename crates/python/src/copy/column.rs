//! One column of a COPY FROM STDIN, made from data of Python libraries.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, Int32Array, StructArray,
};
use arrow_buffer::Buffer;
use arrow_schema::{Field, Fields};
use colonnade_foreign::arrow_type_name;
use colonnade_foreign::numpy::{self, NestError};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use crate::arrow::numpy_import;
use crate::arrow::series;
use crate::errors;
use crate::memory::foreign_buffer::copied;

/// An Arrow array for [`ArrowSource`](crate::copy::rows::ArrowSource).
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct ArrowColumn(pub(crate) ArrayRef);

#[pymethods]
impl ArrowColumn {
    /// Copies a NumPy array. `mask` has a boolean for each value, true for NULL. `is_utc` says that
    /// its datetimes are UTC, `are_times` that its timedeltas count from midnight. None if only the
    /// array's objects can be used.
    #[staticmethod]
    #[pyo3(signature = (array, mask, *, is_utc, are_times = false))]
    fn from_numpy(
        array: &Bound<'_, PyAny>,
        mask: Option<&Bound<'_, PyAny>>,
        is_utc: bool,
        are_times: bool,
    ) -> PyResult<Option<Self>> {
        let made = match raw_cells(array)? {
            Some(cells) => Some((cells, vec![array.len()?])),
            None => numpy_import::array(array, is_utc)?,
        };
        let Some((mut flat, shape)) = made else { return Ok(None) };
        if are_times {
            let Some(made) = numpy::times(flat).map_err(errors::value)? else {
                return Ok(None);
            };
            flat = made;
        }
        let column = nested(flat, shape.get(1..).unwrap_or_default())?;
        masked(column, mask).map(|column| Some(Self(column)))
    }

    /// Imports the array of an object with the Arrow PyCapsule interface; None for other objects.
    #[staticmethod]
    #[pyo3(signature = (source, /))]
    fn from_arrow(source: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        Ok(series::array(source)?.map(Self))
    }

    /// A value for each code, which counts from 0; a negative code means NULL.
    #[staticmethod]
    fn from_codes(codes: &Bound<'_, PyAny>, values: &Self) -> PyResult<Self> {
        let codes: Vec<i32> = copied(&PyBuffer::get(codes)?, codes.py())?;
        let keys: Int32Array = codes.into_iter().map(|code| (code >= 0).then_some(code)).collect();
        let array = DictionaryArray::try_new(keys, Arc::clone(&values.0));
        array.map(|array| Self(Arc::new(array))).map_err(errors::value)
    }

    /// A struct of columns; `mask` is as in `from_numpy`.
    #[staticmethod]
    fn from_fields(
        names: Vec<String>,
        columns: Vec<PyRef<'_, Self>>,
        mask: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let field = |(name, column): (String, &PyRef<'_, Self>)| {
            Field::new(name, column.0.data_type().clone(), true)
        };
        let fields: Fields = names.into_iter().zip(&columns).map(field).collect();
        let arrays = columns.iter().map(|column| Arc::clone(&column.0)).collect();
        let column = StructArray::try_new(fields, arrays, None).map_err(errors::value)?;
        masked(Arc::new(column), mask).map(Self)
    }

    /// A range of the values, without a copy.
    fn slice(&self, offset: usize, length: usize) -> PyResult<Self> {
        match offset.checked_add(length) {
            Some(end) if end <= self.0.len() => Ok(Self(self.0.slice(offset, length))),
            _ => Err(PyIndexError::new_err("the slice reaches past the end of the column")),
        }
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The Arrow type.
    #[getter]
    fn arrow_type(&self) -> String {
        arrow_type_name(self.0.data_type())
    }
}

/// Cells of a fixed number of bytes (NumPy's void).
fn raw_cells(array: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let dtype = array.getattr("dtype")?;
    let width: i32 = dtype.getattr("itemsize")?.extract()?;
    let is_void = dtype.getattr("kind")?.extract::<&str>()? == "V";
    if !is_void || width == 0 || !dtype.getattr("names")?.is_none() {
        return Ok(None);
    }
    let bytes = PyBuffer::<u8>::get(&array.call_method0("tobytes")?)?;
    let bytes = copied(&bytes, array.py())?;
    let cells = FixedSizeBinaryArray::try_new(width, Buffer::from_vec(bytes), None);
    cells.map(|cells| Some(Arc::new(cells) as ArrayRef)).map_err(errors::value)
}

fn nested(values: ArrayRef, lengths: &[usize]) -> PyResult<ArrayRef> {
    numpy::nested(values, lengths).map_err(|error| match error {
        NestError::Length(error) => error.into(),
        other => errors::value(other),
    })
}

/// The array with the masked values as NULL, if there is a mask.
fn masked(array: ArrayRef, mask: Option<&Bound<'_, PyAny>>) -> PyResult<ArrayRef> {
    let Some(mask) = mask else { return Ok(array) };
    let hidden: Vec<u8> = copied(&PyBuffer::get(&mask.call_method1("view", ("u1",))?)?, mask.py())?;
    if hidden.len() != array.len() {
        let text = format!("{} values have a mask of {}", array.len(), hidden.len());
        return Err(PyValueError::new_err(text));
    }
    numpy::masked(&array, &hidden).map_err(errors::value)
}
