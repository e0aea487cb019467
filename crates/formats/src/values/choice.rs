//! The text of each Arrow type. Types that no PostgreSQL type becomes are here too, because batches
//! can come from elsewhere; a type without a text is refused by name.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayAccessor, ArrowPrimitiveType, downcast_dictionary_array};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use half::f16;

use super::nested::{Dictionaries, Lists, Maps, Runs, Structs};
use super::scalar::{Bytes, Json, Nothing, Numerals, Primitives, Text};
use super::{Numbers, Refusal, Values};
use crate::text::{bytes, figures, moments};

const MILLIS: i64 = 1_000;
const MICROS: i64 = 1_000_000;
const NANOS: i64 = 1_000_000_000;

type Chosen<'a> = Result<Box<dyn Values + 'a>, Refusal>;

/// The extension type of text that is numbers, which PostgreSQL has printed.
pub const NUMERALS: &str = "colonnade.numerals";

/// The values of an array. The field tells JSON, numbers and UUIDs apart from plain text and bytes.
pub(super) fn values<'a>(field: &Field, array: &'a dyn Array, numbers: Numbers) -> Chosen<'a> {
    match array.data_type() {
        DataType::Null => Ok(Box::new(Nothing)),
        DataType::Boolean => Ok(Box::new(array.as_boolean())),
        DataType::Utf8 => Ok(text(field, array.as_string::<i32>())),
        DataType::LargeUtf8 => Ok(text(field, array.as_string::<i64>())),
        DataType::Utf8View => Ok(text(field, array.as_string_view())),
        DataType::Binary => Ok(bytes(array.as_binary::<i32>(), bytes::base64)),
        DataType::LargeBinary => Ok(bytes(array.as_binary::<i64>(), bytes::base64)),
        DataType::BinaryView => Ok(bytes(array.as_binary_view(), bytes::base64)),
        DataType::FixedSizeBinary(16) if has_extension(field, "arrow.uuid") => {
            Ok(bytes(array.as_fixed_size_binary(), bytes::uuid))
        }
        DataType::FixedSizeBinary(_) => Ok(bytes(array.as_fixed_size_binary(), bytes::base64)),
        other if other.is_numeric() => number(array, numbers),
        other if other.is_temporal() => moment(array),
        _ => nested(field, array, numbers),
    }
}

fn number(array: &dyn Array, numbers: Numbers) -> Chosen<'_> {
    Ok(match *array.data_type() {
        DataType::Int8 => primitive::<Int8Type>(array, figures::integer),
        DataType::Int16 => primitive::<Int16Type>(array, figures::integer),
        DataType::Int32 => primitive::<Int32Type>(array, figures::integer),
        DataType::UInt8 => primitive::<UInt8Type>(array, figures::integer),
        DataType::UInt16 => primitive::<UInt16Type>(array, figures::integer),
        DataType::UInt32 => primitive::<UInt32Type>(array, figures::integer),
        DataType::Float16 => {
            primitive::<Float16Type>(array, |value: f16, out| figures::float(value.to_f32(), out))
        }
        DataType::Float32 => primitive::<Float32Type>(array, figures::float),
        DataType::Float64 => primitive::<Float64Type>(array, figures::float),
        _ => return many_digits(array, numbers),
    })
}

/// Numbers that a double may round.
fn many_digits(array: &dyn Array, numbers: Numbers) -> Chosen<'_> {
    Ok(match (array.data_type(), numbers) {
        (DataType::Int64, Numbers::JavaScript) => primitive::<Int64Type>(array, figures::signed),
        (DataType::Int64, Numbers::Exact) => primitive::<Int64Type>(array, figures::integer),
        (DataType::UInt64, Numbers::JavaScript) => {
            primitive::<UInt64Type>(array, figures::unsigned)
        }
        (DataType::UInt64, Numbers::Exact) => primitive::<UInt64Type>(array, figures::integer),
        (&DataType::Decimal32(_, scale), _) => {
            decimals::<Decimal32Type>(array, numbers, move |value, out| {
                figures::decimal(value.into(), scale, out);
            })
        }
        (&DataType::Decimal64(_, scale), _) => {
            decimals::<Decimal64Type>(array, numbers, move |value, out| {
                figures::decimal(value.into(), scale, out);
            })
        }
        (&DataType::Decimal128(_, scale), _) => {
            decimals::<Decimal128Type>(array, numbers, move |value, out| {
                figures::decimal(value, scale, out);
            })
        }
        (&DataType::Decimal256(_, scale), _) => {
            decimals::<Decimal256Type>(array, numbers, move |value, out| {
                figures::wide_decimal(value, scale, out);
            })
        }
        _ => return Err(without_text(array)),
    })
}

fn decimals<'a, T: ArrowPrimitiveType>(
    array: &'a dyn Array,
    numbers: Numbers,
    write: impl Fn(T::Native, &mut Vec<u8>) + 'a,
) -> Box<dyn Values + 'a> {
    match numbers {
        Numbers::Exact => primitive::<T>(array, write),
        Numbers::JavaScript => {
            primitive::<T>(array, move |value, out| figures::quoted(out, |out| write(value, out)))
        }
    }
}

