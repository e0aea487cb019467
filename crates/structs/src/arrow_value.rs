//! The values of Arrow columns, as the fields of structs take them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, IntervalYearMonthType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, GenericListArray, OffsetSizeTrait};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use crate::arrow_types::days_to_month;
use crate::kind::{Kind, Scalar, Unit};
use crate::{Fault, Layout, Value, Writer};

/// An array whose values a field takes.
pub(crate) struct Column {
    array: Option<ArrayRef>,
    read: Read,
}

/// How a value is read.
enum Read {
    Constant(Value<'static>),
    /// All values of these types are read first, as 64 bits.
    Ints(Vec<i64>),
    UInts(ScalarBuffer<u64>),
    Floats(Vec<f64>),
    Bools,
    /// The text or bytes of strings in any layout.
    Text,
    Bytes,
    Complex(Vec<f64>),
    List {
        ends: Vec<Range<usize>>,
        values: Box<Column>,
    },
    Dictionary {
        keys: Vec<usize>,
        values: Box<Column>,
    },
    Struct {
        layout: Arc<Layout>,
        columns: Vec<Option<Column>>,
    },
}

fn ints<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array) -> Option<Read> {
    let values = array.as_primitive_opt::<T>()?.values();
    Some(Read::Ints(values.iter().map(|value| (*value).into()).collect()))
}

fn floats<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &dyn Array) -> Option<Read> {
    let values = array.as_primitive_opt::<T>()?.values();
    Some(Read::Floats(values.iter().map(|value| (*value).into()).collect()))
}

/// Integers of any size; the writer checks their range.
fn integers(array: &dyn Array) -> Option<Read> {
    match array.data_type() {
        DataType::Int8 => ints::<Int8Type>(array),
        DataType::Int16 => ints::<Int16Type>(array),
        DataType::Int32 => ints::<Int32Type>(array),
        DataType::Int64 => ints::<Int64Type>(array),
        DataType::UInt8 => ints::<UInt8Type>(array),
        DataType::UInt16 => ints::<UInt16Type>(array),
        DataType::UInt32 => ints::<UInt32Type>(array),
        DataType::UInt64 => {
            Some(Read::UInts(array.as_primitive_opt::<UInt64Type>()?.values().clone()))
        }
        // A numeric without digits after the point, as PostgreSQL's sums of bigint are.
        DataType::Decimal128(_, 0) => {
            let values = array.as_primitive_opt::<Decimal128Type>()?.values();
            let narrow = values.iter().map(|value| i64::try_from(*value).ok());
            narrow.collect::<Option<_>>().map(Read::Ints)
        }
        _ => None,
    }
}

/// Attoseconds, as far as they are exact: times of any unit are compared in them.
fn unit_size(unit: Unit) -> Option<i128> {
    const SECOND: i128 = 1_000_000_000_000_000_000;
    Some(match unit {
        Unit::Year | Unit::Month => return None,
        Unit::Week => 7 * 86_400 * SECOND,
        Unit::Day => 86_400 * SECOND,
        Unit::Hour => 3_600 * SECOND,
        Unit::Minute => 60 * SECOND,
        Unit::Second => SECOND,
        Unit::Millisecond => SECOND / 1_000,
        Unit::Microsecond => SECOND / 1_000_000,
        Unit::Nanosecond => SECOND / 1_000_000_000,
        Unit::Picosecond => 1_000_000,
        Unit::Femtosecond => 1_000,
        Unit::Attosecond => 1,
    })
}

/// The months from January 1970 that start with this day; none within a month.
fn months_of(day: i64) -> Option<i64> {
    // A month has 30.436875 days on average, so the estimate is at most one off.
    let estimate = (i128::from(day) * 1_000_000 / 30_436_875) as i64;
    (estimate - 2..=estimate + 2).find(|months| days_to_month(*months).map(i64::from) == Some(day))
}

/// Counts of one unit as counts of another; a fault for a value between two counts.
fn converted(counts: &[i64], valid: &dyn Array, from: Unit, to: Unit) -> Result<Vec<i64>, Fault> {
    let convert = |count: i64| -> Option<i64> {
        if count == i64::MIN || from == to {
            return Some(count);
        }
        let Some((mine, wanted)) = unit_size(from).zip(unit_size(to)) else {
            let months = if to == Unit::Year { 12 } else { 1 };
            let month = if from == Unit::Day { months_of(count)? } else { count };
            return (month % months == 0).then_some(month / months);
        };
        let whole = i128::from(count).checked_mul(mine)?;
        (whole % wanted == 0).then(|| i64::try_from(whole / wanted).ok()).flatten()
    };
    let made = counts.iter().enumerate().map(|(row, count)| {
        convert(*count).or_else(|| valid.is_null(row).then_some(0)).ok_or_else(|| {
            let unit = to.name();
            let reason = format!("the time is not a whole number of the field's unit {unit:?}");
            Fault::new(reason).in_row(row)
        })
    });
    made.collect()
}

fn counts<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array) -> Option<Vec<i64>> {
    Some(array.as_primitive_opt::<T>()?.values().to_vec())
}

