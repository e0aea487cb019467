//! Key columns as integers or bytes whose order is that of the values.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, ArrowPrimitiveType};
use arrow_array::{
    Array, ArrayRef, LargeBinaryArray, PrimitiveArray, StringArray, downcast_integer, types,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, ScalarBuffer};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, IntervalUnit, SortOptions};

use super::bytes::ByteKeys;
use super::texts::{self, ShortTexts};
use super::{GroupError, Nulls, Order, canonical, group_column, place};

/// How PostgreSQL compares values of a type, where their Arrow type does not say it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum KeyRule {
    /// As Arrow's values: text and bytes by their bytes, parts in order.
    #[default]
    Plain,
    /// Text without the blanks at its end: `character(n)`.
    WithoutBlanks,
    /// A dictionary whose values are in order: an enum's labels.
    ByIndex,
}

pub(super) enum Keys {
    /// Shared with the column.
    Small(ScalarBuffer<i32>),
    /// Shared with the column.
    Signed(ScalarBuffer<i64>),
    Narrow(Vec<u64>),
    Wide(Vec<u128>),
    /// Made when they are read: a vector of them would be larger than the texts.
    Texts(ShortTexts),
    Bytes(ByteKeys),
}

/// A column of keys, made comparable.
pub struct KeyColumn {
    keys: Keys,
    nulls: Option<NullBuffer>,
}

impl KeyColumn {
    /// The keys of an array.
    ///
    /// # Errors
    /// A type that Arrow's row format does not have.
    pub fn of(array: &ArrayRef, rule: KeyRule) -> Result<Self, GroupError> {
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(Self { keys: keys(array, rule)?, nulls })
    }

    pub(super) fn new(keys: Keys, nulls: Option<NullBuffer>) -> Self {
        Self { keys, nulls }
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        match &self.keys {
            Keys::Small(keys) => keys.len(),
            Keys::Signed(keys) => keys.len(),
            Keys::Narrow(keys) => keys.len(),
            Keys::Wide(keys) => keys.len(),
            Keys::Texts(keys) => keys.len(),
            Keys::Bytes(keys) => keys.len(),
        }
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The rows with a value; `None` if all have one.
    pub(super) fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }
}

fn keys(array: &ArrayRef, rule: KeyRule) -> Result<Keys, GroupError> {
    if let Some(keys) = integers(array) {
        return Ok(keys);
    }
    Ok(match array.data_type() {
        DataType::Null => Keys::Narrow(vec![0; array.len()]),
        DataType::Boolean => {
            Keys::Narrow(array.as_boolean().values().iter().map(u64::from).collect())
        }
        DataType::Float32 => {
            let floats = array.as_primitive::<types::Float32Type>().values();
            Keys::Narrow(floats.iter().map(|float| float_key(f64::from(*float))).collect())
        }
        DataType::Float64 => {
            let floats = array.as_primitive::<types::Float64Type>().values();
            Keys::Narrow(floats.iter().map(|float| float_key(*float)).collect())
        }
        DataType::Decimal128(..) => {
            wide(array.as_primitive::<types::Decimal128Type>().values().iter().copied())
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let intervals = array.as_primitive::<types::IntervalMonthDayNanoType>().values();
            wide(intervals.iter().map(|interval| canonical::nanoseconds(*interval)))
        }
        DataType::FixedSizeBinary(16) => {
            let values = array.as_fixed_size_binary();
            let key = |row| u128::from_be_bytes(values.value(row).try_into().unwrap_or_default());
            Keys::Wide((0..values.len()).map(key).collect())
        }
        DataType::Dictionary(..) => Keys::Narrow(dictionary(array, rule)?),
        DataType::Utf8 if rule == KeyRule::WithoutBlanks => {
            let texts = array.as_string::<i32>().iter();
            let trimmed = texts.map(|text| text.map(|text| text.trim_end_matches(' ')));
            texts::keys(&trimmed.collect::<StringArray>().into())
        }
        DataType::LargeUtf8 if rule == KeyRule::WithoutBlanks => {
            let texts = array.as_string::<i64>().iter();
            let trimmed = texts.map(|text| text.map(|text| text.trim_end_matches(' ').as_bytes()));
            Keys::Bytes(ByteKeys::Large(trimmed.collect()))
        }
        DataType::Utf8 => texts::keys(&array.as_string::<i32>().clone().into()),
        DataType::Binary => texts::keys(array.as_binary::<i32>()),
        DataType::LargeUtf8 => {
            Keys::Bytes(ByteKeys::Large(array.as_string::<i64>().clone().into()))
        }
        DataType::LargeBinary => Keys::Bytes(ByteKeys::Large(array.as_binary::<i64>().clone())),
        DataType::Utf8View => {
            let texts = array.as_string_view().iter().map(|text| text.map(str::as_bytes));
            Keys::Bytes(ByteKeys::Large(texts.collect::<LargeBinaryArray>()))
        }
        _ => rows(array)?,
    })
}

