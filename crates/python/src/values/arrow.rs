//! The values of an Arrow array as Python objects.

use arrow_array::Array;
use arrow_schema::DataType;
use colonnade_columnar::{Type, Value, column_value, needs_type, value_of};
use colonnade_foreign::arrow_type_name;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::{Maker, to_python};
use crate::arrow::moments;
use crate::types::codecs::Codecs;

/// Every value of a column as a Python object, None for NULL: as rows have it, if the column's
/// PostgreSQL type is given.
pub(crate) fn list_of_array<'py>(
    py: Python<'py>,
    pg_type: Option<&Type>,
    array: &dyn Array,
    codecs: &Codecs,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    if needs_type(pg_type, array.data_type()) {
        let unknown_type = Type::opaque(0);
        let pg_type = pg_type.unwrap_or(&unknown_type);
        let maker = Maker::new(py, pg_type)?;
        for index in 0..array.len() {
            let value = column_value(pg_type, array, index).ok_or_else(|| unknown(array))?;
            let object = match value {
                Value::Null => py.None(),
                value => maker.make(py, codecs, value)?,
            };
            list.append(object)?;
        }
        return Ok(list);
    }
    for index in 0..array.len() {
        if array.is_null(index) {
            list.append(py.None())?;
        } else if matches!(array.data_type(), DataType::Duration(_)) {
            list.append(moments::duration(py, moments::micros(array, index)?)?)?;
        } else {
            list.append(to_python(py, codecs, plain_value(array, index)?)?)?;
        }
    }
    Ok(list)
}

/// The value at an index that is not NULL; an error for a timestamp outside Python's range.
fn plain_value(array: &dyn Array, index: usize) -> PyResult<Value<'_>> {
    Ok(match array.data_type() {
        DataType::Time32(_) | DataType::Time64(_) => Value::Time(moments::micros(array, index)?),
        DataType::Timestamp(_, None) => Value::Timestamp(moments::micros(array, index)?),
        DataType::Timestamp(_, Some(_)) => Value::TimestampTz(moments::micros(array, index)?),
        _ => value_of(array, index).ok_or_else(|| unknown(array))?,
    })
}

fn unknown(array: &dyn Array) -> PyErr {
    let name = arrow_type_name(array.data_type());
    PyTypeError::new_err(format!("no Python values of Arrow type {name}"))
}
