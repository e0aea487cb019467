//! To `bool`, `int2`, `int4`, `int8`, `oid`: from every integer, and from floats and decimals with
//! whole values; a value out of range is an error.

use std::fmt::Display;
use std::marker::PhantomData;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_schema::DataType;

use super::cells::nulls_of;
use super::fixed::{Convert, FixedEncoder, Wire, primitive};
use super::float::{Real, nan_test, widened_halves};
use super::{ColumnEncoder, EncodeOptions};
use crate::error::EncodeError;

/// An integer type of PostgreSQL's, for messages.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) type_name: &'static str,
    pub(super) least: i64,
    pub(super) most: i64,
}

impl Target {
    fn out_of_range(self, given: impl Display) -> EncodeError {
        let Self { type_name, least, most } = self;
        EncodeError::IntegerOutOfRange {
            type_name,
            least: least.into(),
            most: most.into(),
            given: given.to_string(),
        }
    }

    fn inexact(self, given: impl Display) -> EncodeError {
        EncodeError::Inexact { given: given.to_string(), type_name: self.type_name.to_owned() }
    }
}

/// An encoder to the integer type `W`; `None` if there is no cast.
pub(super) fn encoder<W, const WIDTH: usize>(
    target: Target,
    array: &dyn Array,
    options: &EncodeOptions,
) -> Option<Box<dyn ColumnEncoder>>
where
    W: Wire<WIDTH>
        + TryFrom<i8>
        + TryFrom<i16>
        + TryFrom<i32>
        + TryFrom<i64>
        + TryFrom<i128>
        + TryFrom<u8>
        + TryFrom<u16>
        + TryFrom<u32>
        + TryFrom<u64>,
{
    Some(match array.data_type() {
        DataType::Int8 => whole::<Int8Type, W, WIDTH>(target, array),
        DataType::Int16 => whole::<Int16Type, W, WIDTH>(target, array),
        DataType::Int32 => whole::<Int32Type, W, WIDTH>(target, array),
        DataType::Int64 => whole::<Int64Type, W, WIDTH>(target, array),
        DataType::UInt8 => whole::<UInt8Type, W, WIDTH>(target, array),
        DataType::UInt16 => whole::<UInt16Type, W, WIDTH>(target, array),
        DataType::UInt32 => whole::<UInt32Type, W, WIDTH>(target, array),
        DataType::UInt64 => whole::<UInt64Type, W, WIDTH>(target, array),
        DataType::Float16 => real::<Float32Type, W, WIDTH>(target, &widened_halves(array), options),
        DataType::Float32 => real::<Float32Type, W, WIDTH>(target, array, options),
        DataType::Float64 => real::<Float64Type, W, WIDTH>(target, array, options),
        DataType::Decimal32(_, scale) => decimal::<Decimal32Type, W, WIDTH>(target, array, *scale)?,
        DataType::Decimal64(_, scale) => decimal::<Decimal64Type, W, WIDTH>(target, array, *scale)?,
        DataType::Decimal128(_, scale) => {
            decimal::<Decimal128Type, W, WIDTH>(target, array, *scale)?
        }
        _ => return None,
    })
}

/// An encoder to `bool`.
pub(super) fn boolean(array: &dyn Array) -> Option<Box<dyn ColumnEncoder>> {
    let array = array.as_boolean_opt()?;
    let bytes = array.values().iter().map(u8::from).collect();
    Some(FixedEncoder::boxed(bytes, nulls_of(array), AsIs))
}

/// The byte is the value.
struct AsIs;

impl Convert<u8, 1> for AsIs {
    #[inline(always)]
    fn convert(&self, native: u8) -> Option<[u8; 1]> {
        Some([native])
    }

    fn fault(&self, native: u8) -> EncodeError {
        EncodeError::Inexact { given: native.to_string(), type_name: "bool".to_owned() }
    }
}

/// From integers.
struct Whole<W> {
    target: Target,
    wire: PhantomData<fn() -> W>,
}

