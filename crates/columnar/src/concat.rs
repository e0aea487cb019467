//! Concatenates several results of one query or of its parts.
//!
//! Their columns have equal types, except where the values decide: numerics without a declared
//! scale have the largest scale among their own values, text beyond 2 GiB has 64-bit offsets, and
//! each dictionary has the values that occurred. In these cases the whole gets the type that a
//! single result would have had.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, DictionaryArray, Int32Array, PrimitiveArray, RecordBatch,
    StringArray,
};
use arrow_buffer::i256;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::dictionary_keys::with_own_keys;
use crate::export::{StringLayout, convert};
use crate::joined::{joined, offsets_reach};
use crate::table::{Parts, Table};

const DECIMAL128_DIGITS: u8 = 38;
const DECIMAL256_DIGITS: u8 = 76;

/// The rows of all arrays as one.
///
/// # Errors
/// As for [`concat`].
pub fn concat_arrays(parts: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    if let [only] = parts {
        return Ok(Arc::clone(only));
    }
    let batch = |part: &ArrayRef| {
        let field = Field::new("column", part.data_type().clone(), true);
        RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::clone(part)])
    };
    let parts = parts.iter().map(batch).collect::<Result<Vec<_>, _>>()?;
    let whole = concat(&parts)?;
    let column = whole.column(0)?;
    column.ok_or_else(|| ArrowError::ComputeError("no column was joined".to_owned()))
}

/// The rows of all batches, one after another; at least one batch is needed. No rows are copied,
/// except those of columns whose type changes, and of dictionaries.
///
/// # Errors
/// Batches with other columns than the first one, or a whole that exceeds Arrow's offsets.
pub fn concat(batches: &[RecordBatch]) -> Result<Table, ArrowError> {
    let Some(first) = batches.first() else {
        return Err(ArrowError::InvalidArgumentError("there is no batch".to_owned()));
    };
    let described = first.schema_ref().fields();
    if described.is_empty() && batches.iter().any(|batch| batch.num_columns() > 0) {
        return Err(ArrowError::SchemaError("the parts have other columns".to_owned()));
    }
    let mut fields = Vec::with_capacity(described.len());
    let mut columns = Vec::with_capacity(described.len());
    for (index, field) in described.iter().enumerate() {
        let arrays: Option<Vec<ArrayRef>> = batches
            .iter()
            .map(|batch| {
                let same = batch.num_columns() == described.len()
                    && batch.schema_ref().fields().get(index)?.name() == field.name();
                if same { batch.columns().get(index).map(Arc::clone) } else { None }
            })
            .collect();
        let Some(arrays) = arrays else {
            return Err(misfit(field, "the parts have other columns"));
        };
        let (data_type, parts) = whole_column(field, arrays)?;
        let nullable = |batch: &RecordBatch| batch.schema_ref().field(index).is_nullable();
        let nullable = batches.iter().any(nullable);
        fields.push(field.as_ref().clone().with_data_type(data_type).with_nullable(nullable));
        columns.push(parts);
    }
    let schema = Schema::new_with_metadata(fields, first.schema_ref().metadata().clone());
    let lengths: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    Ok(Table::of_parts(Arc::new(schema), columns, &lengths))
}

/// The type of the whole, and its parts in that type.
fn whole_column(field: &Field, parts: Vec<ArrayRef>) -> Result<(DataType, Parts), ArrowError> {
    let kinds = || parts.iter().map(|part| part.data_type());
    if kinds().all(is_dictionary_of_text)
        && let Some(own) = parts.iter().map(with_own_keys).collect::<Option<Vec<_>>>()
    {
        return one_dictionary(&own).map(in_one);
    }
    if let Some(scale) = kinds().map(decimal_scale).collect::<Option<Vec<i8>>>()
        && kinds().any(|kind| *kind != *field.data_type())
    {
        return decimals(&parts, scale.into_iter().max().unwrap_or_default());
    }
    let kind = field.data_type().clone();
    if kinds().all(|other| *other == kind) {
        let data: Vec<ArrayData> = parts.iter().map(|part| part.to_data()).collect();
        let reach = offsets_reach(&data);
        if reach && has_narrow_keys(&kind) {
            return with_narrow_keys(field, &parts);
        }
        if reach {
            return Ok((kind, Parts::Chunks(parts)));
        }
    }
    let is_text = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8);
    if kinds().any(|other| *other != kind && !(is_text(other) && is_text(&kind))) {
        let text = "the parts have columns of several types: name its type in schema=";
        return Err(misfit(field, text));
    }
    if !is_text(&kind) {
        let text = "it has more than 2^31 bytes or elements, the most in one column of Arrow: read \
                    it in parts";
        return Err(misfit(field, text));
    }
    let large = parts.iter().map(|part| convert(part, StringLayout::Large));
    Ok((DataType::LargeUtf8, Parts::Chunks(large.collect())))
}