/// The keys of a column of integers, dates or times; in the column's memory for most widths.
fn integers(array: &ArrayRef) -> Option<Keys> {
    use arrow_schema::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    fn small<T: ArrowPrimitiveType<Native = i32>>(array: &ArrayRef) -> Keys {
        Keys::Small(array.as_primitive::<T>().values().clone())
    }
    fn signed<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef) -> Keys {
        Keys::Signed(array.as_primitive::<T>().values().clone())
    }
    Some(match array.data_type() {
        DataType::Int8 => Keys::Narrow(short::<types::Int8Type>(array)),
        DataType::Int16 => Keys::Narrow(short::<types::Int16Type>(array)),
        DataType::Int32 => small::<types::Int32Type>(array),
        DataType::Date32 => small::<types::Date32Type>(array),
        DataType::Time32(Second) => small::<types::Time32SecondType>(array),
        DataType::Time32(_) => small::<types::Time32MillisecondType>(array),
        DataType::Int64 => signed::<types::Int64Type>(array),
        DataType::Date64 => signed::<types::Date64Type>(array),
        DataType::Time64(Microsecond) => signed::<types::Time64MicrosecondType>(array),
        DataType::Time64(_) => signed::<types::Time64NanosecondType>(array),
        DataType::Timestamp(Second, _) => signed::<types::TimestampSecondType>(array),
        DataType::Timestamp(Millisecond, _) => signed::<types::TimestampMillisecondType>(array),
        DataType::Timestamp(Microsecond, _) => signed::<types::TimestampMicrosecondType>(array),
        DataType::Timestamp(Nanosecond, _) => signed::<types::TimestampNanosecondType>(array),
        DataType::Duration(Second) => signed::<types::DurationSecondType>(array),
        DataType::Duration(Millisecond) => signed::<types::DurationMillisecondType>(array),
        DataType::Duration(Microsecond) => signed::<types::DurationMicrosecondType>(array),
        DataType::Duration(Nanosecond) => signed::<types::DurationNanosecondType>(array),
        DataType::UInt8 => Keys::Narrow(unsigned::<types::UInt8Type>(array)),
        DataType::UInt16 => Keys::Narrow(unsigned::<types::UInt16Type>(array)),
        DataType::UInt32 => Keys::Narrow(unsigned::<types::UInt32Type>(array)),
        DataType::UInt64 => Keys::Narrow(unsigned::<types::UInt64Type>(array)),
        _ => return None,
    })
}

fn short<T: ArrowPrimitiveType>(array: &ArrayRef) -> Vec<u64>
where
    T::Native: Into<i64>,
{
    array.as_primitive::<T>().values().iter().map(|value| signed_key((*value).into())).collect()
}

fn unsigned<T: ArrowPrimitiveType>(array: &ArrayRef) -> Vec<u64>
where
    T::Native: Into<u64>,
{
    array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect()
}

fn signed_key(value: i64) -> u64 {
    value.cast_unsigned() ^ (1 << 63)
}

/// One NaN above all numbers, one zero, and otherwise the order of the numbers.
fn float_key(value: f64) -> u64 {
    let bits = canonical::float64(value).to_bits().cast_signed();
    // The magnitude of a negative number counts downwards.
    let ordered = if bits < 0 { bits ^ i64::MAX } else { bits };
    signed_key(ordered)
}

/// Integers of 128 bits, as 64 if all fit: most decimals do.
fn wide(values: impl Iterator<Item = i128> + Clone) -> Keys {
    let narrow: Option<Vec<u64>> =
        values.clone().map(|value| i64::try_from(value).ok().map(signed_key)).collect();
    match narrow {
        Some(keys) => Keys::Narrow(keys),
        None => Keys::Wide(values.map(|value| value.cast_unsigned() ^ (1 << 127)).collect()),
    }
}

/// The index of each row's value, among the values without repetition; in order of the values.
fn dictionary(array: &ArrayRef, rule: KeyRule) -> Result<Vec<u64>, GroupError> {
    fn indices<K: ArrowDictionaryKeyType>(array: &ArrayRef) -> Vec<usize> {
        let keys: &PrimitiveArray<K> = array.as_dictionary::<K>().keys();
        keys.values().iter().map(|key| key.as_usize()).collect()
    }
    macro_rules! indices_of {
        ($key:ty, $array:expr) => {
            indices::<$key>($array)
        };
    }
    let DataType::Dictionary(key, _) = array.data_type() else { return Ok(Vec::new()) };
    let indices = downcast_integer! {
        key.as_ref() => (indices_of, array),
        _ => Vec::new(),
    };
    if rule == KeyRule::ByIndex {
        return Ok(indices.into_iter().map(|index| u64::try_from(index).unwrap_or(0)).collect());
    }
    let values = array.as_any_dictionary().values();
    let ranks = group_column(&KeyColumn::of(values, rule)?, Order::Sorted, Nulls::Group);
    let rank = |index: usize| u64::from(ranks.codes.get(index).copied().unwrap_or_default());
    Ok(indices.into_iter().map(rank).collect())
}

/// Values with parts, and rare types: Arrow's row format.
fn rows(array: &ArrayRef) -> Result<Keys, GroupError> {
    let array = canonical::canonical(array)?;
    let options = SortOptions { descending: false, nulls_first: false };
    let field = SortField::new_with_options(array.data_type().clone(), options);
    let rows = RowConverter::new(vec![field])?.convert_columns(&[Arc::clone(&array)])?;
    Ok(Keys::Bytes(ByteKeys::Rows(rows)))
}

impl Keys {
    /// The keys as unsigned integers of 64 bits, if they fit.
    pub(super) fn narrow(&self) -> Option<Cow<'_, [u64]>> {
        match self {
            Self::Small(keys) => {
                Some(Cow::Owned(keys.iter().map(|key| signed_key(i64::from(*key))).collect()))
            }
            Self::Signed(keys) => {
                Some(Cow::Owned(keys.iter().map(|key| signed_key(*key)).collect()))
            }
            Self::Narrow(keys) => Some(Cow::Borrowed(keys)),
            Self::Wide(_) | Self::Texts(_) | Self::Bytes(_) => None,
        }
    }
}

/// The key of a row.
pub(super) fn key_at<K: Copy>(keys: &[K], row: u32) -> Option<K> {
    place(row).and_then(|row| keys.get(row)).copied()
}
