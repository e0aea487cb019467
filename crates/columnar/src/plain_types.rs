//! A profile of plain types: batches without the types that some libraries lack, even within lists
//! and structs. Polars is one; it panics on some of them.
//!
//! 256-bit decimals become decimals of 38 digits if all values fit, otherwise text. Intervals
//! become durations, with a day as 24 hours, if none has months, otherwise text. A uuid becomes its
//! text, because its bytes are unreadable. Other extension types become their storage types.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal256Type, IntervalMonthDayNanoType};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, DurationMicrosecondArray, FixedSizeBinaryArray, RecordBatch,
    StringArray, make_array,
};
use arrow_buffer::IntervalMonthDayNano;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{ArrowError, DECIMAL128_MAX_PRECISION, DataType, Field, FieldRef, Fields};
use arrow_schema::{IntervalUnit, Schema};

use crate::export::{StringLayout, with_string_layout};
use crate::interval_text::interval_text;
use crate::joined::joined;
use crate::table::{Parts, Table};
use crate::trusted;

const DAY_MICROS: i64 = 86_400_000_000;
const NANOS_OF_MICRO: i64 = 1_000;
const UUID: &str = "arrow.uuid";
const UUID_TEXT_BYTES: usize = 36;

/// The positions of columns that were converted to text.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct AsText {
    /// Because their decimals have too many digits.
    pub decimals: Vec<usize>,
    /// Because their intervals have months.
    pub intervals: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Texted {
    Decimal,
    Interval,
}

/// The table with plain types. Its chunks are converted one by one; only a column that some of them
/// could not convert is joined first, so that all of it becomes text.
///
/// # Errors
/// An error of Arrow's when the columns are rebuilt.
pub fn with_plain_types(table: &Table) -> Result<(Table, AsText), ArrowError> {
    // An extension type marks fixed-width cells, so they must become text before it is removed.
    let chunks = table.chunks().into_iter();
    let chunks = chunks.map(|chunk| with_string_layout(&chunk, StringLayout::Small));
    let chunks: Vec<RecordBatch> = chunks.collect();
    let schema = chunks.first().map_or_else(|| Arc::clone(table.schema()), RecordBatch::schema);
    let mut as_text = AsText::default();
    let mut fields = Vec::with_capacity(schema.fields().len());
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (index, field) in schema.fields().iter().enumerate() {
        let parts = chunks.iter().filter_map(|chunk| chunk.columns().get(index));
        let mut texted = BTreeSet::new();
        let (data_type, converted) = convert_parts(field, parts, &mut texted)?;
        fields.push(plain_field(field, &data_type));
        columns.push(converted);
        for kind in texted {
            match kind {
                Texted::Decimal => as_text.decimals.push(index),
                Texted::Interval => as_text.intervals.push(index),
            }
        }
    }
    let lengths: Vec<usize> = chunks.iter().map(RecordBatch::num_rows).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    Ok((Table::of_parts(schema, columns, &lengths), as_text))
}

/// The chunks of a column, converted, and their common type.
fn convert_parts<'a>(
    field: &Field,
    parts: impl Iterator<Item = &'a ArrayRef> + Clone,
    texted: &mut BTreeSet<Texted>,
) -> Result<(DataType, Parts), ArrowError> {
    let converted = parts.clone().map(|part| convert(field, part, texted));
    let converted = converted.collect::<Result<Vec<_>, _>>()?;
    if let Some((first, others)) = converted.split_first()
        && others.iter().all(|part| part.data_type() == first.data_type())
    {
        return Ok((first.data_type().clone(), Parts::Chunks(converted)));
    }
    let whole = joined(&parts.map(Arc::clone).collect::<Vec<_>>())?;
    let whole = convert(field, &whole, texted)?;
    Ok((whole.data_type().clone(), Parts::Whole(whole)))
}

/// The field of a type, without its extension type.
fn plain_field(field: &Field, data_type: &DataType) -> FieldRef {
    let mut metadata = field.metadata().clone();
    metadata.remove(EXTENSION_TYPE_NAME_KEY);
    metadata.remove(EXTENSION_TYPE_METADATA_KEY);
    Arc::new(field.clone().with_data_type(data_type.clone()).with_metadata(metadata))
}

