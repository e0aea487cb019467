//! Checks that an array of Arrow's C data interface has the structure of its type: the right number
//! of buffers and children, and possible lengths. arrow-rs takes all of it for granted.

use arrow_array::ffi::FFI_ArrowArray;
use arrow_data::{BufferSpec, layout};
use arrow_schema::{ArrowError, DataType};

/// Refuses an array whose structure, or a child's, does not match its type. Values are not checked.
pub(crate) fn check(array: &FFI_ArrowArray, kind: &DataType) -> Result<(), ArrowError> {
    let rows = rows(array).ok_or_else(|| refused(kind, "its length or offset is negative"))?;
    check_buffers(array, kind, rows)?;
    match kind {
        DataType::Utf8 | DataType::Binary => check_end::<i32>(array, kind, rows)?,
        DataType::LargeUtf8 | DataType::LargeBinary => check_end::<i64>(array, kind, rows)?,
        DataType::Utf8View | DataType::BinaryView => check_view_lengths(array, kind)?,
        _ => {}
    }
    let children = children(kind);
    if array.num_children() != children.len() {
        let (found, wanted) = (array.num_children() as i64, children.len());
        return Err(refused(kind, &format!("it has {found} children instead of {wanted}")));
    }
    for (index, child) in children.into_iter().enumerate() {
        check(array.child(index), child)?;
    }
    match (array.dictionary(), kind) {
        (Some(values), DataType::Dictionary(_, kind)) => check(values, kind),
        (None, DataType::Dictionary(..)) => Err(refused(kind, "it has no dictionary")),
        (Some(_), _) => Err(refused(kind, "it has a dictionary")),
        (None, _) => Ok(()),
    }
}

fn refused(kind: &DataType, reason: &str) -> ArrowError {
    ArrowError::CDataInterface(format!("the array is not of the type {kind}: {reason}"))
}

/// The number of rows in the buffers, including those before the array's offset.
fn rows(array: &FFI_ArrowArray) -> Option<usize> {
    let rows = array.len().checked_add(array.offset())?;
    // The interface's negative numbers are huge here.
    let are_signed = array.len() <= isize::MAX as usize && array.offset() <= isize::MAX as usize;
    are_signed.then_some(rows)
}

fn check_buffers(array: &FFI_ArrowArray, kind: &DataType, rows: usize) -> Result<(), ArrowError> {
    let layout = layout(kind);
    let wanted = layout.buffers.len() + usize::from(layout.can_contain_null_mask);
    let found = array.num_buffers();
    // View arrays have buffers of text after their views, and one buffer with the lengths.
    let fits = if layout.variadic { (found as i64) > wanted as i64 } else { found == wanted };
    if !fits {
        let found = found as i64;
        let more = if layout.variadic { " or more" } else { "" };
        let least = wanted + usize::from(layout.variadic);
        return Err(refused(kind, &format!("it has {found} buffers instead of {least}{more}")));
    }
    for buffer in &layout.buffers {
        let width = match buffer {
            BufferSpec::FixedWidth { byte_width, .. } => *byte_width,
            _ => 1,
        };
        // There is one more offset than rows.
        let bytes = rows.checked_add(1).and_then(|rows| rows.checked_mul(width));
        if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
            return Err(refused(kind, &format!("{rows} rows of it do not fit in memory")));
        }
    }
    Ok(())
}

/// Refuses a negative last offset, which arrow-rs takes as the size of the value buffer.
fn check_end<T: Into<i64>>(
    array: &FFI_ArrowArray,
    kind: &DataType,
    rows: usize,
) -> Result<(), ArrowError> {
    if rows == 0 {
        return Ok(());
    }
    let offsets = array.buffer(1).cast::<T>();
    if offsets.is_null() {
        return Err(refused(kind, "it has no offsets"));
    }
    // SAFETY: by the interface's definition, there is one more offset than rows.
    let end: i64 = unsafe { offsets.add(rows).read_unaligned() }.into();
    if end < 0 {
        return Err(refused(kind, &format!("its last offset is {end}")));
    }
    Ok(())
}

