//! Fixed-width cells, which NumPy reads in place, as the text or bytes that they hold: no other
//! library supports them.

use arrow_array::types::{BinaryType, ByteArrayType, LargeBinaryType, LargeUtf8Type, Utf8Type};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_schema::Field;
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;

use crate::trusted;

/// The content of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CellEncoding {
    /// Text, four bytes per character, least significant first.
    Ucs4,
    /// ASCII text.
    Ascii,
    /// Bytes that do not end with zeros.
    Bytes,
}

impl CellEncoding {
    const NAMES: [(&'static str, Self); 3] = [
        ("colonnade.ucs4", Self::Ucs4),
        ("colonnade.ascii", Self::Ascii),
        ("colonnade.bytes", Self::Bytes),
    ];

    /// The extension name of a cell column's field.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }

    /// The content of a field's column, if it holds cells.
    pub fn of(field: &Field) -> Option<Self> {
        let name = field.metadata().get(EXTENSION_TYPE_NAME_KEY)?;
        Self::NAMES.iter().find(|(known, _)| known == name).map(|(_, encoding)| *encoding)
    }

    /// NumPy's dtype of a cell of `width` bytes, as a schema spells it.
    pub fn dtype(self, width: i32) -> String {
        match self {
            Self::Ucs4 => format!("U{}", width / 4),
            Self::Ascii | Self::Bytes => format!("S{width}"),
        }
    }
}

/// The cells as plain utf8 or binary, with 64-bit offsets if 32 bits are not enough.
pub fn plain(cells: &FixedSizeBinaryArray, encoding: CellEncoding) -> ArrayRef {
    let mut data = Vec::new();
    let mut ends = vec![0];
    for row in 0..cells.len() {
        if cells.is_valid(row) {
            push(cells.value(row), encoding, &mut data);
        }
        ends.push(data.len());
    }
    let is_small = i32::try_from(data.len()).is_ok();
    match (encoding, is_small) {
        (CellEncoding::Bytes, true) => array::<BinaryType>(&ends, data, cells),
        (CellEncoding::Bytes, false) => array::<LargeBinaryType>(&ends, data, cells),
        (_, true) => array::<Utf8Type>(&ends, data, cells),
        (_, false) => array::<LargeUtf8Type>(&ends, data, cells),
    }
}

fn array<T: ByteArrayType>(
    ends: &[usize],
    data: Vec<u8>,
    cells: &FixedSizeBinaryArray,
) -> ArrayRef {
    let offset = |end: &usize| T::Offset::from_usize(*end).unwrap_or_default();
    let offsets = ends.iter().map(offset).collect();
    trusted::byte_array::<T>(offsets, Buffer::from_vec(data), cells.nulls().cloned())
}

/// Texts in cells of `capacity` characters of four bytes each, NULL as an empty cell; `None` if a
/// text is longer.
pub fn characters<'a>(
    texts: impl ExactSizeIterator<Item = Option<&'a str>>,
    capacity: usize,
) -> Option<Vec<u32>> {
    let mut cells = vec![0; texts.len().checked_mul(capacity)?];
    for (text, cell) in texts.zip(cells.chunks_exact_mut(capacity.max(1))) {
        let text = text.unwrap_or_default();
        if text.is_ascii() {
            let slots = cell.get_mut(..text.len())?;
            slots.iter_mut().zip(text.bytes()).for_each(|(slot, byte)| *slot = byte.into());
            continue;
        }
        let mut slots = cell.iter_mut();
        for character in text.chars() {
            *slots.next()? = character.into();
        }
    }
    Some(cells)
}

/// Values in cells of `capacity` bytes, NULL as an empty cell; `None` if a value is longer.
pub fn bytes<'a>(
    values: impl ExactSizeIterator<Item = Option<&'a [u8]>>,
    capacity: usize,
) -> Option<Vec<u8>> {
    let mut cells = vec![0; values.len().checked_mul(capacity)?];
    for (value, cell) in values.zip(cells.chunks_exact_mut(capacity.max(1))) {
        let value = value.unwrap_or_default();
        cell.get_mut(..value.len())?.copy_from_slice(value);
    }
    Some(cells)
}

/// Appends the content of a cell; text is always UTF-8, whatever was written into the cell's
/// memory.
fn push(cell: &[u8], encoding: CellEncoding, data: &mut Vec<u8>) {
    let used = cell.len() - cell.iter().rev().take_while(|byte| **byte == 0).count();
    match encoding {
        CellEncoding::Bytes => data.extend_from_slice(cell.get(..used).unwrap_or(&[])),
        CellEncoding::Ascii => {
            let bytes = cell.iter().take(used);
            data.extend(bytes.map(|byte| if byte.is_ascii() { *byte } else { b'?' }));
        }
        CellEncoding::Ucs4 => {
            let (points, _) = cell.as_chunks::<4>();
            for point in points.iter().take(used.div_ceil(4)) {
                let point = char::from_u32(u32::from_le_bytes(*point));
                let point = point.unwrap_or(char::REPLACEMENT_CHARACTER);
                data.extend_from_slice(point.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}
