//! Columns whose rows are picked one by one.
//!
//! arrow-rs' `take` and `interleave` make new values in the parts of a fixed-size list that is
//! NULL. NumPy reads those parts, so such columns are copied as they are, in runs of rows.

use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, make_array};
use arrow_buffer::ArrowNativeType;
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType};
use arrow_select::interleave::interleave;
use arrow_select::take::take;

/// Rows of one array. The indices are in range.
pub(crate) fn taken<Index: ArrowPrimitiveType>(
    column: &ArrayRef,
    indices: &PrimitiveArray<Index>,
) -> Result<ArrayRef, ArrowError> {
    if !has_fixed_size_lists(column.data_type()) {
        return take(column, indices, None);
    }
    let places = indices.values().iter().map(|index| (0, index.as_usize()));
    copied(&[column], places)
}

/// Rows of several arrays of one type, each by the number of its array and its row there, which is
/// in range.
pub(super) fn gathered(
    parts: &[&ArrayRef],
    places: &[(usize, usize)],
) -> Result<ArrayRef, ArrowError> {
    if parts.first().is_some_and(|part| has_fixed_size_lists(part.data_type())) {
        return copied(parts, places.iter().copied());
    }
    let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
    interleave(&parts, places)
}

fn copied(
    parts: &[&ArrayRef],
    places: impl ExactSizeIterator<Item = (usize, usize)>,
) -> Result<ArrayRef, ArrowError> {
    let data: Vec<ArrayData> = parts.iter().map(|part| part.to_data()).collect();
    let mut rows = MutableArrayData::new(data.iter().collect(), false, places.len());
    let mut run: Option<(usize, usize, usize)> = None;
    for (part, row) in places {
        run = match run {
            Some((same, start, end)) if same == part && end == row => Some((same, start, row + 1)),
            other => {
                if let Some((part, start, end)) = other {
                    rows.try_extend(part, start, end)?;
                }
                Some((part, row, row + 1))
            }
        };
    }
    if let Some((part, start, end)) = run {
        rows.try_extend(part, start, end)?;
    }
    Ok(make_array(rows.freeze()))
}

fn has_fixed_size_lists(data_type: &DataType) -> bool {
    match data_type {
        DataType::FixedSizeList(..) => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            has_fixed_size_lists(item.data_type())
        }
        DataType::Struct(fields) => {
            fields.iter().any(|field| has_fixed_size_lists(field.data_type()))
        }
        _ => false,
    }
}
