//! To every type without an encoder of its own: each row becomes a neutral value, and the type
//! encodes it.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, IntervalUnit};

use super::ColumnEncoder;
use super::cells::{MadeCells, PushValue, nulls_of};
use crate::arrow_value::value_of;
use crate::error::EncodeError;
use crate::types::Type;
use crate::value::Value;

struct Neutral {
    array: ArrayRef,
    target: Arc<Type>,
}

impl PushValue for Neutral {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let Some(value) = value_of(&self.array, row) else {
            return Err(EncodeError::Inexact {
                given: format!("the value of {}", self.array.data_type()),
                type_name: self.target.name.clone(),
            });
        };
        self.target.encode(&value, out)
    }
}

/// An encoder, if the type accepts the neutral values of the array.
pub(super) fn encoder(target: &Arc<Type>, array: &ArrayRef) -> Option<Box<dyn ColumnEncoder>> {
    let sample = sample(array.data_type())?;
    if let Err(EncodeError::WrongKind { .. }) = target.encode(&sample, &mut Vec::new()) {
        return None;
    }
    let nulls = nulls_of(array);
    Some(MadeCells::boxed(Neutral { array: array.clone(), target: target.clone() }, nulls))
}

/// A value of the kind that [`value_of`] gives for an Arrow type. Floats are left out: a type
/// without a cast from floats must not accept them here either.
fn sample(arrow_type: &DataType) -> Option<Value<'static>> {
    Some(match arrow_type {
        DataType::Boolean => Value::Bool(false),
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Value::Int(0),
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => Value::UInt(0),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Value::Text("".into()),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            Value::Bytes([][..].into())
        }
        DataType::FixedSizeBinary(16) => Value::Uuid([0; 16]),
        DataType::FixedSizeBinary(_) => Value::Bytes([][..].into()),
        DataType::Date32 | DataType::Date64 => Value::Date(0),
        DataType::Time32(_) | DataType::Time64(_) => Value::Time(0),
        DataType::Timestamp(_, None) => Value::Timestamp(0),
        DataType::Timestamp(_, Some(_)) => Value::TimestampTz(0),
        DataType::Duration(_)
        | DataType::Interval(
            IntervalUnit::YearMonth | IntervalUnit::DayTime | IntervalUnit::MonthDayNano,
        ) => Value::Interval { months: 0, days: 0, micros: 0 },
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => Value::Numeric("0".into()),
        DataType::Map(..) => Value::Map(Vec::new()),
        _ => return None,
    })
}
