//! One value of an Arrow array as a neutral [`Value`].

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType, IntervalYearMonthType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use crate::value::{List, Value};

/// Microseconds in a second and in a millisecond.
const SECOND: i64 = 1_000_000;
const MILLISECOND: i64 = 1_000;

/// Milliseconds in a day.
const DAY_MILLIS: i64 = 86_400_000;

/// Nanoseconds in a microsecond.
const NANOS: i64 = 1_000;

/// The value in a row; `None` if no [`Value`] represents it exactly: nanoseconds that are not whole
/// microseconds, numbers that exceed 64 bits in another unit, unions.
pub fn value_of(array: &dyn Array, row: usize) -> Option<Value<'_>> {
    if array.is_null(row) {
        return Some(Value::Null);
    }
    Some(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => Value::Int(at::<Int8Type>(array, row).into()),
        DataType::Int16 => Value::Int(at::<Int16Type>(array, row).into()),
        DataType::Int32 => Value::Int(at::<Int32Type>(array, row).into()),
        DataType::Int64 => Value::Int(at::<Int64Type>(array, row)),
        DataType::UInt8 => Value::UInt(at::<UInt8Type>(array, row).into()),
        DataType::UInt16 => Value::UInt(at::<UInt16Type>(array, row).into()),
        DataType::UInt32 => Value::UInt(at::<UInt32Type>(array, row).into()),
        DataType::UInt64 => Value::UInt(at::<UInt64Type>(array, row)),
        DataType::Float16 => Value::Float32(at::<Float16Type>(array, row).into()),
        DataType::Float32 => Value::Float32(at::<Float32Type>(array, row)),
        DataType::Float64 => Value::Float(at::<Float64Type>(array, row)),
        DataType::Utf8 => Value::Text(Cow::Borrowed(array.as_string::<i32>().value(row))),
        DataType::LargeUtf8 => Value::Text(Cow::Borrowed(array.as_string::<i64>().value(row))),
        DataType::Utf8View => Value::Text(Cow::Borrowed(array.as_string_view().value(row))),
        DataType::Binary => Value::Bytes(Cow::Borrowed(array.as_binary::<i32>().value(row))),
        DataType::LargeBinary => Value::Bytes(Cow::Borrowed(array.as_binary::<i64>().value(row))),
        DataType::BinaryView => Value::Bytes(Cow::Borrowed(array.as_binary_view().value(row))),
        DataType::FixedSizeBinary(_) => {
            let bytes = array.as_fixed_size_binary().value(row);
            bytes.try_into().map_or(Value::Bytes(Cow::Borrowed(bytes)), Value::Uuid)
        }
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_)
        | DataType::Interval(_) => moment(array, row)?,
        _ => part(array, row)?,
    })
}

fn at<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

/// A date, a time, a timestamp or a duration.
fn moment(array: &dyn Array, row: usize) -> Option<Value<'static>> {
    Some(match array.data_type() {
        DataType::Date32 => Value::Date(at::<Date32Type>(array, row)),
        DataType::Date64 => {
            let days = whole(at::<Date64Type>(array, row), DAY_MILLIS)?;
            Value::Date(i32::try_from(days).ok()?)
        }
        DataType::Time32(TimeUnit::Second) => {
            Value::Time(i64::from(at::<Time32SecondType>(array, row)) * SECOND)
        }
        DataType::Time32(_) => {
            Value::Time(i64::from(at::<Time32MillisecondType>(array, row)) * MILLISECOND)
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            Value::Time(whole(at::<Time64NanosecondType>(array, row), NANOS)?)
        }
        DataType::Time64(_) => Value::Time(at::<Time64MicrosecondType>(array, row)),
        DataType::Timestamp(unit, zone) => {
            let micros = match unit {
                TimeUnit::Second => at::<TimestampSecondType>(array, row).checked_mul(SECOND)?,
                TimeUnit::Millisecond => {
                    at::<TimestampMillisecondType>(array, row).checked_mul(MILLISECOND)?
                }
                TimeUnit::Microsecond => at::<TimestampMicrosecondType>(array, row),
                TimeUnit::Nanosecond => whole(at::<TimestampNanosecondType>(array, row), NANOS)?,
            };
            if zone.is_some() { Value::TimestampTz(micros) } else { Value::Timestamp(micros) }
        }
        DataType::Duration(unit) => {
            let micros = match unit {
                TimeUnit::Second => at::<DurationSecondType>(array, row).checked_mul(SECOND)?,
                TimeUnit::Millisecond => {
                    at::<DurationMillisecondType>(array, row).checked_mul(MILLISECOND)?
                }
                TimeUnit::Microsecond => at::<DurationMicrosecondType>(array, row),
                TimeUnit::Nanosecond => whole(at::<DurationNanosecondType>(array, row), NANOS)?,
            };
            Value::Interval { months: 0, days: 0, micros }
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            let months = at::<IntervalYearMonthType>(array, row);
            Value::Interval { months, days: 0, micros: 0 }
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let interval = at::<IntervalDayTimeType>(array, row);
            let micros = i64::from(interval.milliseconds) * MILLISECOND;
            Value::Interval { months: 0, days: interval.days, micros }
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let interval = at::<IntervalMonthDayNanoType>(array, row);
            let micros = whole(interval.nanoseconds, NANOS)?;
            Value::Interval { months: interval.months, days: interval.days, micros }
        }
        _ => return None,
    })
}

