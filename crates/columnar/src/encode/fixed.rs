//! Encoding to fixed-width types: a load, a check and a store per value.

use std::ops::Range;

use arrow_array::{ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, ScalarBuffer};

use super::ColumnEncoder;
use super::cells::{LENGTH_BYTES, is_null, nulls_of, push_null, push_with, put_fixed, put_null};
use crate::error::EncodeError;

/// The conversion of an Arrow value to a type's bytes.
pub(super) trait Convert<N, const WIDTH: usize>: Send + Sync + 'static {
    /// The bytes; `None` if the type cannot hold the value.
    fn convert(&self, native: N) -> Option<[u8; WIDTH]>;

    /// The reason why there are none.
    fn fault(&self, native: N) -> EncodeError;
}

/// Encodes the values of a buffer.
pub(super) struct FixedEncoder<N: ArrowNativeType, C, const WIDTH: usize> {
    values: ScalarBuffer<N>,
    nulls: Option<NullBuffer>,
    convert: C,
    /// The first row of the range measured last.
    first: usize,
}

impl<N: ArrowNativeType, C: Convert<N, WIDTH>, const WIDTH: usize> FixedEncoder<N, C, WIDTH> {
    pub(super) fn boxed(
        values: ScalarBuffer<N>,
        nulls: Option<NullBuffer>,
        convert: C,
    ) -> Box<dyn ColumnEncoder> {
        Box::new(Self { values, nulls, convert, first: 0 })
    }

    fn values(&self, rows: Range<usize>) -> &[N] {
        self.values.get(rows).unwrap_or(&[])
    }

    /// The first faulty row, searched for once it is known that there is one.
    #[cold]
    fn first_fault(&self, rows: Range<usize>) -> Result<(), (usize, EncodeError)> {
        let first = rows.start;
        for (place, value) in self.values(rows).iter().enumerate() {
            let is_value = !is_null(self.nulls.as_ref(), first + place);
            if is_value && self.convert.convert(*value).is_none() {
                return Err((place, self.convert.fault(*value)));
            }
        }
        Ok(())
    }
}

impl<N: ArrowNativeType, C: Convert<N, WIDTH>, const WIDTH: usize> ColumnEncoder
    for FixedEncoder<N, C, WIDTH>
{
    fn measure(
        &mut self,
        rows: Range<usize>,
        sizes: &mut [usize],
    ) -> Result<(), (usize, EncodeError)> {
        self.first = rows.start;
        let mut misfits = false;
        // The slot of a NULL may also fail the check; then the second look finds nothing.
        for value in self.values(rows.clone()) {
            misfits |= self.convert.convert(*value).is_none();
        }
        if misfits {
            self.first_fault(rows.clone())?;
        }
        match &self.nulls {
            None => sizes.iter_mut().for_each(|size| *size += LENGTH_BYTES + WIDTH),
            Some(nulls) => {
                for (size, is_value) in sizes.iter_mut().zip(&nulls.slice(rows.start, rows.len())) {
                    *size += LENGTH_BYTES + if is_value { WIDTH } else { 0 };
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, out: &mut [u8], cursors: &mut [usize]) {
        let rows = self.first..self.first + cursors.len();
        let values = self.values(rows.clone());
        // `measure` has checked that every value has its bytes.
        let bytes = |value: &N| self.convert.convert(*value).unwrap_or([0; WIDTH]);
        match &self.nulls {
            None => {
                for (cursor, value) in cursors.iter_mut().zip(values) {
                    *cursor = put_fixed(out, *cursor, bytes(value));
                }
            }
            Some(nulls) => {
                let are_values = nulls.slice(rows.start, rows.len());
                let cells = values.iter().zip(&are_values);
                for (cursor, (value, is_value)) in cursors.iter_mut().zip(cells) {
                    *cursor = if is_value {
                        put_fixed(out, *cursor, bytes(value))
                    } else {
                        put_null(out, *cursor)
                    };
                }
            }
        }
    }

    fn push_cell(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self.values.get(row) {
            Some(value) if !is_null(self.nulls.as_ref(), row) => push_with(out, |out| {
                let bytes =
                    self.convert.convert(*value).ok_or_else(|| self.convert.fault(*value))?;
                out.extend_from_slice(&bytes);
                Ok(())
            }),
            _ => {
                push_null(out);
                Ok(())
            }
        }
    }
}

/// Encodes a primitive array, with those values as NULL that `means_null` selects.
pub(super) fn primitive<T: ArrowPrimitiveType, C, const WIDTH: usize>(
    array: &PrimitiveArray<T>,
    convert: C,
    means_null: Option<fn(T::Native) -> bool>,
) -> Box<dyn ColumnEncoder>
where
    C: Convert<T::Native, WIDTH>,
{
    let nulls = nulls_and(array, means_null);
    FixedEncoder::boxed(array.values().clone(), nulls, convert)
}

fn nulls_and<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    means_null: Option<fn(T::Native) -> bool>,
) -> Option<NullBuffer> {
    let nulls = nulls_of(array);
    let Some(means_null) = means_null else { return nulls };
    if !array.values().iter().any(|value| means_null(*value)) {
        return nulls;
    }
    let are_values: BooleanBuffer =
        array.values().iter().map(|value| !means_null(*value)).collect();
    NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(are_values)))
}

/// The wire format of a number.
pub(super) trait Wire<const WIDTH: usize>: Copy + Send + Sync + 'static {
    fn to_wire(self) -> [u8; WIDTH];
}

macro_rules! wire {
    ($($number:ty: $width:literal),*) => {$(
        impl Wire<$width> for $number {
            #[inline(always)]
            fn to_wire(self) -> [u8; $width] {
                self.to_be_bytes()
            }
        }
    )*};
}

wire!(u8: 1, i16: 2, i32: 4, u32: 4, i64: 8, u64: 8, f32: 4, f64: 8);
