//! The builder for variable-length types: the bytes of all values one after another, and the offset
//! at which each ends.
//!
//! Offsets have 32 bits, as most consumers expect, until a block would carry them past `i32::MAX`;
//! then the column switches to 64 bits. Text is checked for UTF-8 a block at a time, while it is in
//! the cache.

use std::marker::PhantomData;

use arrow_array::ArrayRef;
use arrow_array::types::{BinaryType, LargeBinaryType, LargeUtf8Type, Utf8Type};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::DataType;

use super::{Built, Extension, Request, dictionary_text, fixed_text};
use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::error::Reason;
use crate::export;
use crate::schema::Override;
use crate::trusted;
use crate::validity::Validity;

/// The conversion of a value from the wire to the column's bytes.
pub(super) trait Shape: Send + Sync + 'static {
    /// Whether the bytes must be checked for UTF-8 before they are used as text.
    const UNCHECKED_TEXT: bool;

    /// Appends a block's bytes, and for each row its end in `data`; returns the number of NULLs.
    /// After an error, the rows before the faulty one have been appended.
    fn append(
        fields: Fields<'_>,
        data: &mut Vec<u8>,
        ends: impl FnMut(usize),
    ) -> Result<usize, (usize, Reason)>;

    /// An upper limit on the bytes of a block's values.
    fn most_bytes(fields: Fields<'_>) -> usize;
}

/// The bytes unchanged.
pub(super) struct AsIs;

impl Shape for AsIs {
    const UNCHECKED_TEXT: bool = true;

    fn append(
        fields: Fields<'_>,
        data: &mut Vec<u8>,
        ends: impl FnMut(usize),
    ) -> Result<usize, (usize, Reason)> {
        Ok(append_suffixes(fields, 0, data, ends))
    }

    fn most_bytes(fields: Fields<'_>) -> usize {
        fields.byte_len()
    }
}

/// [`Shape::append`] for values that `write` makes.
pub(super) fn append_written(
    fields: Fields<'_>,
    data: &mut Vec<u8>,
    mut ends: impl FnMut(usize),
    write: impl Fn(&[u8], &mut Vec<u8>) -> Result<(), Reason>,
) -> Result<usize, (usize, Reason)> {
    let mut nulls = 0;
    for (row, field) in fields.iter().enumerate() {
        match field {
            Some(raw) => write(raw, data).map_err(|reason| (row, reason))?,
            None => nulls += 1,
        }
        ends(data.len());
    }
    Ok(nulls)
}

/// The size of a fixed-size copy. Most values are no longer.
const STEP: usize = 32;

/// [`Shape::append`] for values copied without their first `skip` bytes, which every value must
/// have.
///
/// Calling `memcpy` for each value costs more than copying its bytes. A copy of fixed size is
/// cheaper: it also copies the bytes after a short value, and the next value overwrites them.
pub(super) fn append_suffixes(
    fields: Fields<'_>,
    skip: usize,
    data: &mut Vec<u8>,
    mut ends: impl FnMut(usize),
) -> usize {
    let mut nulls = 0;
    let mut end = data.len();
    let (bytes, spans) = fields.parts();
    data.resize(end + fields.byte_len() + STEP, 0);
    for span in spans {
        if span.is_null() {
            nulls += 1;
            ends(end);
            continue;
        }
        let (start, len) = (span.start() + skip, span.len().saturating_sub(skip));
        let source = bytes.get(start..).and_then(|rest| rest.first_chunk::<STEP>());
        let slot = data.get_mut(end..).and_then(|rest| rest.first_chunk_mut::<STEP>());
        match (source, slot) {
            (Some(source), Some(slot)) if len <= STEP => *slot = *source,
            _ => {
                let source = bytes.get(start..start + len).unwrap_or(&[]);
                if let Some(slot) = data.get_mut(end..end + source.len()) {
                    slot.copy_from_slice(source);
                }
            }
        }
        end += len;
        ends(end);
    }
    data.truncate(end);
    nulls
}

/// The casts of text types.
pub(super) const TEXT_CASTS: &[&str] = &[
    "utf8",
    "large_utf8",
    "utf8_view",
    "dictionary<int32, utf8>",
    "U<characters>",
    "S<bytes>",
    "binary",
];

/// The builder of a text type, for a cast. Text cast to bytes has no extension type.
pub(super) fn text_builder<S: Shape>(
    request: &Request,
    extension: Option<Extension>,
) -> Option<Built> {
    let (layout, extension) = match request.cast {
        None | Some(Override::Utf8) => (Layout::Utf8, extension),
        Some(Override::LargeUtf8) => (Layout::LargeUtf8, extension),
        Some(Override::Utf8View) => (Layout::Utf8View, extension),
        Some(Override::Binary) => (Layout::Binary, None),
        Some(Override::Dictionary) => return dictionary_text::built::<S>(),
        Some(Override::Characters(capacity)) => return fixed_text::characters::<S>(capacity),
        Some(Override::Bytes(capacity)) => return fixed_text::ascii::<S>(capacity),
        Some(_) => return None,
    };
    Some(Built { builder: Box::new(VarlenBuilder::<S>::new(layout)), extension })
}