fn convert(
    field: &Field,
    column: &ArrayRef,
    texted: &mut BTreeSet<Texted>,
) -> Result<ArrayRef, ArrowError> {
    match column.data_type() {
        DataType::FixedSizeBinary(16) if field.extension_type_name() == Some(UUID) => {
            Ok(uuid_texts(column.as_fixed_size_binary()))
        }
        DataType::Decimal256(_, scale) => Ok(match to_decimal128(column.as_ref(), *scale)? {
            Some(narrow) => narrow,
            None => {
                texted.insert(Texted::Decimal);
                decimal_text(column.as_ref())
            }
        }),
        DataType::Interval(IntervalUnit::MonthDayNano) => Ok(match to_duration(column.as_ref()) {
            Some(durations) => durations,
            None => {
                texted.insert(Texted::Interval);
                Arc::new(interval_texts(column.as_ref()))
            }
        }),
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::Struct(_)
        | DataType::Map(..) => {
            let data = column.to_data();
            let parts = data.child_data().iter().map(|part| make_array(part.clone()));
            let fields = part_fields(column.data_type());
            let parts = fields.iter().zip(parts).map(|(field, part)| convert(field, &part, texted));
            let parts = parts.collect::<Result<Vec<_>, _>>()?;
            let data_type = of_parts(column.data_type(), &parts);
            let children = parts.iter().map(|part| part.to_data()).collect();
            Ok(trusted::with_children(data, data_type, children))
        }
        _ => Ok(Arc::clone(column)),
    }
}

/// The fields of a column's parts, in the order of its child data.
fn part_fields(data_type: &DataType) -> Vec<FieldRef> {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => vec![Arc::clone(item)],
        DataType::Struct(fields) => fields.iter().map(Arc::clone).collect(),
        _ => Vec::new(),
    }
}

/// The type of a column whose parts were converted to these.
fn of_parts(data_type: &DataType, parts: &[ArrayRef]) -> DataType {
    let part_type =
        |index: usize| parts.get(index).map_or(&DataType::Null, |part| part.data_type());
    match data_type {
        DataType::List(item) => DataType::List(plain_field(item, part_type(0))),
        DataType::LargeList(item) => DataType::LargeList(plain_field(item, part_type(0))),
        DataType::FixedSizeList(item, size) => {
            DataType::FixedSizeList(plain_field(item, part_type(0)), *size)
        }
        DataType::Map(entries, is_sorted) => {
            DataType::Map(plain_field(entries, part_type(0)), *is_sorted)
        }
        DataType::Struct(fields) => {
            let fields = fields.iter().enumerate();
            let fields = fields.map(|(index, field)| plain_field(field, part_type(index)));
            DataType::Struct(fields.collect::<Fields>())
        }
        other => other.clone(),
    }
}

/// `None` if a value has more digits than the type.
fn to_decimal128(column: &dyn Array, scale: i8) -> Result<Option<ArrayRef>, ArrowError> {
    if i16::from(scale) > i16::from(DECIMAL128_MAX_PRECISION) {
        return Ok(None);
    }
    let limit = 10_i128.pow(u32::from(DECIMAL128_MAX_PRECISION));
    let narrow: Option<Vec<Option<i128>>> = column
        .as_primitive::<Decimal256Type>()
        .iter()
        .map(|value| match value {
            None => Some(None),
            Some(value) => value.to_i128().filter(|value| value.abs() < limit).map(Some),
        })
        .collect();
    let Some(values) = narrow else { return Ok(None) };
    let array =
        Decimal128Array::from(values).with_precision_and_scale(DECIMAL128_MAX_PRECISION, scale)?;
    Ok(Some(Arc::new(array)))
}

fn decimal_text(column: &dyn Array) -> ArrayRef {
    let decimals = column.as_primitive::<Decimal256Type>();
    let text = |row| decimals.is_valid(row).then(|| decimals.value_as_string(row));
    Arc::new((0..decimals.len()).map(text).collect::<StringArray>())
}

/// As the server prints them: 32 digits in five groups.
fn uuid_texts(uuids: &FixedSizeBinaryArray) -> ArrayRef {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut texts = StringBuilder::with_capacity(uuids.len(), uuids.len() * UUID_TEXT_BYTES);
    let mut text = String::with_capacity(UUID_TEXT_BYTES);
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).map_or('0', |&byte| char::from(byte));
    for uuid in uuids {
        let Some(bytes) = uuid else {
            texts.append_null();
            continue;
        };
        text.clear();
        for (place, byte) in bytes.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            text.push(digit(byte >> 4));
            text.push(digit(byte & 15));
        }
        texts.append_value(&text);
    }
    Arc::new(texts.finish())
}

/// `None` if an interval has months or is too long.
fn to_duration(column: &dyn Array) -> Option<ArrayRef> {
    let intervals = column.as_primitive::<IntervalMonthDayNanoType>();
    let duration = |interval: Option<IntervalMonthDayNano>| match interval {
        None => Some(None),
        Some(interval) if interval.months == 0 => i64::from(interval.days)
            .checked_mul(DAY_MICROS)?
            .checked_add(interval.nanoseconds / NANOS_OF_MICRO)
            .map(Some),
        Some(_) => None,
    };
    let durations = intervals.iter().map(duration).collect::<Option<Vec<_>>>()?;
    Some(Arc::new(DurationMicrosecondArray::from(durations)))
}