/// Moments and dates, with their unit.
fn moments(array: &dyn Array) -> Option<(Vec<i64>, Unit)> {
    Some(match array.data_type() {
        DataType::Date32 => {
            let days = array.as_primitive_opt::<Date32Type>()?.values();
            (days.iter().map(|day| i64::from(*day)).collect(), Unit::Day)
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            (counts::<TimestampSecondType>(array)?, Unit::Second)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            (counts::<TimestampMillisecondType>(array)?, Unit::Millisecond)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            (counts::<TimestampMicrosecondType>(array)?, Unit::Microsecond)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            (counts::<TimestampNanosecondType>(array)?, Unit::Nanosecond)
        }
        _ => return None,
    })
}

/// Durations, with their unit.
fn durations(array: &dyn Array) -> Option<(Vec<i64>, Unit)> {
    Some(match array.data_type() {
        DataType::Interval(IntervalUnit::YearMonth) => {
            let months = array.as_primitive_opt::<IntervalYearMonthType>()?.values();
            (months.iter().map(|months| i64::from(*months)).collect(), Unit::Month)
        }
        DataType::Duration(TimeUnit::Second) => {
            (counts::<DurationSecondType>(array)?, Unit::Second)
        }
        DataType::Duration(TimeUnit::Millisecond) => {
            (counts::<DurationMillisecondType>(array)?, Unit::Millisecond)
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            (counts::<DurationMicrosecondType>(array)?, Unit::Microsecond)
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            (counts::<DurationNanosecondType>(array)?, Unit::Nanosecond)
        }
        _ => return None,
    })
}

fn times(
    found: Option<(Vec<i64>, Unit)>,
    array: &dyn Array,
    unit: Unit,
) -> Result<Option<Read>, Fault> {
    match found {
        Some((counts, from)) => converted(&counts, array, from, unit).map(Read::Ints).map(Some),
        // Units that Arrow does not have.
        None if matches!(unit, Unit::Picosecond | Unit::Femtosecond | Unit::Attosecond) => {
            Ok(ints::<Int64Type>(array))
        }
        None => Ok(None),
    }
}

fn is_text(array: &dyn Array) -> bool {
    matches!(array.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_binary(array: &dyn Array) -> bool {
    matches!(array.data_type(), DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
        || matches!(array.data_type(), DataType::FixedSizeBinary(_))
}

impl Column {
    pub(crate) fn constant(value: Value<'_>) -> Self {
        Self { array: None, read: Read::Constant(value.into_owned()) }
    }

    /// A fault if the field cannot take the array's type.
    pub(crate) fn new(kind: &Kind, array: &ArrayRef) -> Result<Self, Fault> {
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let keys = match dictionary.keys().len() {
                0 => Vec::new(),
                _ if dictionary.values().is_empty() => vec![0; array.len()],
                _ => dictionary.normalized_keys(),
            };
            let values = Box::new(Self::new(kind, dictionary.values())?);
            let read = Read::Dictionary { keys, values };
            return Ok(Self { array: Some(Arc::clone(array)), read });
        }
        let refused = || {
            let found = array.data_type();
            Fault::new(format!("a column of Arrow's {found} cannot become {kind}"))
        };
        let read = Self::read_for(kind, array)?.ok_or_else(refused)?;
        Ok(Self { array: Some(Arc::clone(array)), read })
    }

    fn read_for(kind: &Kind, array: &ArrayRef) -> Result<Option<Read>, Fault> {
        if array.data_type() == &DataType::Null {
            return Ok(Some(Read::Constant(Value::Null)));
        }
        Ok(match kind {
            Kind::Scalar(Scalar::Bool) => {
                matches!(array.data_type(), DataType::Boolean).then_some(Read::Bools)
            }
            Kind::Scalar(Scalar::Int(_) | Scalar::UInt(_)) => integers(array),
            Kind::Scalar(Scalar::Float(_)) => match array.data_type() {
                DataType::Float16 => floats::<Float16Type>(array),
                DataType::Float32 => floats::<Float32Type>(array),
                DataType::Float64 => floats::<Float64Type>(array),
                _ => integers(array),
            },
            Kind::Scalar(Scalar::Complex(_)) => complex(array),
            Kind::Scalar(Scalar::Datetime(unit)) => times(moments(array), array, *unit)?,
            Kind::Scalar(Scalar::Timedelta(unit)) => times(durations(array), array, *unit)?,
            Kind::Scalar(Scalar::Chars(_) | Scalar::Ascii(_)) | Kind::Str => {
                is_text(array).then_some(Read::Text)
            }
            Kind::Scalar(Scalar::Bytes(_)) | Kind::Bytes => is_binary(array).then_some(Read::Bytes),
            Kind::List { element, .. } => list(element, array)?,
            Kind::Struct(layout) => match array.as_struct_opt() {
                Some(array) => Some(fields_of(layout, array)?),
                None => is_binary(array).then_some(Read::Bytes),
            },
        })
    }

    pub(crate) fn value(&self, row: usize) -> Result<Value<'_>, Fault> {
        let Some(array) = &self.array else {
            return Ok(match &self.read {
                Read::Constant(value) => value.clone(),
                _ => Value::Null,
            });
        };
        if array.is_null(row) {
            return Ok(Value::Null);
        }
        let found = match &self.read {
            Read::Constant(value) => Some(value.clone()),
            Read::Ints(values) => values.get(row).map(|value| Value::Int(*value)),
            Read::UInts(values) => values.get(row).map(|value| Value::UInt(*value)),
            Read::Floats(values) => values.get(row).map(|value| Value::Float(*value)),
            Read::Bools => array.as_boolean_opt().map(|array| Value::Bool(array.value(row))),
            Read::Text => text_at(array, row).map(|text| Value::Text(Cow::Borrowed(text))),
            Read::Bytes => bytes_at(array, row).map(|bytes| Value::Bytes(Cow::Borrowed(bytes))),
            Read::Complex(halves) => match halves.get(2 * row..2 * row + 2) {
                Some([real, imaginary]) => Some(Value::Complex(*real, *imaginary)),
                _ => None,
            },
            Read::Dictionary { keys, values } => {
                return keys.get(row).map_or(Ok(Value::Null), |key| values.value(*key));
            }
            Read::List { ends, values } => {
                let elements = ends.get(row).cloned().unwrap_or_default();
                let elements: Result<_, _> = elements.map(|index| values.value(index)).collect();
                return elements.map(Value::List);
            }
            Read::Struct { layout, columns } => {
                return blob_of(layout, columns, row).map(|blob| Value::Struct(blob.into()));
            }
        };
        Ok(found.unwrap_or(Value::Null))
    }
}

fn text_at(array: &ArrayRef, row: usize) -> Option<&str> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string_opt::<i32>()?.value(row)),
        DataType::LargeUtf8 => Some(array.as_string_opt::<i64>()?.value(row)),
        _ => Some(array.as_string_view_opt()?.value(row)),
    }
}

