//! The memory of a column as readers of plain arrays take it.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_buffer::Buffer;
use arrow_schema::DataType;

use crate::cells;
use crate::dictionary_keys::with_own_keys;

/// The values of a fixed-width column, shared; booleans as new bytes. A NULL slot holds NaN, NaT
/// (the smallest integer), or 0 if the type has neither. None for other columns.
pub fn fixed_values(array: &dyn Array) -> Option<Buffer> {
    if let Some(booleans) = array.as_boolean_opt() {
        let bytes: Vec<u8> = booleans.values().iter().map(u8::from).collect();
        return Some(Buffer::from_vec(bytes));
    }
    let data = array.to_data();
    let width = match data.data_type() {
        DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
        other => other.primitive_width(),
    };
    match (width, data.buffers()) {
        (Some(width), [values]) => {
            let start = data.offset() * width;
            Some(values.slice_with_length(start, data.len() * width))
        }
        _ => None,
    }
}

/// A byte per row, 1 for NULL; None if no value is NULL.
pub fn null_bytes(array: &dyn Array) -> Option<Vec<u8>> {
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0)?;
    Some(nulls.iter().map(|valid| u8::from(!valid)).collect())
}

/// The cells of NumPy's fixed-width texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextCells {
    /// `U`: code points of four bytes.
    Characters,
    /// `S`: bytes.
    Bytes,
}

/// Texts as cells of `width` bytes, NULL as an empty text. The inner value is None if a text is
/// longer than its cell, the outer one for a column of other values.
pub fn text_cells(array: &ArrayRef, cells: TextCells, width: usize) -> Option<Option<Buffer>> {
    let keyed = with_own_keys(array);
    let texts = keyed.as_ref().and_then(|keyed| keyed.as_dictionary_opt::<Int32Type>());
    if let Some(texts) = texts.and_then(|texts| texts.downcast_dict::<StringArray>()) {
        return Some(packed(texts.into_iter(), cells, width));
    }
    match array.data_type() {
        DataType::Utf8 => Some(packed(array.as_string::<i32>().iter(), cells, width)),
        DataType::LargeUtf8 => Some(packed(array.as_string::<i64>().iter(), cells, width)),
        DataType::Utf8View => Some(packed(array.as_string_view().iter(), cells, width)),
        _ => None,
    }
}

fn packed<'a>(
    texts: impl ExactSizeIterator<Item = Option<&'a str>>,
    cells: TextCells,
    width: usize,
) -> Option<Buffer> {
    match cells {
        TextCells::Characters => {
            cells::characters(texts, width / size_of::<u32>()).map(Buffer::from_vec)
        }
        TextCells::Bytes => {
            let values = texts.map(|text| text.map(str::as_bytes));
            cells::bytes(values, width).map(Buffer::from_vec)
        }
    }
}

/// As [`text_cells`], for bytes. Zeros at the end of a value cannot be told from the padding.
pub fn byte_cells(array: &dyn Array, width: usize) -> Option<Option<Buffer>> {
    let packed = match array.data_type() {
        DataType::Binary => cells::bytes(array.as_binary::<i32>().iter(), width),
        DataType::LargeBinary => cells::bytes(array.as_binary::<i64>().iter(), width),
        _ => return None,
    };
    Some(packed.map(Buffer::from_vec))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BinaryArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, Int16Array, NullArray,
        StringViewArray,
    };

    use super::*;

    #[test]
    fn fixed_values_are_those_of_the_slice() {
        let numbers = Int16Array::from(vec![1, 2, 3, 4]);
        let values = fixed_values(&numbers.slice(1, 2)).unwrap();
        assert_eq!(values.typed_data::<i16>(), [2, 3]);
        assert_eq!(values.as_ptr(), numbers.values().inner().as_ptr().wrapping_add(2));
        let raw = FixedSizeBinaryArray::try_from_iter([[1_u8, 2, 3], [4, 5, 6]].iter()).unwrap();
        assert_eq!(fixed_values(&raw.slice(1, 1)).unwrap().as_slice(), [4, 5, 6]);
    }

    #[test]
    fn booleans_are_bytes_and_texts_have_no_width() {
        let truths = BooleanArray::from(vec![Some(true), None, Some(false)]);
        assert_eq!(fixed_values(&truths).unwrap().as_slice(), [1, 0, 0]);
        assert!(fixed_values(&StringArray::from(vec!["a"])).is_none());
    }

    #[test]
    fn nulls_are_bytes_if_there_are_any() {
        assert_eq!(null_bytes(&Int16Array::from(vec![Some(1), None])), Some(vec![0, 1]));
        assert_eq!(null_bytes(&Int16Array::from(vec![1, 2])), None);
        assert_eq!(null_bytes(&NullArray::new(2)), Some(vec![1, 1]));
    }

    #[test]
    fn texts_of_each_layout_fill_cells() {
        let keyed: DictionaryArray<Int32Type> = [Some("ä"), None].into_iter().collect();
        let arrays: [ArrayRef; 3] = [
            Arc::new(StringArray::from(vec![Some("ä"), None])),
            Arc::new(StringViewArray::from(vec![Some("ä"), None])),
            Arc::new(keyed),
        ];
        for array in arrays {
            let bytes = text_cells(&array, TextCells::Bytes, 3).unwrap().unwrap();
            assert_eq!(bytes.as_slice(), [0xc3, 0xa4, 0, 0, 0, 0], "{}", array.data_type());
            let points = text_cells(&array, TextCells::Characters, 4).unwrap().unwrap();
            assert_eq!(points.typed_data::<u32>(), ['ä' as u32, 0]);
            assert_eq!(text_cells(&array, TextCells::Bytes, 1), Some(None));
        }
        let numbers: ArrayRef = Arc::new(Int16Array::from(vec![1]));
        assert_eq!(text_cells(&numbers, TextCells::Bytes, 1), None);
    }

    #[test]
    fn bytes_fill_cells() {
        let array = BinaryArray::from_opt_vec(vec![Some(b"ab".as_slice()), None]);
        assert_eq!(byte_cells(&array, 2).unwrap().unwrap().as_slice(), b"ab\0\0");
        assert_eq!(byte_cells(&array, 1), Some(None));
        assert_eq!(byte_cells(&Int16Array::from(vec![1]), 1), None);
    }
}
