//! The PostgreSQL types of a table created for Arrow columns.

use arrow_schema::{DataType, Field};

use crate::names::arrow_type_name;

/// The SQL type that can hold every value of the field; or the reason why there is none.
pub fn sql_type(field: &Field) -> Result<String, String> {
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow_schema::{DataType, Field, TimeUnit};

    use super::sql_type;

    fn of(data_type: DataType) -> Result<String, String> {
        sql_type(&Field::new("a", data_type, true))
    }

    #[test]
    fn an_unsigned_number_has_the_next_larger_type() {
        for (data_type, expected) in [
            (DataType::UInt8, "smallint"),
            (DataType::UInt16, "integer"),
            (DataType::UInt32, "bigint"),
            (DataType::UInt64, "numeric(20)"),
        ] {
            assert_eq!(of(data_type), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn what_wraps_values_has_their_type() {
        let item = |data_type| Arc::new(Field::new("item", data_type, true));
        let keyed = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::LargeUtf8));
        assert_eq!(of(keyed.clone()), Ok("text".to_owned()));
        let inner = DataType::FixedSizeList(item(keyed), 2);
        assert_eq!(of(inner.clone()), Ok("text[]".to_owned()));
        // A list of lists is an array of two dimensions.
        assert_eq!(of(DataType::LargeList(item(inner))), Ok("text[]".to_owned()));
        let ends = DataType::RunEndEncoded(item(DataType::Int32), item(DataType::Decimal128(5, 2)));
        assert_eq!(of(ends), Ok("numeric(5, 2)".to_owned()));
    }

    #[test]
    fn a_time_zone_makes_a_timestamptz() {
        let zoned = DataType::Timestamp(TimeUnit::Second, Some("Asia/Tokyo".into()));
        assert_eq!(of(zoned), Ok("timestamptz".to_owned()));
        let naive = DataType::Timestamp(TimeUnit::Second, None);
        assert_eq!(of(naive), Ok("timestamp".to_owned()));
    }

    #[test]
    fn extension_types_have_their_own() {
        let extension = |name: &str, data_type| {
            let metadata = ("ARROW:extension:name".to_owned(), name.to_owned());
            sql_type(&Field::new("a", data_type, true).with_metadata(HashMap::from([metadata])))
        };
        let raw = DataType::FixedSizeBinary(16);
        assert_eq!(extension("arrow.uuid", raw.clone()), Ok("uuid".to_owned()));
        assert_eq!(extension("arrow.json", DataType::Utf8), Ok("jsonb".to_owned()));
        assert_eq!(extension("other", raw), Ok("bytea".to_owned()));
    }

    #[test]
    fn maps_and_structs_say_what_to_do() {
        let entries = Arc::new(Field::new("entries", DataType::Null, false));
        assert!(of(DataType::Map(entries, false)).unwrap_err().contains("hstore"));
        let fields = vec![Field::new("x", DataType::Int32, false)].into();
        assert_eq!(
            of(DataType::Struct(fields)).unwrap_err(),
            "no type stands for Arrow's struct<x: int32 not null>: create the table first, with a \
             composite type"
        );
    }
}