fn check_view_lengths(array: &FFI_ArrowArray, kind: &DataType) -> Result<(), ArrowError> {
    // The buffers are validity and views, then the texts, then the texts' lengths.
    let count = array.num_buffers().saturating_sub(3);
    let lengths = array.buffer(array.num_buffers().saturating_sub(1)).cast::<i64>();
    if count > 0 && lengths.is_null() {
        return Err(refused(kind, "its buffers have no lengths"));
    }
    for index in 0..count {
        // SAFETY: by the interface's definition, there is a length for each text buffer.
        let length = unsafe { lengths.add(index).read_unaligned() };
        if length < 0 {
            return Err(refused(kind, &format!("the length of a buffer is {length}")));
        }
    }
    Ok(())
}

fn children(kind: &DataType) -> Vec<&DataType> {
    match kind {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => vec![field.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::ffi::to_ffi;
    use arrow_array::types::Int32Type;
    use arrow_array::{
        Array, DictionaryArray, Int32Array, LargeStringArray, ListArray, StringArray,
        StringViewArray, StructArray,
    };
    use arrow_schema::{DataType, Field};

    use super::check;

    fn refusal(array: &dyn Array, kind: &DataType) -> Option<String> {
        let (array, _) = to_ffi(&array.to_data()).unwrap();
        check(&array, kind).err().map(|error| error.to_string())
    }

    fn is_refused(array: &dyn Array, kind: &DataType, reason: &str) {
        let told = refusal(array, kind).unwrap_or_else(|| panic!("{kind} was not refused"));
        assert!(told.ends_with(reason), "{told}");
    }

    #[test]
    fn arrays_have_the_structure_of_their_types() {
        let numbers = Int32Array::from(vec![Some(1), None]);
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), None]);
        let keyed: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
        let field = Arc::new(Field::new("a", DataType::Int32, true));
        let rows = StructArray::from(vec![(field, Arc::new(numbers.clone()) as _)]);
        let views = StringViewArray::from(vec!["short", "a text that is too long for a view"]);
        let arrays: [&dyn Array; 8] = [
            &numbers,
            &numbers.slice(1, 1),
            &StringArray::from(Vec::<&str>::new()),
            &LargeStringArray::from(vec!["a"]),
            &lists,
            &keyed,
            &rows,
            &views,
        ];
        for array in arrays {
            assert_eq!(refusal(array, array.data_type()), None, "{}", array.data_type());
        }
    }

    #[test]
    fn another_number_of_buffers_is_refused() {
        let texts = StringArray::from(vec!["a"]);
        is_refused(&texts, &DataType::Int32, "it has 3 buffers instead of 2");
        let numbers = Int32Array::from(vec![1]);
        is_refused(&numbers, &DataType::Utf8View, "it has 2 buffers instead of 3 or more");
        is_refused(&numbers, &DataType::Null, "it has 2 buffers instead of 0");
    }

    #[test]
    fn another_number_of_children_is_refused() {
        let field = Field::new("a", DataType::Int32, true);
        let one = StructArray::from(vec![(
            Arc::new(field.clone()),
            Arc::new(Int32Array::from(vec![1])) as _,
        )]);
        let two = DataType::Struct(vec![field.clone(), field.clone()].into());
        is_refused(&one, &two, "it has 1 children instead of 2");
        // A child is checked, too.
        let texts = DataType::Struct(vec![Field::new("a", DataType::Utf8, true)].into());
        is_refused(&one, &texts, "not of the type Utf8: it has 2 buffers instead of 3");
    }

    #[test]
    fn a_dictionary_belongs_to_its_type() {
        let keyed: DictionaryArray<Int32Type> = ["a"].into_iter().collect();
        is_refused(&keyed, &DataType::Int32, "it has a dictionary");
        let kind = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        is_refused(&Int32Array::from(vec![1]), &kind, "it has no dictionary");
    }
}
