//! To `numeric`: from decimals and integers, and from floats by their shortest digits.

use std::fmt::Display;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::DataType;

use super::cells::{MadeCells, PushValue, nulls_of};
use super::float::{Real, nan_test, widened_halves};
use super::{ColumnEncoder, EncodeOptions};
use crate::error::EncodeError;
use crate::types::numeric::{declared_scale, push_text, push_unscaled};

/// An encoder to `numeric`, as the column is declared; `None` if there is no cast.
pub(super) fn encoder(
    array: &dyn Array,
    type_modifier: i32,
    options: &EncodeOptions,
) -> Option<Box<dyn ColumnEncoder>> {
    let declared = declared_scale(type_modifier);
    Some(match array.data_type() {
        DataType::Int8 => narrow::<Int8Type>(array, 0, declared),
        DataType::Int16 => narrow::<Int16Type>(array, 0, declared),
        DataType::Int32 => narrow::<Int32Type>(array, 0, declared),
        DataType::Int64 => narrow::<Int64Type>(array, 0, declared),
        DataType::UInt8 => narrow::<UInt8Type>(array, 0, declared),
        DataType::UInt16 => narrow::<UInt16Type>(array, 0, declared),
        DataType::UInt32 => narrow::<UInt32Type>(array, 0, declared),
        DataType::UInt64 => narrow::<UInt64Type>(array, 0, declared),
        DataType::Decimal32(_, scale) => narrow::<Decimal32Type>(array, *scale, declared),
        DataType::Decimal64(_, scale) => narrow::<Decimal64Type>(array, *scale, declared),
        DataType::Decimal128(_, scale) => narrow::<Decimal128Type>(array, *scale, declared),
        DataType::Decimal256(precision, scale) => {
            let values = Wide {
                array: array.as_primitive::<Decimal256Type>().clone(),
                precision: *precision,
                scale: *scale,
                declared,
            };
            MadeCells::boxed(values, nulls_of(array))
        }
        DataType::Float16 => shortest::<Float32Type>(&widened_halves(array), options),
        DataType::Float32 => shortest::<Float32Type>(array, options),
        DataType::Float64 => shortest::<Float64Type>(array, options),
        _ => return None,
    })
}

/// Floats, each by the fewest digits that distinguish it from all others of its width. The server
/// rounds them to the column's digits, as it rounds every number in a query.
struct Shortest<T: ArrowPrimitiveType>(PrimitiveArray<T>);

impl<T: ArrowPrimitiveType> PushValue for Shortest<T>
where
    T::Native: Display,
{
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        push_text(&self.0.value(row).to_string(), out)
    }
}

fn shortest<T: ArrowPrimitiveType>(
    array: &dyn Array,
    options: &EncodeOptions,
) -> Box<dyn ColumnEncoder>
where
    T::Native: Real + Display,
{
    let array = array.as_primitive::<T>().clone();
    let mut nulls = nulls_of(&array);
    if let Some(is_nan) = nan_test::<T::Native>(options) {
        let numbers: NullBuffer = array.values().iter().map(|number| !is_nan(*number)).collect();
        nulls = NullBuffer::union(nulls.as_ref(), Some(&numbers));
    }
    MadeCells::boxed(Shortest(array), nulls)
}

/// Decimals of up to 128 bits.
struct Narrow<T: ArrowPrimitiveType> {
    array: PrimitiveArray<T>,
    /// Digits after the point, at least 0.
    scale: u8,
    /// The factor for the unscaled number if Arrow's scale is negative.
    times: i128,
    /// Ten to the power of the number of digits beyond the column's scale; 1 if there are none.
    beyond: i128,
    declared: Option<i32>,
}

fn narrow<T: ArrowPrimitiveType>(
    array: &dyn Array,
    scale: i8,
    declared: Option<i32>,
) -> Box<dyn ColumnEncoder>
where
    T::Native: Into<i128>,
{
    // Arrow's scales range from -38 to 38, PostgreSQL's from -1000 to 1000: a power clamped to 38
    // digits here has no 128-bit multiple but 0.
    let power = |digits: i32| 10_i128.pow(digits.clamp(0, 38).unsigned_abs());
    let scale_kept = scale.max(0);
    let beyond = declared.map_or(0, |declared| i32::from(scale_kept) - declared);
    let values = Narrow {
        array: array.as_primitive::<T>().clone(),
        scale: scale_kept.unsigned_abs(),
        times: power(-i32::from(scale)),
        beyond: power(beyond),
        declared,
    };
    MadeCells::boxed(values, nulls_of(array))
}

impl<T: ArrowPrimitiveType> PushValue for Narrow<T>
where
    T::Native: Into<i128>,
{
    #[inline]
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let unscaled: i128 = self.array.value(row).into();
        let unscaled = match self.times {
            1 => unscaled,
            times => match unscaled.checked_mul(times) {
                Some(unscaled) => unscaled,
                None => return push_text(&format!("{unscaled}e{}", times.ilog10()), out),
            },
        };
        if self.beyond != 1 && unscaled % self.beyond != 0 {
            let given = Decimal128Type::format_decimal(unscaled, 38, self.scale as i8);
            return Err(inexact(given, self.declared));
        }
        push_unscaled(unscaled, self.scale, out);
        Ok(())
    }
}

fn inexact(given: String, declared: Option<i32>) -> EncodeError {
    let scale = declared.unwrap_or(0);
    let type_name = format!("numeric with {scale} digits after the point");
    EncodeError::Inexact { given, type_name }
}

/// Decimals of 256 bits.
struct Wide {
    array: PrimitiveArray<Decimal256Type>,
    precision: u8,
    scale: i8,
    declared: Option<i32>,
}

impl PushValue for Wide {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let unscaled: i256 = self.array.value(row);
        let text = || Decimal256Type::format_decimal(unscaled, self.precision, self.scale);
        let beyond = self.declared.map_or(0, |declared| i32::from(self.scale) - declared);
        if beyond > 0 {
            let unit = i256::from_i128(10).checked_pow(beyond.unsigned_abs());
            let rest = unit.and_then(|unit| unscaled.checked_rem(unit));
            // The unit does not fit in 256 bits: only 0 is a multiple of it.
            if rest.unwrap_or(unscaled) != i256::ZERO {
                return Err(inexact(text(), self.declared));
            }
        }
        match (unscaled.to_i128(), u8::try_from(self.scale)) {
            (Some(unscaled), Ok(scale)) => {
                push_unscaled(unscaled, scale, out);
                Ok(())
            }
            _ => push_text(&text(), out),
        }
    }
}
