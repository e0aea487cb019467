//! The Arrow types of fields.

use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Fields, IntervalUnit, TimeUnit};

use crate::kind::{Kind, Scalar, Unit};
use crate::{Field, Layout};

/// The field of an Arrow column for a field of a struct. Columns may have NULLs where structs have
/// none: a whole blob may be NULL.
#[must_use]
pub fn arrow_field(field: &Field) -> ArrowField {
    ArrowField::new(&field.name, arrow_type(&field.kind), true)
}

/// The fields of a struct at these positions.
pub(crate) fn arrow_fields(layout: &Layout, wanted: &[usize]) -> Fields {
    let fields = wanted.iter().filter_map(|index| layout.fields().get(*index));
    fields.map(arrow_field).collect()
}

/// The element field of a list.
pub(crate) fn item(kind: &Kind) -> Arc<ArrowField> {
    Arc::new(ArrowField::new("item", arrow_type(kind), true))
}

pub(crate) fn arrow_type(kind: &Kind) -> DataType {
    match kind {
        Kind::Scalar(scalar) => scalar_type(*scalar),
        Kind::Str => DataType::Utf8,
        Kind::Bytes => DataType::Binary,
        Kind::List { element, .. } => DataType::List(item(element)),
        Kind::Struct(layout) => {
            let all: Vec<usize> = (0..layout.fields().len()).collect();
            DataType::Struct(arrow_fields(layout, &all))
        }
    }
}

fn scalar_type(scalar: Scalar) -> DataType {
    match scalar {
        Scalar::Bool => DataType::Boolean,
        Scalar::Int(1) => DataType::Int8,
        Scalar::Int(2) => DataType::Int16,
        Scalar::Int(4) => DataType::Int32,
        Scalar::Int(_) => DataType::Int64,
        Scalar::UInt(1) => DataType::UInt8,
        Scalar::UInt(2) => DataType::UInt16,
        Scalar::UInt(4) => DataType::UInt32,
        Scalar::UInt(_) => DataType::UInt64,
        Scalar::Float(2) => DataType::Float16,
        Scalar::Float(4) => DataType::Float32,
        Scalar::Float(_) => DataType::Float64,
        Scalar::Complex(size) => {
            let part = Kind::Scalar(Scalar::Float(size / 2));
            DataType::FixedSizeList(item(&part), 2)
        }
        Scalar::Datetime(unit) => match unit {
            Unit::Year | Unit::Month | Unit::Week | Unit::Day => DataType::Date32,
            Unit::Picosecond | Unit::Femtosecond | Unit::Attosecond => DataType::Int64,
            unit => DataType::Timestamp(time_unit(unit), None),
        },
        Scalar::Timedelta(unit) => match unit {
            Unit::Year | Unit::Month => DataType::Interval(IntervalUnit::YearMonth),
            Unit::Picosecond | Unit::Femtosecond | Unit::Attosecond => DataType::Int64,
            unit => DataType::Duration(time_unit(unit)),
        },
        Scalar::Chars(_) | Scalar::Ascii(_) => DataType::Utf8,
        Scalar::Bytes(_) => DataType::Binary,
    }
}

/// Arrow's unit for one of NumPy's; the larger ones become seconds.
fn time_unit(unit: Unit) -> TimeUnit {
    match unit {
        Unit::Millisecond => TimeUnit::Millisecond,
        Unit::Microsecond => TimeUnit::Microsecond,
        Unit::Nanosecond => TimeUnit::Nanosecond,
        _ => TimeUnit::Second,
    }
}

/// How many of Arrow's units one of NumPy's has, for a type with a fixed ratio.
pub(crate) fn arrow_units(scalar: Scalar) -> i64 {
    let unit = match scalar {
        Scalar::Datetime(unit) | Scalar::Timedelta(unit) => unit,
        _ => return 1,
    };
    match (scalar, unit) {
        (Scalar::Datetime(_), Unit::Week) => 7,
        (Scalar::Timedelta(_), Unit::Year) => 12,
        (Scalar::Timedelta(_), Unit::Week) => 7 * 86_400,
        (Scalar::Timedelta(_), Unit::Day) => 86_400,
        (_, Unit::Hour) => 3_600,
        (_, Unit::Minute) => 60,
        _ => 1,
    }
}

/// The days from 1970-01-01 to the first of a month, by months from January 1970; the calendar is
/// the Gregorian one. None if Arrow's dates do not reach it.
pub(crate) fn days_to_month(months: i64) -> Option<i32> {
    let (year, month) = (months.div_euclid(12).checked_add(1970)?, months.rem_euclid(12));
    // Years that begin with March have their leap day at the end.
    let year = if month < 2 { year.checked_sub(1)? } else { year };
    let since_march = (month + 10) % 12;
    let days =
        year.checked_mul(365)? + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    i32::try_from(days.checked_add((153 * since_march + 2) / 5)? - 719_468).ok()
}