/// The requested Arrow type, before it may turn out to need 64-bit offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    Utf8,
    LargeUtf8,
    Utf8View,
    Binary,
}

impl Layout {
    fn is_text(self) -> bool {
        self != Self::Binary
    }
}

/// Builds a column of variable-length values.
pub(super) struct VarlenBuilder<S> {
    /// The bytes of all values; UTF-8 between any two offsets when the layout is text.
    data: Vec<u8>,
    /// 0, then the end of each value in `data`.
    offsets: Offsets,
    /// One row for each offset but the first.
    validity: Validity,
    layout: Layout,
    /// Whether the first batch has fixed the width of the offsets.
    fixed: bool,
    /// The limit of 32-bit offsets; less than `i32::MAX` only in tests.
    small_reach: usize,
    shape: PhantomData<S>,
}

enum Offsets {
    Small(Vec<i32>),
    Large(Vec<i64>),
}

impl Offsets {
    fn new(large: bool) -> Self {
        if large { Self::Large(vec![0]) } else { Self::Small(vec![0]) }
    }

    /// The end of the last value.
    fn end(&self) -> usize {
        match self {
            Self::Small(offsets) => offsets.last().map_or(0, |end| end.place()),
            Self::Large(offsets) => offsets.last().map_or(0, |end| end.place()),
        }
    }

    /// Takes the offsets out and leaves those of an empty column, of the same width.
    fn take(&mut self) -> Self {
        match self {
            Self::Small(offsets) => {
                let taken = take_buffer(offsets);
                offsets.push(0);
                Self::Small(taken)
            }
            Self::Large(offsets) => {
                let taken = take_buffer(offsets);
                offsets.push(0);
                Self::Large(taken)
            }
        }
    }
}

impl<S: Shape> VarlenBuilder<S> {
    pub(super) fn new(layout: Layout) -> Self {
        // Views are made from 64-bit offsets, so a view column never meets a limit.
        let large = matches!(layout, Layout::LargeUtf8 | Layout::Utf8View);
        Self {
            data: Vec::new(),
            offsets: Offsets::new(large),
            validity: Validity::default(),
            layout,
            fixed: false,
            small_reach: i32::MAX as usize,
            shape: PhantomData,
        }
    }

    /// Makes sure that the offsets can reach the end of a block; returns false if they cannot.
    fn reach(&mut self, fields: Fields<'_>) -> bool {
        let Offsets::Small(offsets) = &self.offsets else { return true };
        if self.data.len().saturating_add(S::most_bytes(fields)) <= self.small_reach {
            return true;
        }
        if !self.fixed {
            self.offsets = Offsets::Large(offsets.iter().copied().map(i64::from).collect());
        }
        !self.fixed
    }

    /// Appends a block whose end the offsets can reach.
    fn append_block(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let is_text = self.layout.is_text();
        let nulls = match &mut self.offsets {
            Offsets::Small(offsets) => append::<S, i32>(fields, &mut self.data, offsets, is_text),
            Offsets::Large(offsets) => append::<S, i64>(fields, &mut self.data, offsets, is_text),
        }?;
        self.validity.append(fields, nulls, &[]);
        Ok(())
    }

    /// Appends the rows of a block up to the one that is faulty or out of reach.
    #[cold]
    fn append_rows(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        for row in 0..fields.len() {
            let field = fields.row(row);
            if !self.reach(field) {
                return Err((row, Reason::OffsetOverflow));
            }
            self.append_block(field).map_err(|(_, reason)| (row, reason))?;
        }
        Ok(())
    }

    fn truncate(&mut self, rows: usize) {
        match &mut self.offsets {
            Offsets::Small(offsets) => offsets.truncate(rows + 1),
            Offsets::Large(offsets) => offsets.truncate(rows + 1),
        }
        self.data.truncate(self.offsets.end());
        self.validity.truncate(rows);
    }
}

