//! Values that are equal in PostgreSQL, as one value.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, IntervalMonthDayNanoType};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, FixedSizeListArray, Float32Array, Float64Array,
    GenericListArray, ListArray, OffsetSizeTrait, StructArray,
};
use arrow_buffer::IntervalMonthDayNano;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, IntervalUnit};

const DAY_NANOS: i128 = 86_400_000_000_000;

/// Days of a month in comparisons.
const MONTH_DAYS: i128 = 30;

/// The length of an interval as PostgreSQL compares it: days of 24 hours, months of 30 days.
pub(super) fn nanoseconds(interval: IntervalMonthDayNano) -> i128 {
    let days = i128::from(interval.months) * MONTH_DAYS + i128::from(interval.days);
    days * DAY_NANOS + i128::from(interval.nanoseconds)
}

/// The float with one NaN, which is greater than infinity, and one zero.
pub(super) fn float64(value: f64) -> f64 {
    // Adding zero to -0.0 gives 0.0.
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}

fn float32(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value + 0.0 }
}

/// The array with equal bytes for equal values, at any depth.
pub(super) fn canonical(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match array.data_type() {
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>();
            Arc::new(floats.unary::<_, Float32Type>(float32)) as Arc<Float32Array>
        }
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>();
            Arc::new(floats.unary::<_, Float64Type>(float64)) as Arc<Float64Array>
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let intervals = array.as_primitive::<IntervalMonthDayNanoType>();
            let lengths = intervals.values().iter().map(|interval| nanoseconds(*interval));
            Arc::new(Decimal128Array::new(lengths.collect(), intervals.nulls().cloned()))
        }
        DataType::List(item) => list(array.as_list::<i32>(), item)?,
        DataType::LargeList(item) => list(array.as_list::<i64>(), item)?,
        DataType::FixedSizeList(item, size) => {
            let lists = array.as_fixed_size_list();
            let values = canonical(lists.values())?;
            let item = of_type(item, &values);
            Arc::new(FixedSizeListArray::try_new(item, *size, values, lists.nulls().cloned())?)
        }
        DataType::Map(entry, _) => {
            let maps = array.as_map();
            let entries: ArrayRef = Arc::new(maps.entries().clone());
            let entries = canonical(&entries)?;
            let (entry, offsets) = (of_type(entry, &entries), maps.offsets().clone());
            Arc::new(ListArray::try_new(entry, offsets, entries, maps.nulls().cloned())?)
        }
        DataType::Struct(fields) => {
            let values = array.as_struct();
            let columns = values.columns().iter().map(canonical).collect::<Result<Vec<_>, _>>()?;
            let fields = fields.iter().zip(&columns).map(|(field, column)| of_type(field, column));
            let fields: Fields = fields.collect();
            let (nulls, rows) = (values.nulls().cloned(), values.len());
            Arc::new(StructArray::try_new_with_length(fields, columns, nulls, rows)?)
        }
        _ => Arc::clone(array),
    })
}

fn list<O: OffsetSizeTrait>(
    lists: &GenericListArray<O>,
    item: &FieldRef,
) -> Result<ArrayRef, ArrowError> {
    let values = canonical(lists.values())?;
    let (item, offsets) = (of_type(item, &values), lists.offsets().clone());
    Ok(Arc::new(GenericListArray::try_new(item, offsets, values, lists.nulls().cloned())?))
}

fn of_type(field: &FieldRef, values: &ArrayRef) -> FieldRef {
    Arc::new(Field::new(field.name(), values.data_type().clone(), true))
}