fn moment(array: &dyn Array) -> Chosen<'_> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    Ok(match array.data_type() {
        DataType::Date32 => primitive::<Date32Type>(array, |days, out| {
            moments::date(days.into(), out);
        }),
        DataType::Date64 => primitive::<Date64Type>(array, |millis, out| {
            moments::date(millis.div_euclid(86_400 * MILLIS), out);
        }),
        DataType::Time32(Second) => primitive::<Time32SecondType>(array, |units, out| {
            moments::time::<1>(units.into(), out);
        }),
        DataType::Time32(Millisecond) => primitive::<Time32MillisecondType>(array, |units, out| {
            moments::time::<MILLIS>(units.into(), out);
        }),
        DataType::Time64(Microsecond) => {
            primitive::<Time64MicrosecondType>(array, moments::time::<MICROS>)
        }
        DataType::Time64(Nanosecond) => {
            primitive::<Time64NanosecondType>(array, moments::time::<NANOS>)
        }
        DataType::Timestamp(unit, zone) => match unit {
            Second => timestamps::<TimestampSecondType, 1>(array, zone.is_some()),
            Millisecond => timestamps::<TimestampMillisecondType, MILLIS>(array, zone.is_some()),
            Microsecond => timestamps::<TimestampMicrosecondType, MICROS>(array, zone.is_some()),
            Nanosecond => timestamps::<TimestampNanosecondType, NANOS>(array, zone.is_some()),
        },
        DataType::Duration(unit) => match unit {
            Second => durations::<DurationSecondType, 1>(array),
            Millisecond => durations::<DurationMillisecondType, MILLIS>(array),
            Microsecond => durations::<DurationMicrosecondType, MICROS>(array),
            Nanosecond => durations::<DurationNanosecondType, NANOS>(array),
        },
        DataType::Interval(unit) => interval(array, *unit),
        _ => return Err(without_text(array)),
    })
}

fn interval(array: &dyn Array, unit: IntervalUnit) -> Box<dyn Values + '_> {
    match unit {
        IntervalUnit::YearMonth => primitive::<IntervalYearMonthType>(array, |months, out| {
            moments::interval::<1>(months, 0, 0, out);
        }),
        IntervalUnit::DayTime => primitive::<IntervalDayTimeType>(array, |value, out| {
            moments::interval::<MILLIS>(0, value.days, value.milliseconds.into(), out);
        }),
        IntervalUnit::MonthDayNano => primitive::<IntervalMonthDayNanoType>(array, |value, out| {
            moments::interval::<NANOS>(value.months, value.days, value.nanoseconds, out);
        }),
    }
}

fn nested<'a>(field: &Field, array: &'a dyn Array, numbers: Numbers) -> Chosen<'a> {
    Ok(match array.data_type() {
        DataType::List(item) => Box::new(Lists::new(array.as_list::<i32>(), item, numbers)?),
        DataType::LargeList(item) => Box::new(Lists::new(array.as_list::<i64>(), item, numbers)?),
        DataType::ListView(item) => {
            Box::new(Lists::new(array.as_list_view::<i32>(), item, numbers)?)
        }
        DataType::LargeListView(item) => {
            Box::new(Lists::new(array.as_list_view::<i64>(), item, numbers)?)
        }
        DataType::FixedSizeList(item, _) => {
            Box::new(Lists::new(array.as_fixed_size_list(), item, numbers)?)
        }
        DataType::Struct(_) => Box::new(Structs::new(array.as_struct(), numbers)?),
        DataType::Map(..) => Box::new(Maps::new(array.as_map(), numbers)?),
        DataType::Dictionary(..) => downcast_dictionary_array!(
            array => Box::new(Dictionaries::new(field, array, numbers)?),
            _ => return Err(without_text(array)),
        ),
        DataType::RunEndEncoded(ends, value) => match ends.data_type() {
            DataType::Int16 => Box::new(Runs::new(value, array.as_run::<Int16Type>(), numbers)?),
            DataType::Int32 => Box::new(Runs::new(value, array.as_run::<Int32Type>(), numbers)?),
            DataType::Int64 => Box::new(Runs::new(value, array.as_run::<Int64Type>(), numbers)?),
            _ => return Err(without_text(array)),
        },
        _ => return Err(without_text(array)),
    })
}

fn primitive<'a, T: ArrowPrimitiveType>(
    array: &'a dyn Array,
    write: impl Fn(T::Native, &mut Vec<u8>) + 'a,
) -> Box<dyn Values + 'a> {
    Box::new(Primitives { array: array.as_primitive::<T>(), write })
}

fn timestamps<T: ArrowPrimitiveType<Native = i64>, const UNITS_OF_SECOND: i64>(
    array: &dyn Array,
    is_instant: bool,
) -> Box<dyn Values + '_> {
    primitive::<T>(array, move |units, out| {
        moments::timestamp::<UNITS_OF_SECOND>(units, is_instant, out);
    })
}

fn durations<T: ArrowPrimitiveType<Native = i64>, const UNITS_OF_SECOND: i64>(
    array: &dyn Array,
) -> Box<dyn Values + '_> {
    primitive::<T>(array, |units, out| moments::interval::<UNITS_OF_SECOND>(0, 0, units, out))
}

fn text<'a, A: ArrayAccessor<Item = &'a str> + 'a>(
    field: &Field,
    array: A,
) -> Box<dyn Values + 'a> {
    if has_extension(field, "arrow.json") {
        Box::new(Json(array))
    } else if has_extension(field, NUMERALS) {
        Box::new(Numerals(array))
    } else {
        Box::new(Text(array))
    }
}

fn bytes<'a, A: ArrayAccessor<Item = &'a [u8]> + 'a>(
    array: A,
    write: fn(&[u8], &mut Vec<u8>),
) -> Box<dyn Values + 'a> {
    Box::new(Bytes { array, write })
}

/// Whether the field is of this extension type.
fn has_extension(field: &Field, name: &str) -> bool {
    field.metadata().get(EXTENSION_TYPE_NAME_KEY).is_some_and(|given| given == name)
}

fn without_text(array: &dyn Array) -> Refusal {
    Refusal(format!(
        "has values of the type {}, which has no text in JSON or CSV: the Arrow format has it",
        array.data_type()
    ))
}