impl<S: Shape> ColumnBuilder for VarlenBuilder<S> {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        if self.reach(fields) {
            return self.append_block(fields);
        }
        let rows_before = self.validity.len();
        let appended = self.append_rows(fields);
        if appended.is_err() {
            self.truncate(rows_before);
        }
        appended
    }

    fn finish(&mut self) -> ArrayRef {
        self.fixed = true;
        let offsets = self.offsets.take();
        let data = Buffer::from_vec(take_buffer(&mut self.data));
        let nulls = self.validity.finish();
        match (offsets, self.layout) {
            (Offsets::Large(offsets), Layout::Utf8View) => {
                export::string_views::<i64>(&ScalarBuffer::from(offsets), &data, nulls)
            }
            (Offsets::Small(offsets), Layout::Binary) => {
                trusted::byte_array::<BinaryType>(offsets, data, nulls)
            }
            (Offsets::Large(offsets), Layout::Binary) => {
                trusted::byte_array::<LargeBinaryType>(offsets, data, nulls)
            }
            (Offsets::Small(offsets), _) => trusted::byte_array::<Utf8Type>(offsets, data, nulls),
            (Offsets::Large(offsets), _) => {
                trusted::byte_array::<LargeUtf8Type>(offsets, data, nulls)
            }
        }
    }

    fn data_type(&self) -> DataType {
        match (&self.offsets, self.layout) {
            (_, Layout::Utf8View) => DataType::Utf8View,
            (Offsets::Small(_), Layout::Binary) => DataType::Binary,
            (Offsets::Large(_), Layout::Binary) => DataType::LargeBinary,
            (Offsets::Small(_), _) => DataType::Utf8,
            (Offsets::Large(_), _) => DataType::LargeUtf8,
        }
    }

    fn nbytes(&self) -> usize {
        let offsets = match &self.offsets {
            Offsets::Small(offsets) => size_of_val(offsets.as_slice()),
            Offsets::Large(offsets) => size_of_val(offsets.as_slice()),
        };
        self.data.len() + offsets + self.validity.nbytes()
    }
}

/// An offset of 32 or 64 bits.
pub(super) trait Offset: Copy {
    /// `end` must fit, see [`VarlenBuilder::reach`].
    fn at(end: usize) -> Self;
    fn place(self) -> usize;
}

impl Offset for i32 {
    #[inline]
    fn at(end: usize) -> Self {
        end as Self
    }

    #[inline]
    fn place(self) -> usize {
        self as usize
    }
}

impl Offset for i64 {
    #[inline]
    fn at(end: usize) -> Self {
        end as Self
    }

    #[inline]
    fn place(self) -> usize {
        self as usize
    }
}

impl Offset for usize {
    #[inline]
    fn at(end: usize) -> Self {
        end
    }

    #[inline]
    fn place(self) -> usize {
        self
    }
}

/// Appends a block and returns the number of NULLs. After an error the block is removed.
fn append<S: Shape, O: Offset>(
    fields: Fields<'_>,
    data: &mut Vec<u8>,
    offsets: &mut Vec<O>,
    is_text: bool,
) -> Result<usize, (usize, Reason)> {
    let data_start = data.len();
    let offsets_start = offsets.len();
    offsets.reserve(fields.len());
    let copied = S::append(fields, data, |end| offsets.push(O::at(end)));
    let checked = if is_text && S::UNCHECKED_TEXT {
        // Also the values copied before an error: if their text is invalid, that error comes first.
        let own = offsets.get(offsets_start..).unwrap_or(&[]);
        check_utf8(data, data_start, own)
    } else {
        Ok(())
    };
    match (checked, copied) {
        (Ok(()), Ok(nulls)) => Ok(nulls),
        (Err(error), _) | (_, Err(error)) => {
            data.truncate(data_start);
            offsets.truncate(offsets_start);
            Err(error)
        }
    }
}

/// Checks that every value from `start` on is UTF-8; `ends` are the values' ends.
///
/// Even if the bytes as a whole are UTF-8, the border between two values may cut a character. Then
/// the second value starts with a continuation byte.
pub(super) fn check_utf8<O: Offset>(
    data: &[u8],
    start: usize,
    ends: &[O],
) -> Result<(), (usize, Reason)> {
    let own = data.get(start..).unwrap_or(&[]);
    if own.is_ascii() {
        return Ok(());
    }
    let continues = |end: &O| data.get(end.place()).is_some_and(|byte| byte & 0xC0 == 0x80);
    if simdutf8::basic::from_utf8(own).is_ok() && !ends.iter().any(continues) {
        return Ok(());
    }
    find_not_utf8(data, start, ends)
}

