//! To `float4` and `float8`: from floats that are no wider, and from integers, which must be
//! exactly representable.

use std::fmt::Display;
use std::marker::PhantomData;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

use super::fixed::{Convert, Wire, primitive};
use super::{ColumnEncoder, EncodeOptions};
use crate::error::EncodeError;

/// A float of Arrow's.
pub(super) trait Real: ArrowNativeType {
    /// The same value as the widest float.
    fn wide(self) -> f64;
}

impl Real for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

impl Real for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }
}

/// Half-precision floats widened to single precision.
pub(super) fn widened_halves(array: &dyn Array) -> PrimitiveArray<Float32Type> {
    array.as_primitive::<Float16Type>().unary(|number| number.into())
}

/// The test for floats that mean NULL.
pub(super) fn nan_test<N: Real>(options: &EncodeOptions) -> Option<fn(N) -> bool> {
    options.nan_as_null.then_some(|number| number.wide().is_nan())
}

/// A float of PostgreSQL's.
pub(super) trait Float<const WIDTH: usize>: Wire<WIDTH> {
    const TYPE_NAME: &'static str;
    /// The longest integers, in bits, that need no rounding.
    const EXACT_BITS: u32;
    fn narrowed(wide: f64) -> Self;
    fn of_integer(magnitude: u64, is_negative: bool) -> Self;
}

impl Float<4> for f32 {
    const TYPE_NAME: &'static str = "float4";
    const EXACT_BITS: u32 = Self::MANTISSA_DIGITS;

    #[inline(always)]
    fn narrowed(wide: f64) -> Self {
        wide as Self
    }

    #[inline(always)]
    fn of_integer(magnitude: u64, is_negative: bool) -> Self {
        if is_negative { -(magnitude as Self) } else { magnitude as Self }
    }
}

impl Float<8> for f64 {
    const TYPE_NAME: &'static str = "float8";
    const EXACT_BITS: u32 = Self::MANTISSA_DIGITS;

    #[inline(always)]
    fn narrowed(wide: f64) -> Self {
        wide
    }

    #[inline(always)]
    fn of_integer(magnitude: u64, is_negative: bool) -> Self {
        if is_negative { -(magnitude as Self) } else { magnitude as Self }
    }
}

/// An encoder to the float type `F`; `None` if there is no cast.
pub(super) fn encoder<F: Float<WIDTH>, const WIDTH: usize>(
    array: &dyn Array,
    options: &EncodeOptions,
) -> Option<Box<dyn ColumnEncoder>> {
    Some(match array.data_type() {
        DataType::Float16 => real::<Float32Type, F, WIDTH>(&widened_halves(array), options),
        DataType::Float32 => real::<Float32Type, F, WIDTH>(array, options),
        DataType::Float64 if WIDTH == 8 => real::<Float64Type, F, WIDTH>(array, options),
        DataType::Int8 => whole::<Int8Type, F, WIDTH>(array),
        DataType::Int16 => whole::<Int16Type, F, WIDTH>(array),
        DataType::Int32 => whole::<Int32Type, F, WIDTH>(array),
        DataType::Int64 => whole::<Int64Type, F, WIDTH>(array),
        DataType::UInt8 => whole::<UInt8Type, F, WIDTH>(array),
        DataType::UInt16 => whole::<UInt16Type, F, WIDTH>(array),
        DataType::UInt32 => whole::<UInt32Type, F, WIDTH>(array),
        DataType::UInt64 => whole::<UInt64Type, F, WIDTH>(array),
        _ => return None,
    })
}

/// From floats that are no wider.
struct Same<F>(PhantomData<fn() -> F>);

impl<N: Real, F: Float<WIDTH>, const WIDTH: usize> Convert<N, WIDTH> for Same<F> {
    #[inline(always)]
    fn convert(&self, native: N) -> Option<[u8; WIDTH]> {
        Some(F::narrowed(native.wide()).to_wire())
    }

    fn fault(&self, native: N) -> EncodeError {
        inexact::<F, WIDTH>(native.wide())
    }
}

fn real<T: ArrowPrimitiveType, F: Float<WIDTH>, const WIDTH: usize>(
    array: &dyn Array,
    options: &EncodeOptions,
) -> Box<dyn ColumnEncoder>
where
    T::Native: Real,
{
    primitive(array.as_primitive::<T>(), Same::<F>(PhantomData), nan_test(options))
}

/// From integers.
struct OfWhole<F>(PhantomData<fn() -> F>);

/// An integer of Arrow's.
trait Integer: ArrowNativeType + Display {
    fn magnitude(self) -> u64;
    fn is_negative(self) -> bool;
}

macro_rules! integer {
    ($($signed:ty),*; $($unsigned:ty),*) => {
        $(impl Integer for $signed {
            #[inline(always)]
            fn magnitude(self) -> u64 {
                self.unsigned_abs().into()
            }

            #[inline(always)]
            fn is_negative(self) -> bool {
                self < 0
            }
        })*
        $(impl Integer for $unsigned {
            #[inline(always)]
            fn magnitude(self) -> u64 {
                self.into()
            }

            #[inline(always)]
            fn is_negative(self) -> bool {
                false
            }
        })*
    };
}

integer!(i8, i16, i32, i64; u8, u16, u32, u64);

impl<N: Integer, F: Float<WIDTH>, const WIDTH: usize> Convert<N, WIDTH> for OfWhole<F> {
    #[inline(always)]
    fn convert(&self, native: N) -> Option<[u8; WIDTH]> {
        let magnitude = native.magnitude();
        let significant = magnitude >> magnitude.trailing_zeros().min(63);
        (significant < 1 << F::EXACT_BITS)
            .then(|| F::of_integer(magnitude, native.is_negative()).to_wire())
    }

    fn fault(&self, native: N) -> EncodeError {
        inexact::<F, WIDTH>(native)
    }
}

fn whole<T: ArrowPrimitiveType, F: Float<WIDTH>, const WIDTH: usize>(
    array: &dyn Array,
) -> Box<dyn ColumnEncoder>
where
    T::Native: Integer,
{
    primitive(array.as_primitive::<T>(), OfWhole::<F>(PhantomData), None)
}

fn inexact<F: Float<WIDTH>, const WIDTH: usize>(given: impl Display) -> EncodeError {
    EncodeError::Inexact { given: given.to_string(), type_name: F::TYPE_NAME.to_owned() }
}