/// `count / parts`, if there is no remainder.
fn whole(count: i64, parts: i64) -> Option<i64> {
    (count % parts == 0).then_some(count / parts)
}

/// A decimal, or a nested value.
fn part(array: &dyn Array, row: usize) -> Option<Value<'_>> {
    Some(match array.data_type() {
        DataType::Decimal32(..) => number(array.as_primitive::<Decimal32Type>(), row),
        DataType::Decimal64(..) => number(array.as_primitive::<Decimal64Type>(), row),
        DataType::Decimal128(..) => number(array.as_primitive::<Decimal128Type>(), row),
        DataType::Decimal256(..) => number(array.as_primitive::<Decimal256Type>(), row),
        DataType::Struct(_) => {
            let columns = array.as_struct().columns().iter();
            Value::Composite(columns.map(|column| value_of(column, row)).collect::<Option<_>>()?)
        }
        DataType::Map(..) => map(array, row)?,
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary_opt()?;
            let keys = dictionary.keys();
            let place = match value_of(keys, row)? {
                Value::Int(key) => usize::try_from(key).ok()?,
                Value::UInt(key) => usize::try_from(key).ok()?,
                _ => return None,
            };
            value_of(dictionary.values(), place)?
        }
        _ => {
            let (values, start, len) = elements(array, row)?;
            list(values, start, len)?
        }
    })
}

fn number<T: arrow_array::types::DecimalType + ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    row: usize,
) -> Value<'_> {
    Value::Numeric(Cow::Owned(array.value_as_string(row)))
}

/// The elements of a list: the array that holds them, the index of the first, and their number.
pub(crate) fn elements(array: &dyn Array, row: usize) -> Option<(&dyn Array, usize, usize)> {
    let size = |size: i64| usize::try_from(size).ok();
    Some(match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let start = list.value_offsets().get(row)?;
            (list.values().as_ref(), size((*start).into())?, size(list.value_length(row).into())?)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let start = list.value_offsets().get(row)?;
            (list.values().as_ref(), size(*start)?, size(list.value_length(row))?)
        }
        DataType::FixedSizeList(..) => {
            let list = array.as_fixed_size_list();
            let len = size(list.value_length().into())?;
            (list.values().as_ref(), row.checked_mul(len)?, len)
        }
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            let (start, len) = (list.value_offset(row), list.value_size(row));
            (list.values().as_ref(), size(start.into())?, size(len.into())?)
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            (list.values().as_ref(), size(list.value_offset(row))?, size(list.value_size(row))?)
        }
        _ => return None,
    })
}

/// A one-dimensional list, or a multidimensional one if its elements are lists.
fn list(values: &dyn Array, start: usize, len: usize) -> Option<Value<'_>> {
    let mut elements = Vec::with_capacity(len);
    for row in start..start.checked_add(len)? {
        elements.push(value_of(values, row)?);
    }
    if elements.is_empty() || !elements.iter().all(|element| matches!(element, Value::List(_))) {
        let dimensions = if elements.is_empty() { Vec::new() } else { vec![len] };
        return Some(Value::List(List { dimensions, elements }));
    }
    let mut dimensions = None;
    let mut flat = Vec::new();
    for element in elements {
        let Value::List(inner) = element else { return None };
        if dimensions.get_or_insert_with(|| inner.dimensions.clone()) != &inner.dimensions {
            return None;
        }
        flat.extend(inner.elements);
    }
    let dimensions = match dimensions.unwrap_or_default() {
        inner if inner.is_empty() => inner,
        inner => [vec![len], inner].concat(),
    };
    Some(Value::List(List { dimensions, elements: flat }))
}

/// A map of texts.
fn map(array: &dyn Array, row: usize) -> Option<Value<'_>> {
    let map = array.as_map();
    let start = usize::try_from(*map.value_offsets().get(row)?).ok()?;
    let end = usize::try_from(*map.value_offsets().get(row + 1)?).ok()?;
    let text = |array, row| match value_of(array, row)? {
        Value::Text(text) => Some(Some(text)),
        Value::Null => Some(None),
        _ => None,
    };
    let entry = |row| Some((text(map.keys(), row)??, text(map.values(), row)?));
    (start..end).map(entry).collect::<Option<Vec<_>>>().map(Value::Map)
}
