//! To the text types, `bytea`, `jsonb` and `uuid`: bytes copied as they are.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{Array, FixedSizeBinaryArray, GenericByteArray, GenericByteViewArray};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::DataType;

use super::ColumnEncoder;
use super::cells::{
    LENGTH_BYTES, MadeCells, PushValue, checked_length, is_null, nulls_of, push_null, push_with,
    put_bytes, put_null,
};
use crate::error::EncodeError;

/// An array of byte strings.
trait Strings: Send + Sync + 'static {
    /// The bytes of one row.
    fn bytes(&self, row: usize) -> &[u8];

    /// All bytes of the rows, if they are contiguous.
    fn together(&self, _rows: Range<usize>) -> Option<&[u8]> {
        None
    }
}

impl<T: ByteArrayType> Strings for GenericByteArray<T> {
    #[inline(always)]
    fn bytes(&self, row: usize) -> &[u8] {
        self.value(row).as_ref()
    }

    fn together(&self, rows: Range<usize>) -> Option<&[u8]> {
        let offsets = self.value_offsets();
        let (start, end) = (offsets.get(rows.start)?, offsets.get(rows.end)?);
        self.value_data().get(start.as_usize()..end.as_usize())
    }
}

impl<T: ByteViewType> Strings for GenericByteViewArray<T> {
    #[inline(always)]
    fn bytes(&self, row: usize) -> &[u8] {
        self.value(row).as_ref()
    }
}

impl Strings for FixedSizeBinaryArray {
    #[inline(always)]
    fn bytes(&self, row: usize) -> &[u8] {
        self.value(row)
    }
}

/// A type's requirements for its bytes.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// A byte that precedes them.
    pub(super) prefix: Option<u8>,
    /// Whether they are text, which cannot contain NUL.
    pub(super) is_text: bool,
}

/// An encoder of strings to a text type.
pub(super) fn text(array: &dyn Array, prefix: Option<u8>) -> Option<Box<dyn ColumnEncoder>> {
    let form = Form { prefix, is_text: true };
    match array.data_type() {
        DataType::Utf8 => Some(BytesEncoder::boxed(array.as_string::<i32>(), form)),
        DataType::LargeUtf8 => Some(BytesEncoder::boxed(array.as_string::<i64>(), form)),
        DataType::Utf8View => Some(BytesEncoder::boxed(array.as_string_view(), form)),
        _ => None,
    }
}

/// An encoder of bytes to `bytea`.
pub(super) fn binary(array: &dyn Array) -> Option<Box<dyn ColumnEncoder>> {
    let form = Form { prefix: None, is_text: false };
    match array.data_type() {
        DataType::Binary => Some(BytesEncoder::boxed(array.as_binary::<i32>(), form)),
        DataType::LargeBinary => Some(BytesEncoder::boxed(array.as_binary::<i64>(), form)),
        DataType::BinaryView => Some(BytesEncoder::boxed(array.as_binary_view(), form)),
        DataType::FixedSizeBinary(_) => {
            Some(BytesEncoder::boxed(array.as_fixed_size_binary(), form))
        }
        _ => None,
    }
}

/// An encoder of 16-byte values to `uuid`, also for types of variable width, because not every
/// library has bytes of a fixed length.
pub(super) fn uuid(array: &dyn Array) -> Option<Box<dyn ColumnEncoder>> {
    match array.data_type() {
        DataType::FixedSizeBinary(16) => binary(array),
        DataType::Binary => Some(SixteenBytes::boxed(array.as_binary::<i32>())),
        DataType::LargeBinary => Some(SixteenBytes::boxed(array.as_binary::<i64>())),
        DataType::BinaryView => Some(SixteenBytes::boxed(array.as_binary_view())),
        _ => None,
    }
}

/// Bytes that must have 16 in each value.
struct SixteenBytes<A>(A);

