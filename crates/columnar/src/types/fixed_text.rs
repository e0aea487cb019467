//! Text and bytes in fixed-width cells, as NumPy's `U` and `S`, padded with zeros. The cells of all
//! rows are one buffer, which NumPy reads in place.
//!
//! A value that does not fit is an error and never truncated. A NULL is an empty cell with its
//! validity bit cleared.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeBinaryArray};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_schema::DataType;

use super::varlen::{Shape, check_utf8};
use super::{Built, Extension};
use crate::cells::CellEncoding;
use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::error::{Misfit, Reason};
use crate::validity::Validity;

/// How to write a value into its cell.
trait Cell: Send + Sync + 'static {
    /// The unit that a cell consists of.
    type Unit: ArrowNativeType;

    /// Whether the value is text, and must be UTF-8.
    const IS_TEXT: bool;

    /// Writes a value, which is UTF-8 if it is text, into a zeroed cell. `is_ascii` tells whether
    /// all values of the block are ASCII.
    fn write(value: &[u8], is_ascii: bool, cell: &mut [Self::Unit]) -> Result<(), Misfit>;
}

/// A code point in every four bytes, least significant first.
struct Ucs4;

impl Cell for Ucs4 {
    type Unit = u32;
    const IS_TEXT: bool = true;

    #[inline]
    fn write(value: &[u8], is_ascii: bool, cell: &mut [u32]) -> Result<(), Misfit> {
        if !is_ascii {
            return write_characters(value, cell);
        }
        let capacity = cell.len();
        let Some(slots) = cell.get_mut(..value.len()) else {
            return Err(Misfit::TooManyCharacters { length: value.len(), capacity });
        };
        let mut least = u8::MAX;
        for (slot, byte) in slots.iter_mut().zip(value) {
            *slot = u32::from(*byte).to_le();
            least = least.min(*byte);
        }
        if least == 0 { Err(Misfit::NulInText) } else { Ok(()) }
    }
}

fn write_characters(value: &[u8], cell: &mut [u32]) -> Result<(), Misfit> {
    // The block was checked: it is UTF-8.
    let text = std::str::from_utf8(value).unwrap_or_default();
    let mut slots = cell.iter_mut();
    let mut has_nul = false;
    for character in text.chars() {
        let Some(slot) = slots.next() else {
            let (length, capacity) = (text.chars().count(), cell.len());
            return Err(Misfit::TooManyCharacters { length, capacity });
        };
        has_nul |= character == '\0';
        *slot = u32::from(character).to_le();
    }
    // A text that is too long and has a NUL is reported as too long, as in an ASCII block.
    if has_nul { Err(Misfit::NulInText) } else { Ok(()) }
}

/// An ASCII character per byte.
struct Ascii;

impl Cell for Ascii {
    type Unit = u8;
    const IS_TEXT: bool = true;

    #[inline]
    fn write(value: &[u8], is_ascii: bool, cell: &mut [u8]) -> Result<(), Misfit> {
        if !is_ascii && !value.is_ascii() {
            let text = std::str::from_utf8(value).unwrap_or_default();
            let character = text.chars().find(|character| !character.is_ascii());
            let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
            return Err(Misfit::NotAscii { character, length: text.chars().count() });
        }
        if value.contains(&0) {
            return Err(Misfit::NulInText);
        }
        write_bytes(value, cell)
    }
}

/// The bytes of a bytea.
struct Bytes;

impl Cell for Bytes {
    type Unit = u8;
    const IS_TEXT: bool = false;

    #[inline]
    fn write(value: &[u8], _: bool, cell: &mut [u8]) -> Result<(), Misfit> {
        if value.last() == Some(&0) {
            return Err(Misfit::ZeroAtEnd);
        }
        write_bytes(value, cell)
    }
}

#[inline]
fn write_bytes(value: &[u8], cell: &mut [u8]) -> Result<(), Misfit> {
    let capacity = cell.len();
    let Some(slots) = cell.get_mut(..value.len()) else {
        return Err(Misfit::TooManyBytes { length: value.len(), capacity });
    };
    slots.copy_from_slice(value);
    Ok(())
}

/// The builder of text in cells of `capacity` characters.
pub(super) fn characters<S: Shape>(capacity: u32) -> Option<Built> {
    built::<S, Ucs4>(capacity, CellEncoding::Ucs4)
}

/// The builder of text in cells of `capacity` bytes.
pub(super) fn ascii<S: Shape>(capacity: u32) -> Option<Built> {
    built::<S, Ascii>(capacity, CellEncoding::Ascii)
}

