//! The values in the slots of NULLs.
//!
//! Our own columns have NaN or NaT there, which NumPy reads without a pass over the validity.
//! Arrays of other libraries have anything.

use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use half::f16;

/// NaT as an integer.
const NAT: i64 = i64::MIN;

/// The array with NaN in the slots of floats that are NULL, and NaT in those of times, on every
/// level of a nested type. Shared if nothing changes.
///
/// # Errors
/// An error of Arrow's when the array is rebuilt.
pub fn filled(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let data = array.to_data();
    Ok(filled_data(&data, None)?.map_or_else(|| ArrayRef::clone(array), make_array))
}

/// None if nothing changes. The slots that `outer` hides are filled, too.
fn filled_data(
    data: &ArrayData,
    outer: Option<&NullBuffer>,
) -> Result<Option<ArrayData>, ArrowError> {
    let hidden = NullBuffer::union(data.nulls(), outer).filter(|nulls| nulls.null_count() > 0);
    let values = hidden.as_ref().and_then(|hidden| match data.data_type() {
        DataType::Float16 => filled_values(data, hidden, f16::NAN),
        DataType::Float32 => filled_values(data, hidden, f32::NAN),
        DataType::Float64 => filled_values(data, hidden, f64::NAN),
        DataType::Timestamp(..) | DataType::Duration(_) | DataType::Time64(_) => {
            filled_values(data, hidden, NAT)
        }
        _ => None,
    });
    if let Some(values) = values {
        let nulls = data.nulls().cloned();
        let builder = ArrayData::builder(data.data_type().clone()).len(data.len());
        return builder.add_buffer(values).nulls(nulls).build().map(Some);
    }
    filled_children(data, hidden.as_ref())
}

fn filled_children(
    data: &ArrayData,
    hidden: Option<&NullBuffer>,
) -> Result<Option<ArrayData>, ArrowError> {
    let hidden = match data.data_type() {
        DataType::FixedSizeList(_, size) if data.offset() == 0 => {
            hidden.map(|hidden| hidden.expand(usize::try_from(*size).unwrap_or_default()))
        }
        DataType::FixedSizeList(..)
        | DataType::List(_)
        | DataType::LargeList(_)
        | DataType::Struct(_)
        | DataType::Map(..) => None,
        _ => return Ok(None),
    };
    let mut changed = false;
    let mut children = Vec::with_capacity(data.child_data().len());
    for child in data.child_data() {
        let hidden = hidden.as_ref().filter(|hidden| hidden.len() == child.len());
        let filled = filled_data(child, hidden)?;
        changed |= filled.is_some();
        children.push(filled.unwrap_or_else(|| child.clone()));
    }
    if !changed {
        return Ok(None);
    }
    data.clone().into_builder().child_data(children).build().map(Some)
}

/// The values with another one wherever they are hidden.
fn filled_values<T: ArrowNativeType>(
    data: &ArrayData,
    hidden: &NullBuffer,
    missing: T,
) -> Option<Buffer> {
    let values = data.buffers().first()?.typed_data::<T>();
    let values = values.get(data.offset()..data.offset() + data.len())?;
    let filled =
        values.iter().zip(hidden).map(|(value, shown)| if shown { *value } else { missing });
    Some(filled.collect::<Vec<T>>().into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, TimestampMicrosecondType};
    use arrow_array::{
        FixedSizeListArray, Float64Array, Int32Array, ListArray, TimestampMicrosecondArray,
    };
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;

    use super::*;

    fn nulls() -> Option<NullBuffer> {
        Some(NullBuffer::from(vec![true, false, true, false]))
    }

    fn floats() -> ArrayRef {
        Arc::new(Float64Array::new(vec![1.0, 2.0, 3.0, 4.0].into(), nulls()))
    }

    fn is_nan(array: &ArrayRef) -> Vec<bool> {
        array.as_primitive::<Float64Type>().values().iter().map(|value| value.is_nan()).collect()
    }

    #[test]
    fn slots_of_floats_and_times_are_filled() {
        assert_eq!(is_nan(&filled(&floats()).unwrap()), [false, true, false, true]);
        assert_eq!(is_nan(&filled(&floats().slice(1, 2)).unwrap()), [true, false]);
        let times = TimestampMicrosecondArray::new(vec![1, 2, 3, 4].into(), nulls());
        let times: ArrayRef = Arc::new(times.with_timezone("UTC"));
        let made = filled(&times).unwrap();
        assert_eq!(made.data_type(), times.data_type());
        assert_eq!(made.as_primitive::<TimestampMicrosecondType>().values(), &[1, NAT, 3, NAT]);
    }

    #[test]
    fn what_has_no_missing_value_is_shared() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        assert!(Arc::ptr_eq(&filled(&numbers).unwrap(), &numbers));
        let full: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
        assert!(Arc::ptr_eq(&filled(&full).unwrap(), &full));
    }

    #[test]
    fn parts_are_filled() {
        let item = Arc::new(Field::new("item", DataType::Float64, true));
        let lists =
            ListArray::new(Arc::clone(&item), OffsetBuffer::from_lengths([3, 1]), floats(), None);
        let made = filled(&(Arc::new(lists) as ArrayRef)).unwrap();
        assert_eq!(is_nan(made.as_list::<i32>().values()), [false, true, false, true]);
        let parts: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.0]));
        let hidden = Some(NullBuffer::from(vec![true, false]));
        let points: ArrayRef = Arc::new(FixedSizeListArray::new(item, 2, parts, hidden));
        let made = filled(&points).unwrap();
        assert_eq!(is_nan(made.as_fixed_size_list().values()), [false, false, true, true]);
    }
}
