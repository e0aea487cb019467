//! Arrays of values without parts.

use arrow_array::{ArrayAccessor, ArrowPrimitiveType, BooleanArray, PrimitiveArray};

use super::{Cells, Values};
use crate::text::{characters, figures, short};

/// Numbers and moments, each written by a function of [`crate::text`].
pub(super) struct Primitives<'a, T: ArrowPrimitiveType, W> {
    pub(super) array: &'a PrimitiveArray<T>,
    pub(super) write: W,
}

impl<T: ArrowPrimitiveType, W: Fn(T::Native, &mut Vec<u8>)> Values for Primitives<'_, T, W> {
    fn json(&self, row: usize, out: &mut Vec<u8>) {
        (self.write)(self.array.value(row), out);
    }
}

/// Truth values.
impl Values for &BooleanArray {
    fn json(&self, row: usize, out: &mut Vec<u8>) {
        short::push(if self.value(row) { b"true" } else { b"false" }, out);
    }
}

/// Bytes, each value written by a function of [`crate::text::bytes`].
pub(super) struct Bytes<A> {
    pub(super) array: A,
    pub(super) write: fn(&[u8], &mut Vec<u8>),
}

impl<'a, A: ArrayAccessor<Item = &'a [u8]>> Values for Bytes<A> {
    fn json(&self, row: usize, out: &mut Vec<u8>) {
        (self.write)(self.array.value(row), out);
    }
}

/// Text.
pub(super) struct Text<A>(pub(super) A);

impl<'a, A: ArrayAccessor<Item = &'a str>> Values for Text<A> {
    fn json(&self, row: usize, out: &mut Vec<u8>) {
        characters::string(self.0.value(row), out);
    }

    fn csv(&self, row: usize, cells: &Cells, out: &mut Vec<u8>) {
        cells.text(self.0.value(row).as_bytes(), out);
    }
}

/// Text that is JSON.
pub(super) struct Json<A>(pub(super) A);

impl<'a, A: ArrayAccessor<Item = &'a str>> Values for Json<A> {
    fn json(&self, row: usize, out: &mut Vec<u8>) {
        characters::embedded(self.0.value(row), out);
    }

    fn csv(&self, row: usize, cells: &Cells, out: &mut Vec<u8>) {
        cells.text(self.0.value(row).as_bytes(), out);
    }
}

/// Text that is a number, or a word such as NaN.
pub(super) struct Numerals<A>(pub(super) A);

impl<'a, A: ArrayAccessor<Item = &'a str>> Values for Numerals<A> {
    fn json(&self, row: usize, out: &mut Vec<u8>) {
        figures::numeral(self.0.value(row), out);
    }

    fn csv(&self, row: usize, cells: &Cells, out: &mut Vec<u8>) {
        cells.text(self.0.value(row).as_bytes(), out);
    }
}

/// An array of NULLs alone, which is asked for no value.
pub(super) struct Nothing;

impl Values for Nothing {
    fn json(&self, _row: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(b"null");
    }
}