#[cold]
fn find_not_utf8<O: Offset>(data: &[u8], start: usize, ends: &[O]) -> Result<(), (usize, Reason)> {
    let mut start = start;
    for (row, end) in ends.iter().enumerate() {
        let value = data.get(start..end.place()).unwrap_or(&[]);
        if let Err(error) = std::str::from_utf8(value) {
            return Err((row, Reason::NotUtf8 { valid_up_to: error.valid_up_to() }));
        }
        start = end.place();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, LargeStringArray, StringArray, StringViewArray};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, data_rows, messages, text};
    use colonnade_protocol::Spans;

    fn append(builder: &mut VarlenBuilder<AsIs>, values: &[&str]) -> Result<(), (usize, Reason)> {
        let rows: Vec<_> = values.iter().map(|value| [text(value)]).collect();
        let bytes = messages(rows.iter().map(|row| &row[..]));
        let mut spans = Spans::new();
        let mut rows = data_rows(&bytes).unwrap();
        rows.scan(1, usize::MAX, &mut spans).unwrap();
        builder.append(Fields::new(rows.bytes(), spans.column(0)))
    }

    #[test]
    fn offsets_widen_before_they_overflow() {
        let mut builder = VarlenBuilder::<AsIs>::new(Layout::Utf8);
        builder.small_reach = 10;
        append(&mut builder, &["01234", "56789"]).unwrap();
        assert_eq!(builder.data_type(), DataType::Utf8);
        append(&mut builder, &["", "a"]).unwrap();
        assert_eq!(builder.data_type(), DataType::LargeUtf8);
        let array = builder.finish();
        array.to_data().validate_full().unwrap();
        let expected = LargeStringArray::from(vec!["01234", "56789", "", "a"]);
        assert_eq!(array.as_any().downcast_ref(), Some(&expected));
        append(&mut builder, &["b"]).unwrap();
        assert_eq!(builder.finish().data_type(), &DataType::LargeUtf8);
    }

    #[test]
    fn offsets_are_fixed_by_the_first_batch() {
        let mut builder = VarlenBuilder::<AsIs>::new(Layout::Utf8);
        builder.small_reach = 10;
        append(&mut builder, &["01234"]).unwrap();
        builder.finish();
        append(&mut builder, &["01234"]).unwrap();
        let error = append(&mut builder, &["567", "89", "a"]);
        assert_eq!(error, Err((2, Reason::OffsetOverflow)));
        let array = builder.finish();
        assert_eq!(array.as_any().downcast_ref(), Some(&StringArray::from(vec!["01234"])));
    }

    #[test]
    fn a_failed_block_is_taken_back() {
        let mut builder = VarlenBuilder::<AsIs>::new(Layout::Utf8);
        append(&mut builder, &["good"]).unwrap();
        let rows = [[text("fine")], [Some(vec![0xff])]];
        let bytes = messages(rows.iter().map(|row| &row[..]));
        let mut spans = Spans::new();
        let mut rows = data_rows(&bytes).unwrap();
        rows.scan(1, usize::MAX, &mut spans).unwrap();
        let error = builder.append(Fields::new(rows.bytes(), spans.column(0)));
        assert_eq!(error, Err((1, Reason::NotUtf8 { valid_up_to: 0 })));
        append(&mut builder, &["again"]).unwrap();
        let array = builder.finish();
        array.to_data().validate_full().unwrap();
        assert_eq!(array.as_any().downcast_ref(), Some(&StringArray::from(vec!["good", "again"])));
    }

    #[test]
    fn a_character_cut_in_two_is_not_text() {
        let (row, message) =
            Case::new(25).error(&[text("ä"), Some(vec![0xc3]), Some(vec![0xa4]), text("x")]);
        assert_eq!(row, 1);
        assert!(message.ends_with("the text is not UTF-8 from byte 0 on"), "{message}");
        let cut = [text("ok"), None, Some("dé".as_bytes()[..2].to_vec()), Some(vec![0xa9, b'!'])];
        assert_eq!(Case::new(25).error(&cut).0, 2);
    }

    proptest! {
        #[test]
        fn round_trip(values in prop::collection::vec(prop::option::of(".{0,40}"), 0..150)) {
            let cells: Vec<_> = values.iter().map(|v| v.as_deref().and_then(text)).collect();
            let array: StringArray = Case::new(25).array(&cells);
            prop_assert_eq!(array, StringArray::from(values.clone()));
            let array: LargeStringArray = Case::new(25).cast("large_utf8").array(&cells);
            prop_assert_eq!(array, LargeStringArray::from(values.clone()));
            let array: StringViewArray = Case::new(25).cast("utf8_view").array(&cells);
            let expected: Vec<_> = values.iter().map(Option::as_deref).collect();
            prop_assert_eq!(array, StringViewArray::from(expected));
        }

        #[test]
        fn bytes_are_text_or_an_error(
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..4), 1..40),
        ) {
            let bad = values.iter().position(|value| std::str::from_utf8(value).is_err());
            let cells: Vec<_> = values.into_iter().map(Some).collect();
            match Case::new(25).decode(&cells) {
                Ok(_) => prop_assert_eq!(bad, None),
                Err(error) => prop_assert_eq!(Some(error.row as usize), bad),
            }
        }
    }
}