fn bytes_at(array: &ArrayRef, row: usize) -> Option<&[u8]> {
    match array.data_type() {
        DataType::Binary => Some(array.as_binary_opt::<i32>()?.value(row)),
        DataType::LargeBinary => Some(array.as_binary_opt::<i64>()?.value(row)),
        DataType::FixedSizeBinary(_) => Some(array.as_fixed_size_binary_opt()?.value(row)),
        _ => Some(array.as_binary_view_opt()?.value(row)),
    }
}

fn complex(array: &ArrayRef) -> Option<Read> {
    let list = array.as_fixed_size_list_opt().filter(|list| list.value_length() == 2)?;
    let halves = match list.values().data_type() {
        DataType::Float32 => floats::<Float32Type>(list.values()),
        _ => floats::<Float64Type>(list.values()),
    };
    match halves? {
        Read::Floats(halves) => Some(Read::Complex(halves)),
        _ => None,
    }
}

/// Where each list's elements are among the values.
fn ranges<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> Vec<Range<usize>> {
    let range = |pair: &[O]| match pair {
        [start, end] => start.as_usize()..end.as_usize(),
        _ => 0..0,
    };
    array.value_offsets().windows(2).map(range).collect()
}

fn list(element: &Kind, array: &ArrayRef) -> Result<Option<Read>, Fault> {
    let (ends, values) = match array.data_type() {
        DataType::List(_) => match array.as_list_opt::<i32>() {
            Some(array) => (ranges(array), array.values()),
            None => return Ok(None),
        },
        DataType::LargeList(_) => match array.as_list_opt::<i64>() {
            Some(array) => (ranges(array), array.values()),
            None => return Ok(None),
        },
        DataType::FixedSizeList(_, length) => match array.as_fixed_size_list_opt() {
            Some(array) => {
                let length = *length as usize;
                let range = |row: usize| row * length..(row + 1) * length;
                ((0..array.len()).map(range).collect(), array.values())
            }
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let values = Box::new(Column::new(element, values)?);
    Ok(Some(Read::List { ends, values }))
}

fn fields_of(layout: &Arc<Layout>, array: &arrow_array::StructArray) -> Result<Read, Fault> {
    let column = |field: &crate::Field| {
        let found = array.column_by_name(&field.name);
        let made = found.map(|column| Column::new(&field.kind, column)).transpose();
        made.map_err(|fault| fault.within(&field.name))
    };
    let columns = layout.fields().iter().map(column).collect::<Result<_, _>>()?;
    Ok(Read::Struct { layout: Arc::clone(layout), columns })
}

fn blob_of(layout: &Layout, columns: &[Option<Column>], row: usize) -> Result<Vec<u8>, Fault> {
    let mut writer = Writer::begin(layout, Vec::new());
    for (index, column) in columns.iter().enumerate() {
        let value = match column {
            Some(column) => column.value(row),
            None => layout.defaults().value(layout, index),
        };
        let written = value.and_then(|value| writer.push(&value));
        written.map_err(|fault| writer.named(fault))?;
    }
    writer.finish()
}
