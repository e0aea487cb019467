//! Selects the encoder from an Arrow type to a PostgreSQL type.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use colonnade_protocol::Format;

use super::cells::AllNull;
use super::indexed::{IndexedEncoder, indexes};
use super::integer::Target;
use super::{CastError, ColumnEncoder, EncodeOptions};
use super::{bytes, decimal, figures, float, integer, moment, nested, neutral, pair, text_form};
use crate::types::{PgType, Shape, Type};

/// The version byte at the start of a `jsonb` value.
const JSONB_VERSION: u8 = 1;

/// The encoder of an array's values to a type. `type_modifier` is the column's, -1 for none.
///
/// # Errors
/// There is no cast between the types.
pub fn column_encoder(
    target: &Arc<Type>,
    type_modifier: i32,
    array: &ArrayRef,
    options: &EncodeOptions,
) -> Result<Box<dyn ColumnEncoder>, CastError> {
    match &target.shape {
        // Users' codecs apply to Python objects only.
        Shape::Custom { under, .. } => return column_encoder(under, type_modifier, array, options),
        Shape::Domain { base, type_modifier: own } => {
            let type_modifier = if *own >= 0 { *own } else { type_modifier };
            return column_encoder(base, type_modifier, array, options);
        }
        _ => {}
    }
    if *array.data_type() == DataType::Null {
        return Ok(Box::new(AllNull));
    }
    if let Some(indexes) = indexes(array) {
        // It has NULLs alone, as Polars' enum without labels.
        if indexes.values.is_empty() {
            return Ok(Box::new(AllNull));
        }
        let values = column_encoder(target, type_modifier, &indexes.values, options)?;
        return Ok(IndexedEncoder::boxed(indexes, values));
    }
    if target.parameter_format() == Format::Text {
        let advice = "values of the type are sent as text only, and this form is binary; \
                      send text instead";
        return Err(refused(target, array, advice.to_owned()));
    }
    let encoder = match &target.shape {
        Shape::Scalar(line) => scalar(line, target, type_modifier, array, options),
        Shape::Array(element) => nested::list(target, element, type_modifier, array, options)?,
        Shape::Composite(attributes) => nested::composite(target, attributes, array, options)?,
        Shape::Range(subtype) => nested::range(subtype, array, options)?,
        Shape::Multirange(subtype) => nested::multirange(subtype, array, options)?,
        // The server checks the labels.
        Shape::Enum(_) => bytes::text(array, None),
        Shape::Opaque => bytes::binary(array),
        _ => None,
    };
    encoder.ok_or_else(|| refused(target, array, advice(target, array.data_type())))
}

/// The encoder of an array's values to a copied column: to their text, if the type [is text
/// only](Type::is_text_only).
///
/// # Errors
/// There is no cast between the types.
pub fn copied_encoder(
    target: &Arc<Type>,
    type_modifier: i32,
    array: &ArrayRef,
    options: &EncodeOptions,
) -> Result<Box<dyn ColumnEncoder>, CastError> {
    if target.is_text_only() {
        text_form::encoder(target, type_modifier, array, options)
    } else {
        column_encoder(target, type_modifier, array, options)
    }
}

/// The error for a missing cast.
pub(super) fn refused(target: &Type, array: &dyn Array, advice: String) -> CastError {
    CastError {
        column: String::new(),
        arrow_type: array.data_type().to_string(),
        type_name: target.name.clone(),
        advice,
    }
}

fn scalar(
    line: &'static PgType,
    target: &Arc<Type>,
    type_modifier: i32,
    array: &ArrayRef,
    options: &EncodeOptions,
) -> Option<Box<dyn ColumnEncoder>> {
    match line.name {
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
        "numeric" => decimal::encoder(array, type_modifier, options),
        "text" | "varchar" | "bpchar" | "name" | "json" | "xml" | "unknown" | "citext"
        | "cstring" | "refcursor" => bytes::text(array, None),
        "jsonb" => bytes::text(array, Some(JSONB_VERSION)),
        "bytea" => bytes::binary(array),
        "uuid" => bytes::uuid(array).or_else(|| neutral::encoder(target, array)),
        "date" => moment::date(array, options),
        "time" => moment::time(array, options),
        "timestamp" => moment::timestamp(false, array, options),
        "timestamptz" => moment::timestamp(true, array, options),
        "interval" => moment::interval(array, options).or_else(|| neutral::encoder(target, array)),
        _ => figures::encoder(line.kind, target, array)
            .or_else(|| pair::encoder(line.kind, target, array))
            .or_else(|| neutral::encoder(target, array)),
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

/// The advice for a missing cast.
fn advice(target: &Type, arrow_type: &DataType) -> String {
    match (target.name.as_str(), arrow_type) {
        ("timestamptz", DataType::Timestamp(..)) => {
            "without a time zone it names no moment; give the column its time zone before: \
             .dt.tz_localize(\"UTC\") in pandas, .dt.replace_time_zone(\"UTC\") in Polars, \
             .cast(pa.timestamp(\"us\", \"UTC\")) in pyarrow"
                .to_owned()
        }
        ("timestamptz", DataType::Date32 | DataType::Date64) => {
            "without a time zone it names no moment; make it a timestamp with a time zone before"
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
        (name, _) => match &target.shape {
            Shape::Scalar(line) => format!(
                "cast the column before, {name} comes from {}; or give the table another type",
                line.arrow
            ),
            Shape::Array(_) => "it comes from lists of what its elements come from".to_owned(),
            Shape::Composite(_) => "it comes from structs with fields of its names".to_owned(),
            Shape::Range(_) => format!("it comes from structs with the fields {}", nested::BOUNDS),
            Shape::Multirange(_) => {
                format!("it comes from lists of structs with the fields {}", nested::BOUNDS)
            }
            Shape::Enum(_) => "it comes from strings".to_owned(),
            Shape::Opaque => "for an unknown type only bytes can be sent".to_owned(),
            _ => "PostgreSQL takes no such values as input".to_owned(),
        },
    }
}