/// The builder of bytes in cells of `capacity` bytes.
pub(super) fn bytes<S: Shape>(capacity: u32) -> Option<Built> {
    built::<S, Bytes>(capacity, CellEncoding::Bytes)
}

fn built<S: Shape, C: Cell>(capacity: u32, encoding: CellEncoding) -> Option<Built> {
    let width = usize::try_from(capacity).ok()?.checked_mul(size_of::<C::Unit>())?;
    let builder = FixedTextBuilder::<S, C> {
        cells: Vec::new(),
        capacity: capacity as usize,
        width: i32::try_from(width).ok()?,
        validity: Validity::default(),
        block: Vec::new(),
        ends: Vec::new(),
        shape: PhantomData,
    };
    Some(Built { builder: Box::new(builder), extension: Some(Extension::Cells(encoding)) })
}

struct FixedTextBuilder<S, C: Cell> {
    /// `capacity` units for each row.
    cells: Vec<C::Unit>,
    /// At least 1.
    capacity: usize,
    /// The size of a cell in bytes.
    width: i32,
    validity: Validity,
    /// Scratch: the bytes of a block's values, and the end of each.
    block: Vec<u8>,
    ends: Vec<usize>,
    shape: PhantomData<fn() -> S>,
}

impl<S: Shape, C: Cell> FixedTextBuilder<S, C> {
    /// Writes a block's values into zeroed cells, and returns the number of NULLs.
    fn write(&mut self, fields: Fields<'_>) -> Result<usize, (usize, Reason)> {
        self.block.clear();
        self.ends.clear();
        let ends = &mut self.ends;
        let copied = S::append(fields, &mut self.block, |end| ends.push(end));
        let checked =
            if C::IS_TEXT && S::UNCHECKED_TEXT { check_utf8(&self.block, 0, ends) } else { Ok(()) };
        let right = checked.as_ref().map_or_else(|(row, _)| *row, |()| ends.len());
        let is_ascii = self.block.is_ascii();
        let start = self.cells.len();
        self.cells.resize(start + fields.len() * self.capacity, C::Unit::default());
        let cells = self.cells.get_mut(start..).unwrap_or(&mut []);
        let mut begin = 0;
        for (row, (end, cell)) in
            ends.iter().zip(cells.chunks_exact_mut(self.capacity)).take(right).enumerate()
        {
            let value = self.block.get(begin..*end).unwrap_or(&[]);
            C::write(value, is_ascii, cell).map_err(|misfit| (row, misfit.into()))?;
            begin = *end;
        }
        checked.and(copied)
    }
}

