//! The values of an Arrow array as Python objects.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;
use colonnade_columnar::{Kind, Type, Value, column_value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::{Maker, to_python};
use crate::arrow_names::arrow_type_name;
use crate::codecs::Codecs;
use crate::moments;

/// Every value of a column as a Python object, None for NULL: those that rows have, where the
/// column's PostgreSQL type is given.
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
        let maker = Maker::new(py, pg_type);
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
            let value = value_of(array, index)?;
            list.append(to_python(py, codecs, value)?)?;
        }
    }
    Ok(list)
}

/// Whether the values of an Arrow type are not yet those of rows, or hold others.
fn needs_type(pg_type: Option<&Type>, data_type: &DataType) -> bool {
    if pg_type.is_some_and(Type::has_codecs) {
        return true;
    }
    let kind = pg_type.and_then(|pg_type| pg_type.bare().kind());
    match data_type {
        DataType::Null | DataType::Interval(_) => true,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            matches!(kind, Some(Kind::Bits | Kind::Network | Kind::Snapshot))
        }
        other => other.is_nested(),
    }
}

fn unknown(array: &dyn Array) -> PyErr {
    let name = arrow_type_name(array.data_type());
    PyTypeError::new_err(format!("no Python values of Arrow type {name}"))
}

/// The value at an index that is not NULL.
fn value_of(array: &dyn Array, index: usize) -> PyResult<Value<'_>> {
    Ok(match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(index)),
        DataType::Int16 => Value::Int(i64::from(at::<Int16Type>(array).value(index))),
        DataType::Int32 => Value::Int(i64::from(at::<Int32Type>(array).value(index))),
        DataType::Int64 => Value::Int(at::<Int64Type>(array).value(index)),
        DataType::UInt16 => Value::UInt(u64::from(at::<UInt16Type>(array).value(index))),
        DataType::UInt64 => Value::UInt(at::<UInt64Type>(array).value(index)),
        DataType::UInt32 => Value::UInt(u64::from(at::<UInt32Type>(array).value(index))),
        DataType::Float32 => Value::Float32(at::<Float32Type>(array).value(index)),
        DataType::Float64 => Value::Float(at::<Float64Type>(array).value(index)),
        DataType::Date32 => Value::Date(at::<Date32Type>(array).value(index)),
        DataType::Time32(_) | DataType::Time64(_) => Value::Time(moments::micros(array, index)?),
        DataType::Timestamp(_, None) => Value::Timestamp(moments::micros(array, index)?),
        DataType::Timestamp(_, Some(_)) => Value::TimestampTz(moments::micros(array, index)?),
        DataType::Decimal128(..) => {
            Value::Numeric(Cow::Owned(at::<Decimal128Type>(array).value_as_string(index)))
        }
        DataType::Decimal256(..) => {
            Value::Numeric(Cow::Owned(at::<Decimal256Type>(array).value_as_string(index)))
        }
        DataType::Utf8 => Value::Text(Cow::Borrowed(array.as_string::<i32>().value(index))),
        DataType::LargeUtf8 => Value::Text(Cow::Borrowed(array.as_string::<i64>().value(index))),
        DataType::Utf8View => Value::Text(Cow::Borrowed(array.as_string_view().value(index))),
        DataType::Binary => Value::Bytes(Cow::Borrowed(array.as_binary::<i32>().value(index))),
        DataType::LargeBinary => Value::Bytes(Cow::Borrowed(array.as_binary::<i64>().value(index))),
        DataType::FixedSizeBinary(16) => {
            let bytes = array.as_fixed_size_binary().value(index);
            Value::Uuid(bytes.try_into().unwrap_or_default())
        }
        DataType::Dictionary(..) => match array.as_dictionary_opt::<Int32Type>() {
            Some(texts) => {
                let key = usize::try_from(texts.keys().value(index)).unwrap_or_default();
                value_of(texts.values().as_ref(), key)?
            }
            None => return Err(PyTypeError::new_err("a dictionary has keys of 32 bits")),
        },
        _ => return Err(unknown(array)),
    })
}

fn at<T: ArrowPrimitiveType>(array: &dyn Array) -> &PrimitiveArray<T> {
    array.as_primitive::<T>()
}
