//! Several arrays as one.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType};

use crate::contained::contained;

/// Arrays of one type, at least one of them, as one array.
///
/// # Errors
/// More bytes or elements than 32-bit offsets reach, or more values of a dictionary than keys.
pub fn joined(parts: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    if let [only] = parts {
        return Ok(ArrayRef::clone(only));
    }
    let data: Vec<ArrayData> = parts.iter().map(|part| part.to_data()).collect();
    if !offsets_reach(&data) {
        return Err(ArrowError::OffsetOverflowError(usize::try_from(i32::MAX).unwrap_or_default()));
    }
    let length = data.iter().map(ArrayData::len).sum();
    contained(|| {
        let mut whole = MutableArrayData::try_new(data.iter().collect(), false, length)?;
        for (index, part) in data.iter().enumerate() {
            whole.try_extend(index, 0, part.len())?;
        }
        Ok(make_array(whole.freeze()))
    })
}

/// Whether 32-bit offsets reach the end of the joined data, on every level.
pub(crate) fn offsets_reach(data: &[ArrayData]) -> bool {
    let Some(first) = data.first() else { return true };
    match first.data_type() {
        DataType::Utf8 | DataType::Binary => {
            fits(data.iter().map(|part| offset_range(part).len()).sum())
        }
        DataType::List(_) | DataType::Map(..) => {
            let used: Vec<ArrayData> = data
                .iter()
                .filter_map(|part| {
                    let range = offset_range(part);
                    let values = part.child_data().first()?;
                    Some(values.slice(range.start, range.len()))
                })
                .collect();
            fits(used.iter().map(ArrayData::len).sum()) && offsets_reach(&used)
        }
        _ => (0..first.child_data().len()).all(|index| {
            let level = data.iter().filter_map(|part| part.child_data().get(index).cloned());
            offsets_reach(&level.collect::<Vec<_>>())
        }),
    }
}

fn fits(length: usize) -> bool {
    i32::try_from(length).is_ok()
}

/// The first and last of the 32-bit offsets that an array uses.
fn offset_range(data: &ArrayData) -> Range<usize> {
    let Some(offsets) = data.buffers().first().filter(|offsets| !offsets.is_empty()) else {
        return 0..0;
    };
    let offsets = offsets.typed_data::<i32>();
    let at = |index: usize| {
        offsets.get(index).and_then(|offset| usize::try_from(*offset).ok()).unwrap_or_default()
    };
    at(data.offset())..at(data.offset() + data.len())
}
