//! Which encoder writes an Arrow type to a PostgreSQL type.

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::cells::AllNull;
use super::indexed::{IndexedEncoder, indexes};
use super::integer::Target;
use super::{CastError, ColumnEncoder, EncodeOptions};
use super::{bytes, decimal, float, integer, moment, neutral};
use crate::types::PgType;

/// `jsonb` begins with its version on the wire.
const JSONB_VERSION: u8 = 1;

/// The encoder of an array's values to a type. `type_modifier` is what the column was declared with,
/// -1 for nothing.
///
/// # Errors
/// No cast from the one to the other is made.
pub fn column_encoder(
    target: &'static PgType,
    type_modifier: i32,
    array: &ArrayRef,
    options: &EncodeOptions,
) -> Result<Box<dyn ColumnEncoder>, CastError> {
    if *array.data_type() == DataType::Null {
        return Ok(Box::new(AllNull));
    }
    if let Some(indexes) = indexes(array) {
        let values = column_encoder(target, type_modifier, &indexes.values, options)?;
        return Ok(IndexedEncoder::boxed(indexes, values));
    }
    scalar(target, type_modifier, array, options).ok_or_else(|| CastError {
        column: String::new(),
        arrow_type: array.data_type().to_string(),
        type_name: target.name.to_owned(),
        advice: advice(target, array.data_type()),
    })
}

fn scalar(
    target: &'static PgType,
    type_modifier: i32,
    array: &ArrayRef,
    options: &EncodeOptions,
) -> Option<Box<dyn ColumnEncoder>> {
    if target.send.is_empty() {
        return None;
    }
    match target.name {
        "bool" => integer::boolean(array),
        "int2" => integer::encoder::<i16, 2>(of::<i16>("int2"), array, options),
        "int4" => integer::encoder::<i32, 4>(of::<i32>("int4"), array, options),
        "int8" => {
            let target = Target { type_name: "int8", least: i64::MIN, most: i64::MAX };
            integer::encoder::<i64, 8>(target, array, options)
        }
        name @ ("oid" | "xid" | "cid") => {
            integer::encoder::<u32, 4>(of::<u32>(name), array, options)
        }
        "float4" => float::encoder::<f32, 4>(array, options),
        "float8" => float::encoder::<f64, 8>(array, options),
        "numeric" => decimal::encoder(array, type_modifier),
        "text" | "varchar" | "bpchar" | "name" | "json" | "xml" | "unknown" | "citext" => {
            bytes::text(array, None)
        }
        "jsonb" => bytes::text(array, Some(JSONB_VERSION)),
        "bytea" => bytes::binary(array),
        "uuid" => bytes::uuid(array).or_else(|| neutral::encoder(target, array)),
        "date" => moment::date(array, options),
        "time" => moment::time(array, options),
        "timestamp" => moment::timestamp(false, array, options),
        "timestamptz" => moment::timestamp(true, array, options),
        "interval" => moment::interval(array, options).or_else(|| neutral::encoder(target, array)),
        _ => neutral::encoder(target, array),
    }
}

/// The range of an integer type that is narrower than 64 bits.
fn of<W: Bounds>(type_name: &'static str) -> Target {
    Target { type_name, least: W::LEAST, most: W::MOST }
}

trait Bounds {
    const LEAST: i64;
    const MOST: i64;
}

macro_rules! bounds {
    ($($integer:ty),*) => {$(
        impl Bounds for $integer {
            const LEAST: i64 = <$integer>::MIN as i64;
            const MOST: i64 = <$integer>::MAX as i64;
        }
    )*};
}

bounds!(i16, i32, u32);

/// What to do about a cast that is not made.
fn advice(target: &PgType, arrow_type: &DataType) -> String {
    match (target.name, arrow_type) {
        _ if target.send.is_empty() => "the type has no binary form; copy text instead".to_owned(),
        ("timestamptz", DataType::Timestamp(..) | DataType::Date32 | DataType::Date64) => {
            "without a time zone it names no moment; give the column its time zone before"
                .to_owned()
        }
        ("timestamp", DataType::Timestamp(..)) => {
            "the clock time depends on a time zone; take the zone off the column before, or give \
             the table timestamptz"
                .to_owned()
        }
        ("float4", DataType::Float64) => {
            "most values would be rounded; cast the column to float32 before, or give the table \
             float8"
                .to_owned()
        }
        ("numeric", DataType::Float16 | DataType::Float32 | DataType::Float64) => {
            "how many digits are meant is not known; cast the column to a decimal before, or give \
             the table float8"
                .to_owned()
        }
        (name, _) => {
            let arrow = target.arrow;
            format!(
                "cast the column before, {name} comes from {arrow}; or give the table another type"
            )
        }
    }
}
