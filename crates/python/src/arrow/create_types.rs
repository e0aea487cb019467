//! The PostgreSQL types of a table created for Arrow columns.

use arrow_schema::{DataType, Field};

use crate::arrow::names::arrow_type_name;

/// The SQL type that can hold every value of the field; or the reason why there is none.
pub(crate) fn sql_type(field: &Field) -> Result<String, String> {
    match field.extension_type_name() {
        Some("arrow.uuid") => return Ok("uuid".to_owned()),
        Some("arrow.json") => return Ok("jsonb".to_owned()),
        _ => {}
    }
    let name = match field.data_type() {
        DataType::Boolean => "boolean",
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => "smallint",
        DataType::Int32 | DataType::UInt16 => "integer",
        DataType::Int64 | DataType::UInt32 => "bigint",
        DataType::UInt64 => "numeric(20)",
        DataType::Float16 | DataType::Float32 => "real",
        DataType::Float64 => "double precision",
        DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text",
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "bytea",
        DataType::Date32 | DataType::Date64 => "date",
        DataType::Time32(_) | DataType::Time64(_) => "time",
        DataType::Timestamp(_, None) => "timestamp",
        DataType::Timestamp(_, Some(_)) => "timestamptz",
        DataType::Duration(_) | DataType::Interval(_) => "interval",
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => {
            return Ok(format!("numeric({precision}, {scale})"));
        }
        DataType::Dictionary(_, values) => {
            return sql_type(&Field::new("", values.as_ref().clone(), true));
        }
        DataType::RunEndEncoded(_, values) => return sql_type(values),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => return array_type(item),
        DataType::Map(..) => {
            return Err(
                "a map needs the type hstore: create the table first, with the extension that \
                        provides this type"
                    .to_owned(),
            );
        }
        other => {
            return Err(format!(
                "no type stands for Arrow's {}: create the table first, with a composite type",
                arrow_type_name(other)
            ));
        }
    };
    Ok(name.to_owned())
}

/// A list within a list adds a dimension to the same array type.
fn array_type(item: &Field) -> Result<String, String> {
    let mut name = sql_type(item)?;
    if !name.ends_with("[]") {
        name.push_str("[]");
    }
    Ok(name)
}
