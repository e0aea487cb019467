//! To the types made of two numbers, `tid` and `timetz`: structs with the fields of their columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::ColumnEncoder;
use super::cells::{MadeCells, PushValue, nulls_of};
use crate::arrow_value::value_of;
use crate::error::EncodeError;
use crate::types::{Kind, Type};
use crate::value::Value;

/// An encoder, if the kind is one of these and the array is a struct of both numbers.
pub(super) fn encoder(
    kind: Kind,
    target: &Arc<Type>,
    array: &ArrayRef,
) -> Option<Box<dyn ColumnEncoder>> {
    let (names, make): (_, fn(Value<'_>, Value<'_>) -> Option<Value<'static>>) = match kind {
        Kind::Tid => (["block", "offset"], tid),
        Kind::TimeTz => (["time", "offset"], time_tz),
        _ => return None,
    };
    let parts = array.as_struct_opt()?;
    let [first, second] = names.map(|name| parts.column_by_name(name).cloned());
    let (first, second) = (first?, second?);
    let is_time = matches!(first.data_type(), DataType::Time32(_) | DataType::Time64(_));
    let is_taken = is_time == (kind == Kind::TimeTz)
        && (is_time || first.data_type().is_integer())
        && second.data_type().is_integer();
    let nulls = nulls_of(array);
    let pairs = Pairs { first, second, make, target: Arc::clone(target) };
    is_taken.then(|| MadeCells::boxed(pairs, nulls))
}

struct Pairs {
    first: ArrayRef,
    second: ArrayRef,
    /// Makes the value; `None` if a part is NULL or out of range.
    make: fn(Value<'_>, Value<'_>) -> Option<Value<'static>>,
    target: Arc<Type>,
}

impl PushValue for Pairs {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let parts = value_of(&self.first, row).zip(value_of(&self.second, row));
        match parts.and_then(|(first, second)| (self.make)(first, second)) {
            Some(value) => self.target.encode(&value, out),
            None => Err(EncodeError::Inexact {
                given: "the struct, of which a part is NULL or out of range,".to_owned(),
                type_name: self.target.name.clone(),
            }),
        }
    }
}

fn tid(block: Value<'_>, offset: Value<'_>) -> Option<Value<'static>> {
    let block = u32::try_from(number(&block)?).ok()?;
    let offset = u16::try_from(number(&offset)?).ok()?;
    Some(Value::Tid { block, offset })
}

fn time_tz(time: Value<'_>, offset: Value<'_>) -> Option<Value<'static>> {
    let Value::Time(micros) = time else { return None };
    Some(Value::TimeTz { micros, offset_s: i32::try_from(number(&offset)?).ok()? })
}

fn number(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::UInt(number) => i64::try_from(*number).ok(),
        _ => None,
    }
}