impl<N, W, const WIDTH: usize> Convert<N, WIDTH> for Whole<W>
where
    N: Copy + Display,
    W: Wire<WIDTH> + TryFrom<N>,
{
    #[inline(always)]
    fn convert(&self, native: N) -> Option<[u8; WIDTH]> {
        W::try_from(native).ok().map(W::to_wire)
    }

    fn fault(&self, native: N) -> EncodeError {
        self.target.out_of_range(native)
    }
}

fn whole<T: ArrowPrimitiveType, W, const WIDTH: usize>(
    target: Target,
    array: &dyn Array,
) -> Box<dyn ColumnEncoder>
where
    T::Native: Display,
    W: Wire<WIDTH> + TryFrom<T::Native>,
{
    primitive(array.as_primitive::<T>(), Whole::<W> { target, wire: PhantomData }, None)
}

/// From floats.
struct WholeReal<W> {
    target: Target,
    wire: PhantomData<fn() -> W>,
}

impl<N, W, const WIDTH: usize> Convert<N, WIDTH> for WholeReal<W>
where
    N: Real,
    W: Wire<WIDTH> + TryFrom<i64>,
{
    #[inline(always)]
    fn convert(&self, native: N) -> Option<[u8; WIDTH]> {
        let wide = native.wide();
        // The cast saturates: 2^63 would convert back to itself, though it is not an i64.
        let number = wide as i64;
        if number as f64 != wide || number == i64::MAX {
            return None;
        }
        W::try_from(number).ok().map(W::to_wire)
    }

    fn fault(&self, native: N) -> EncodeError {
        let wide = native.wide();
        if wide.is_finite() && wide.fract() == 0.0 {
            self.target.out_of_range(format_args!("{wide:.0}"))
        } else {
            self.target.inexact(wide)
        }
    }
}

fn real<T: ArrowPrimitiveType, W, const WIDTH: usize>(
    target: Target,
    array: &dyn Array,
    options: &EncodeOptions,
) -> Box<dyn ColumnEncoder>
where
    T::Native: Real,
    W: Wire<WIDTH> + TryFrom<i64>,
{
    let convert = WholeReal::<W> { target, wire: PhantomData };
    primitive(array.as_primitive::<T>(), convert, nan_test(options))
}

/// From decimals.
struct WholeDecimal<W> {
    target: Target,
    /// Ten to the power of the column's scale.
    unit: i128,
    wire: PhantomData<fn() -> W>,
}

impl<N, W, const WIDTH: usize> Convert<N, WIDTH> for WholeDecimal<W>
where
    N: Into<i128> + Copy,
    W: Wire<WIDTH> + TryFrom<i128>,
{
    fn convert(&self, native: N) -> Option<[u8; WIDTH]> {
        let unscaled: i128 = native.into();
        if unscaled % self.unit != 0 {
            return None;
        }
        W::try_from(unscaled / self.unit).ok().map(W::to_wire)
    }

    fn fault(&self, native: N) -> EncodeError {
        let unscaled: i128 = native.into();
        if unscaled % self.unit == 0 {
            return self.target.out_of_range(unscaled / self.unit);
        }
        let digits = self.unit.ilog10() as usize;
        let fraction = (unscaled % self.unit).unsigned_abs();
        let sign = if unscaled < 0 { "-" } else { "" };
        let whole = (unscaled / self.unit).unsigned_abs();
        self.target.inexact(format_args!("{sign}{whole}.{fraction:0digits$}"))
    }
}

fn decimal<T: ArrowPrimitiveType, W, const WIDTH: usize>(
    target: Target,
    array: &dyn Array,
    scale: i8,
) -> Option<Box<dyn ColumnEncoder>>
where
    T::Native: Into<i128>,
    W: Wire<WIDTH> + TryFrom<i128>,
{
    let unit = 10_i128.checked_pow(u32::try_from(scale).ok()?)?;
    let convert = WholeDecimal::<W> { target, unit, wire: PhantomData };
    Some(primitive(array.as_primitive::<T>(), convert, None))
}