/// A column of intervals as the server prints them.
pub fn interval_texts(column: &dyn Array) -> StringArray {
    let Some(intervals) = column.as_primitive_opt::<IntervalMonthDayNanoType>() else {
        return StringArray::new_null(column.len());
    };
    let text = |interval: IntervalMonthDayNano| {
        interval_text(interval.months, interval.days, interval.nanoseconds / NANOS_OF_MICRO)
    };
    intervals.iter().map(|interval| interval.map(text)).collect()
}

#[cfg(test)]
mod tests {
    use arrow_array::{ListArray, StructArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_buffer::i256;

    use super::*;
    use crate::testing::validate;

    fn intervals(months: i32) -> ArrayRef {
        let values = vec![
            Some(IntervalMonthDayNano::new(months, 2, 3_000)),
            None,
            Some(IntervalMonthDayNano::new(0, -1, 0)),
        ];
        Arc::new(arrow_array::IntervalMonthDayNanoArray::from(values))
    }

    fn decimals(value: i256) -> ArrayRef {
        let values = vec![Some(value), None, Some(i256::ONE)];
        let array = arrow_array::Decimal256Array::from(values);
        Arc::new(array.with_precision_and_scale(60, 2).unwrap())
    }

    fn texts() -> ArrayRef {
        Arc::new(StringArray::from(vec![Some("a"), None, Some("longer than twelve bytes")]))
    }

    /// The columns as a struct, and that in lists.
    fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
        let field = |column: &ArrayRef| Field::new("x", column.data_type().clone(), true);
        let fields: Fields = columns.iter().map(field).collect();
        let part: ArrayRef = Arc::new(StructArray::new(fields, columns, None));
        let item = Arc::new(Field::new("item", part.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths([2, 1]);
        let lists: ArrayRef = Arc::new(ListArray::new(item, offsets, part, None));
        let schema = Schema::new(vec![field(&lists)]);
        RecordBatch::try_new(Arc::new(schema), vec![lists]).unwrap()
    }

    fn converted(batch: &RecordBatch) -> (RecordBatch, AsText) {
        let (table, as_text) = with_plain_types(&batch.clone().into()).unwrap();
        (table.whole().unwrap(), as_text)
    }

    fn type_within(batch: &RecordBatch, index: usize) -> DataType {
        let parts = batch.column(0).as_list::<i32>().values().as_struct().columns().to_vec();
        parts[index].data_type().clone()
    }

    #[test]
    fn types_that_are_not_plain_are_converted_within_lists() {
        let whole = batch(vec![intervals(0), decimals(i256::from_i128(150)), texts()]);
        for batch in [whole.clone(), whole.slice(1, 1), whole.slice(1, 0)] {
            let (converted, as_text) = converted(&batch);
            validate(&converted);
            assert_eq!(as_text, AsText::default());
            let microseconds = arrow_schema::TimeUnit::Microsecond;
            assert_eq!(type_within(&converted, 0), DataType::Duration(microseconds));
            assert_eq!(type_within(&converted, 1), DataType::Decimal128(38, 2));
            let view = with_string_layout(&converted, StringLayout::View);
            validate(&view);
            assert_eq!(type_within(&view, 2), DataType::Utf8View);
            assert_eq!(view.num_rows(), batch.num_rows());
        }
    }

    #[test]
    fn what_has_no_place_is_text_and_says_so() {
        let (converted, as_text) =
            converted(&batch(vec![intervals(1), decimals(i256::MAX), texts()]));
        validate(&converted);
        assert_eq!(as_text, AsText { decimals: vec![0], intervals: vec![0] });
        let parts = converted.column(0).as_list::<i32>().values().as_struct().columns().to_vec();
        assert_eq!(parts[0].as_string::<i32>().value(0), "1 mon 2 days 00:00:00.000003");
        assert!(parts[0].is_null(1));
        assert_eq!(parts[0].as_string::<i32>().value(2), "-1 days");
        assert_eq!(parts[1].as_string::<i32>().value(2), "0.01");
    }

    #[test]
    fn a_column_is_text_in_all_chunks_or_in_none() {
        let parts = [intervals(0), intervals(1), intervals(0)].map(|part| batch(vec![part]));
        let table = crate::concat(&parts).unwrap();
        let (in_chunks, as_text) = with_plain_types(&table).unwrap();
        let (whole, expected) = converted(&table.whole().unwrap());
        assert_eq!((in_chunks.num_chunks(), as_text), (3, expected));
        assert_eq!(type_within(&whole, 0), DataType::Utf8);
        assert_eq!(in_chunks.whole().unwrap(), whole);
    }

    #[test]
    fn an_interval_past_64_bits_of_microseconds_is_text() {
        let far = IntervalMonthDayNano::new(0, i32::MAX, 0);
        let array: ArrayRef = Arc::new(arrow_array::IntervalMonthDayNanoArray::from(vec![far; 3]));
        let (_, as_text) = converted(&batch(vec![array]));
        assert_eq!(as_text.intervals, vec![0]);
    }
}
