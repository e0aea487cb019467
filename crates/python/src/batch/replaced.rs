//! Replaces a column by a codec's result.

use arrow_array::ArrayRef;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arrow::numpy_import;
use crate::arrow::series;
use crate::class_names;

/// The Arrow array of a codec's result for a whole column.
pub(crate) fn array(values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let values = numpy_import::without_index(values)?;
    if let Some(array) = series::array(&values)? {
        return Ok(array);
    }
    if numpy_import::is_array(&values)?
        && let Some((array, shape)) = numpy_import::array(&values, false)?
        && shape.len() == 1
    {
        return Ok(array);
    }
    let class = class_names::full(&values.get_type());
    Err(PyTypeError::new_err(format!(
        "a column_decoder returns an Arrow array or a NumPy array of numbers, times or text in one \
         dimension, not {class}; without one, the decoder makes an object of each value"
    )))
}