impl<S: Shape, C: Cell> ColumnBuilder for FixedTextBuilder<S, C> {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let start = self.cells.len();
        match self.write(fields) {
            Ok(nulls) => {
                self.validity.append(fields, nulls, &[]);
                Ok(())
            }
            Err(error) => {
                self.cells.truncate(start);
                Err(error)
            }
        }
    }

    fn finish(&mut self) -> ArrayRef {
        let cells = Buffer::from_vec(take_buffer(&mut self.cells));
        Arc::new(FixedSizeBinaryArray::new(self.width, cells, self.validity.finish()))
    }

    fn data_type(&self) -> DataType {
        DataType::FixedSizeBinary(self.width)
    }

    fn nbytes(&self) -> usize {
        size_of_val(self.cells.as_slice()) + self.validity.nbytes()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, BinaryArray, FixedSizeBinaryArray, StringArray};
    use proptest::prelude::*;

    use crate::testing::{Case, Cell, decode_in_runs, hex, text};
    use crate::{DecodeOptions, StringLayout, with_string_layout};

    fn cells(oid: u32, cast: &str, values: &[Cell]) -> FixedSizeBinaryArray {
        Case::new(oid).cast(cast).array(values)
    }

    /// The column as exported to other libraries.
    fn exported(oid: u32, cast: &str, values: &[Cell]) -> arrow_array::ArrayRef {
        let case = Case::new(oid).cast(cast);
        let rows: Vec<_> = values.iter().map(|value| vec![value.clone()]).collect();
        let options: &DecodeOptions = &case.options;
        let batch =
            decode_in_runs(std::slice::from_ref(&case.field), options, &rows, usize::MAX).unwrap();
        let plain = with_string_layout(&batch, StringLayout::Small);
        crate::testing::validate(&plain);
        assert!(plain.schema().field(0).metadata().is_empty());
        plain.column(0).clone()
    }

    #[test]
    fn characters() {
        let values = [text("né𝄞"), None, text(""), text("abc")];
        let array = cells(25, "U3", &values);
        let points: Vec<u32> = "né𝄞".chars().map(u32::from).collect();
        let bytes: Vec<u8> = points.iter().flat_map(|point| point.to_le_bytes()).collect();
        assert_eq!(array.value(0), bytes);
        assert_eq!(array.value(3), b"a\0\0\0b\0\0\0c\0\0\0");
        assert!(array.is_null(1) && array.value_data()[12..36].iter().all(|byte| *byte == 0));
        let wanted = StringArray::from(vec![Some("né𝄞"), None, Some(""), Some("abc")]);
        assert_eq!(exported(25, "U3", &values).as_any().downcast_ref(), Some(&wanted));
        // jsonb without its version, "char" as the server prints it.
        assert_eq!(cells(3802, "U2", &[hex("0131")]).value(0), b"1\0\0\0\0\0\0\0");
        assert_eq!(cells(18, "S4", &[hex("ff")]).value(0), b"\\377");
    }

    #[test]
    fn bytes() {
        let values = [text("ab"), None, text("")];
        assert_eq!(cells(1043, "S3", &values).value_data(), b"ab\0\0\0\0\0\0\0");
        let wanted = StringArray::from(vec![Some("ab"), None, Some("")]);
        assert_eq!(exported(1043, "S3", &values).as_any().downcast_ref(), Some(&wanted));
        let values = [hex("00ff"), None, hex("")];
        assert_eq!(cells(17, "S3", &values).value(0), [0, 0xff, 0]);
        let wanted = BinaryArray::from(vec![Some(&[0_u8, 0xff][..]), None, Some(&[])]);
        assert_eq!(exported(17, "S3", &values).as_any().downcast_ref(), Some(&wanted));
    }

    #[test]
    fn what_does_not_fit() {
        for (oid, cast, value, reason) in [
            (
                25,
                "U3",
                text("abcd"),
                "4 characters, a cell of U3 has 3; pass schema={\"c\": \"U4\"}",
            ),
            (25, "U3", text("日本語だ"), "4 characters, a cell of U3 has 3"),
            (25, "S3", text("abcd"), "4 bytes, a cell of S3 has 3; pass schema={\"c\": \"S4\"}"),
            (
                25,
                "S9",
                text("née"),
                "'é', and cells of bytes take only ASCII; pass schema={\"c\": \"U3\"",
            ),
            (25, "U3", text("a\0"), "has a NUL"),
            (25, "U3", text("é\0"), "has a NUL"),
            (25, "S3", text("a\0"), "has a NUL"),
            (17, "S3", hex("6100"), "ends in zero bytes"),
            (17, "S3", hex("61616161"), "4 bytes, a cell of S3 has 3"),
            (25, "U3", hex("61ff"), "not UTF-8 from byte 1"),
            (3802, "U3", hex("0231"), "version 2"),
        ] {
            let good = if oid == 3802 { hex("0131") } else { text("1") };
            let (row, message) = Case::new(oid).cast(cast).error(&[good, None, value]);
            assert_eq!(row, 2);
            assert!(message.contains(reason), "{message}");
        }
    }

    #[test]
    fn the_first_row_at_fault_is_told() {
        let case = Case::new(25).cast("U2");
        assert!(case.error(&[text("abc"), hex("ff")]).1.contains("3 characters"));
        assert!(case.error(&[hex("ff"), text("abc")]).1.contains("not UTF-8"));
        // The result does not depend on the block being ASCII: a text that is too long is reported
        // before a NUL.
        assert!(case.error(&[text("a\0bc")]).1.contains("4 characters"));
        assert!(case.error(&[text("é"), text("a\0bc")]).1.contains("4 characters"));
        let case = Case::new(3802).cast("U2");
        assert!(case.error(&[hex("01616161"), hex("02")]).1.contains("3 characters"));
    }

    proptest! {
        #[test]
        fn text_comes_back(values in prop::collection::vec(
            prop::option::of("[^\u{0}]{0,9}"), 1..80,
        )) {
            let given: Vec<Cell> =
                values.iter().map(|v| v.as_ref().map(|v| v.clone().into_bytes())).collect();
            let array = exported(25, "U9", &given);
            let expected = StringArray::from(values);
            prop_assert_eq!(array.as_any().downcast_ref(), Some(&expected));
        }
    }
}