/// One array, if the keys can number the values of all dictionaries together; otherwise with keys
/// of 32 bits.
fn with_narrow_keys(field: &Field, parts: &[ArrayRef]) -> Result<(DataType, Parts), ArrowError> {
    joined(parts).map(in_one).or_else(|error| {
        let wide: Option<Vec<ArrayRef>> = parts.iter().map(with_own_keys).collect();
        let wide = wide.ok_or_else(|| {
            let text = format!("its dictionaries have too many values for their keys ({error})");
            misfit(field, &text)
        })?;
        joined(&wide).map(in_one)
    })
}

fn in_one(array: ArrayRef) -> (DataType, Parts) {
    (array.data_type().clone(), Parts::Whole(array))
}

/// Whether a dictionary within has keys of fewer than 32 bits.
fn has_narrow_keys(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(key, _) => {
            matches!(**key, DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16)
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_narrow_keys(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_narrow_keys(field.data_type())),
        _ => false,
    }
}

fn is_dictionary_of_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Dictionary(_, value) if **value == DataType::Utf8)
}

/// One dictionary with each text once, in the order of first occurrence.
fn one_dictionary(parts: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    let mut places: HashMap<String, i32> = HashMap::new();
    let mut texts: Vec<String> = Vec::new();
    let mut keys: Vec<Option<i32>> = Vec::new();
    for part in parts {
        let part = part.as_dictionary::<Int32Type>();
        let values: &StringArray = part.values().as_string();
        let mut here: Vec<i32> = Vec::with_capacity(values.len());
        for text in values.iter().map(Option::unwrap_or_default) {
            let next = i32::try_from(texts.len())
                .map_err(|error| ArrowError::ComputeError(error.to_string()))?;
            let place = *places.entry(text.to_owned()).or_insert(next);
            if place == next {
                texts.push(text.to_owned());
            }
            here.push(place);
        }
        let place_of = |key: i32| usize::try_from(key).ok().and_then(|key| here.get(key).copied());
        keys.extend(part.keys().iter().map(|key| key.and_then(place_of)));
    }
    let values = StringArray::from_iter_values(texts);
    let whole = DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), Arc::new(values))?;
    Ok(Arc::new(whole))
}

fn decimal_scale(kind: &DataType) -> Option<i8> {
    match kind {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => Some(*scale),
        _ => None,
    }
}

/// All parts at one scale, in 128 bits if that is wide enough.
fn decimals(parts: &[ArrayRef], scale: i8) -> Result<(DataType, Parts), ArrowError> {
    if let Some(narrow) = in_narrow_decimals(parts, scale) {
        let kind = DataType::Decimal128(DECIMAL128_DIGITS, scale);
        return Ok((kind, Parts::Chunks(narrow)));
    }
    let mut wide: Vec<ArrayRef> = Vec::with_capacity(parts.len());
    for part in parts {
        let wider: PrimitiveArray<Decimal256Type> = match part.data_type() {
            DataType::Decimal128(..) => {
                part.as_primitive::<Decimal128Type>().unary(i256::from_i128)
            }
            _ => part.as_primitive::<Decimal256Type>().clone(),
        };
        let from = decimal_scale(part.data_type()).unwrap_or(scale);
        let factor = i256::from_i128(10).pow_checked(zeros(from, scale))?;
        let scaled = wider.try_unary::<_, Decimal256Type, _>(|value| value.mul_checked(factor))?;
        wide.push(Arc::new(scaled.with_precision_and_scale(DECIMAL256_DIGITS, scale)?));
    }
    Ok((DataType::Decimal256(DECIMAL256_DIGITS, scale), Parts::Chunks(wide)))
}

/// None if a value needs more digits than 128 bits have.
fn in_narrow_decimals(parts: &[ArrayRef], scale: i8) -> Option<Vec<ArrayRef>> {
    let limit = 10_i128.checked_pow(u32::from(DECIMAL128_DIGITS))?;
    let scaled = |part: &ArrayRef| {
        let DataType::Decimal128(_, from) = part.data_type() else { return None };
        let factor = 10_i128.checked_pow(zeros(*from, scale))?;
        let digits = part.as_primitive::<Decimal128Type>();
        let scaled = digits.try_unary::<_, Decimal128Type, _>(|value| {
            let value = value.checked_mul(factor).ok_or(())?;
            if value.abs() < limit { Ok(value) } else { Err(()) }
        });
        let scaled = scaled.ok()?.with_precision_and_scale(DECIMAL128_DIGITS, scale).ok()?;
        Some(Arc::new(scaled) as ArrayRef)
    };
    parts.iter().map(scaled).collect()
}

/// The number of zeros that converts from one scale to another one that is no smaller.
fn zeros(from: i8, to: i8) -> u32 {
    u32::try_from(i16::from(to) - i16::from(from)).unwrap_or_default()
}

fn misfit(field: &Field, what: &str) -> ArrowError {
    ArrowError::SchemaError(format!("column {:?}: {what}", field.name()))
}
