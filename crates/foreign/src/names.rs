//! The names of Arrow types: as in pyarrow, but for strings, floats and dates the unambiguous names
//! of Arrow's format.

use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use colonnade_columnar::CellEncoding;

/// The name of a type.
pub fn arrow_type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Boolean => "bool".to_owned(),
        DataType::Timestamp(unit, None) => format!("timestamp[{}]", unit_name(*unit)),
        DataType::Timestamp(unit, Some(zone)) => format!("timestamp[{}, {zone}]", unit_name(*unit)),
        DataType::Time32(unit) => format!("time32[{}]", unit_name(*unit)),
        DataType::Time64(unit) => format!("time64[{}]", unit_name(*unit)),
        DataType::Duration(unit) => format!("duration[{}]", unit_name(*unit)),
        DataType::Interval(IntervalUnit::YearMonth) => "month_interval".to_owned(),
        DataType::Interval(IntervalUnit::DayTime) => "day_time_interval".to_owned(),
        DataType::Interval(IntervalUnit::MonthDayNano) => "month_day_nano_interval".to_owned(),
        DataType::FixedSizeBinary(width) => format!("fixed_size_binary[{width}]"),
        DataType::Decimal128(precision, scale) => format!("decimal128({precision}, {scale})"),
        DataType::Decimal256(precision, scale) => format!("decimal256({precision}, {scale})"),
        DataType::LargeUtf8 => "large_utf8".to_owned(),
        DataType::Utf8View => "utf8_view".to_owned(),
        DataType::LargeBinary => "large_binary".to_owned(),
        DataType::BinaryView => "binary_view".to_owned(),
        DataType::List(item) => format!("list<{}>", field_name(item)),
        DataType::LargeList(item) => format!("large_list<{}>", field_name(item)),
        DataType::FixedSizeList(item, size) => {
            format!("fixed_size_list<{}>[{size}]", field_name(item))
        }
        DataType::Struct(fields) => {
            let fields: Vec<_> = fields.iter().map(|field| field_name(field)).collect();
            format!("struct<{}>", fields.join(", "))
        }
        DataType::Map(entries, keys_sorted) => map_name(entries, *keys_sorted),
        DataType::Dictionary(indices, values) => {
            let (indices, values) = (arrow_type_name(indices), arrow_type_name(values));
            format!("dictionary<values={values}, indices={indices}, ordered=0>")
        }
        // The other types have Rust's names in lower case.
        other => other.to_string().to_lowercase(),
    }
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

/// `name: type`, with `not null` if the field is not nullable.
fn field_name(field: &Field) -> String {
    let not_null = if field.is_nullable() { "" } else { " not null" };
    format!("{}: {}{not_null}", field.name(), arrow_type_name(field.data_type()))
}

/// A map's fields show their names only if they differ from the default.
fn map_name(entries: &Field, keys_sorted: bool) -> String {
    let unusual = |field: &Field, usual: &str| match field.name().as_str() {
        name if name == usual => String::new(),
        name => format!(" ('{name}')"),
    };
    let part = |field: &Field, usual: &str| {
        format!("{}{}", arrow_type_name(field.data_type()), unusual(field, usual))
    };
    let (key, value) = match entries.data_type() {
        DataType::Struct(fields) => match fields.as_ref() {
            [key, value] => (part(key, "key"), part(value, "value")),
            _ => return "map".to_owned(),
        },
        _ => return "map".to_owned(),
    };
    let sorted = if keys_sorted { ", keys_sorted" } else { "" };
    format!("map<{key}, {value}{sorted}{}>", unusual(entries, "entries"))
}

/// The name of a field's type as in pyarrow; for cells, as in NumPy.
pub fn field_type_name(field: &Field) -> String {
    match (CellEncoding::of(field), field.data_type()) {
        (Some(encoding), DataType::FixedSizeBinary(width)) => encoding.dtype(*width),
        (_, data_type) => arrow_type_name(data_type),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};

    use super::{arrow_type_name, field_type_name};

    #[test]
    fn names_are_those_of_pyarrow() {
        let item = Arc::new(Field::new("item", DataType::Int16, false));
        for (data_type, expected) in [
            (DataType::Boolean, "bool"),
            (DataType::Float64, "float64"),
            (DataType::Utf8, "utf8"),
            (DataType::Date32, "date32"),
            (DataType::Timestamp(TimeUnit::Millisecond, None), "timestamp[ms]"),
            (DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), "timestamp[us, UTC]"),
            (DataType::Duration(TimeUnit::Nanosecond), "duration[ns]"),
            (DataType::Interval(IntervalUnit::MonthDayNano), "month_day_nano_interval"),
            (DataType::Decimal128(5, -2), "decimal128(5, -2)"),
            (DataType::List(Arc::clone(&item)), "list<item: int16 not null>"),
            (DataType::FixedSizeList(item, 3), "fixed_size_list<item: int16 not null>[3]"),
            (
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
                "dictionary<values=utf8, indices=int32, ordered=0>",
            ),
        ] {
            assert_eq!(arrow_type_name(&data_type), expected);
        }
    }

    #[test]
    fn a_map_names_unusual_fields() {
        let of = |key: &str, entries: &str, sorted| {
            let fields = vec![
                Field::new(key, DataType::Utf8, false),
                Field::new("value", DataType::Int8, true),
            ];
            let entries = Field::new(entries, DataType::Struct(fields.into()), false);
            arrow_type_name(&DataType::Map(Arc::new(entries), sorted))
        };
        assert_eq!(of("key", "entries", false), "map<utf8, int8>");
        assert_eq!(of("k", "kv", true), "map<utf8 ('k'), int8, keys_sorted ('kv')>");
        let odd = Field::new("entries", DataType::Int8, false);
        assert_eq!(arrow_type_name(&DataType::Map(Arc::new(odd), false)), "map");
    }

    #[test]
    fn a_field_without_cells_has_the_name_of_its_type() {
        let field = Field::new("a", DataType::FixedSizeBinary(4), true);
        assert_eq!(field_type_name(&field), "fixed_size_binary[4]");
    }
}