impl<A: Strings + Array + Clone> SixteenBytes<A> {
    fn boxed(array: &A) -> Box<dyn ColumnEncoder> {
        MadeCells::boxed(Self(array.clone()), nulls_of(array))
    }
}

impl<A: Strings> PushValue for SixteenBytes<A> {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let bytes = self.0.bytes(row);
        if bytes.len() != 16 {
            let given = "fewer or more of them";
            return Err(EncodeError::WrongKind { expected: "16 bytes", given });
        }
        out.extend_from_slice(bytes);
        Ok(())
    }
}

struct BytesEncoder<A> {
    array: A,
    nulls: Option<NullBuffer>,
    form: Form,
    /// The first row of the range measured last.
    first: usize,
}

impl<A: Strings + Array + Clone> BytesEncoder<A> {
    fn boxed(array: &A, form: Form) -> Box<dyn ColumnEncoder> {
        Box::new(Self { array: array.clone(), nulls: nulls_of(array), form, first: 0 })
    }

    /// Reports the first row with a NUL in its text.
    fn check_nul(&self, rows: Range<usize>) -> Result<(), (usize, EncodeError)> {
        let has_nul = |bytes: &[u8]| bytes.contains(&0);
        if self.array.together(rows.clone()).is_some_and(|bytes| !has_nul(bytes)) {
            return Ok(());
        }
        for (place, row) in rows.enumerate() {
            if !is_null(self.nulls.as_ref(), row) {
                nul_free(self.array.bytes(row)).map_err(|error| (place, error))?;
            }
        }
        Ok(())
    }
}

/// The bytes, if they contain no NUL.
fn nul_free(bytes: &[u8]) -> Result<&[u8], EncodeError> {
    match bytes.iter().position(|byte| *byte == 0) {
        Some(position) => Err(EncodeError::NulInText { position }),
        None => Ok(bytes),
    }
}

impl<A: Strings + Array + Clone> ColumnEncoder for BytesEncoder<A> {
    fn measure(
        &mut self,
        rows: Range<usize>,
        sizes: &mut [usize],
    ) -> Result<(), (usize, EncodeError)> {
        self.first = rows.start;
        let prefix = usize::from(self.form.prefix.is_some());
        let mut too_long = None;
        for (place, (row, size)) in rows.clone().zip(sizes).enumerate() {
            *size += LENGTH_BYTES;
            if !is_null(self.nulls.as_ref(), row) {
                let length = prefix + self.array.bytes(row).len();
                if let (Err(error), None) = (checked_length(length), &too_long) {
                    too_long = Some((place, error));
                }
                *size += length;
            }
        }
        let rows = rows.start..rows.start + too_long.as_ref().map_or(rows.len(), |(row, _)| *row);
        if self.form.is_text {
            self.check_nul(rows)?;
        }
        too_long.map_or(Ok(()), Err)
    }

    fn write(&mut self, out: &mut [u8], cursors: &mut [usize]) {
        let prefix = usize::from(self.form.prefix.is_some());
        for (row, cursor) in (self.first..).zip(cursors) {
            if is_null(self.nulls.as_ref(), row) {
                *cursor = put_null(out, *cursor);
                continue;
            }
            let bytes = self.array.bytes(row);
            // Below 2^30, as `measure` has checked.
            let length = (prefix + bytes.len()) as u32;
            let mut at = put_bytes(out, *cursor, &length.to_be_bytes());
            if let Some(byte) = self.form.prefix {
                at = put_bytes(out, at, &[byte]);
            }
            *cursor = put_bytes(out, at, bytes);
        }
    }

    fn push_cell(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if is_null(self.nulls.as_ref(), row) {
            push_null(out);
            return Ok(());
        }
        let bytes = self.array.bytes(row);
        checked_length(bytes.len())?;
        push_with(out, |out| {
            out.extend(self.form.prefix);
            out.extend_from_slice(if self.form.is_text { nul_free(bytes)? } else { bytes });
            Ok(())
        })
    }
}
