//! The only unsafe code of the crate: arrays made from parts that are known to fit.
//!
//! Arrow's checked constructors visit every value again: the order of offsets, the UTF-8 of text.
//! The builders have checked each block while it was in the cache, and after an error their content
//! is not used. Without the second check, `finish` takes the same microsecond for a thousand rows
//! and for a hundred million. Tests run `ArrayData::validate_full` on every batch.

use std::sync::Arc;

use arrow_array::types::{ByteArrayType, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, GenericByteArray, ListArray, PrimitiveArray, RecordBatch,
    StringViewArray, StructArray, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, FieldRef, Fields, SchemaRef};

/// A text or binary array. `offsets` must start at 0, never decrease, and end within `data`; for
/// text, `data` between any two neighbouring offsets must be UTF-8; `nulls` must have one bit per
/// value.
pub(crate) fn byte_array<T: ByteArrayType>(
    offsets: Vec<T::Offset>,
    data: Buffer,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    byte_array_shared::<T>(ScalarBuffer::from(offsets), data, nulls)
}

/// As [`byte_array`], with offsets in a buffer.
pub(crate) fn byte_array_shared<T: ByteArrayType>(
    offsets: ScalarBuffer<T::Offset>,
    data: Buffer,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    debug_assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() + 1 == offsets.len()));
    // SAFETY: the callers are the builders of variable-length values and of dictionaries, which
    // push `data.len()` after every value and check each value for UTF-8, and the export, which
    // derives offsets from an array made in this way, or writes characters one by one.
    unsafe {
        let offsets = OffsetBuffer::new_unchecked(offsets);
        Arc::new(GenericByteArray::<T>::new_unchecked(offsets, data, nulls))
    }
}

/// A string view array over `buffers`. Every view must point at UTF-8 within its buffer or hold
/// it inline; `nulls` must have one bit per view.
pub(crate) fn string_view_array(
    views: Vec<u128>,
    buffers: Vec<Buffer>,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    debug_assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() == views.len()));
    // SAFETY: the only caller makes each view with Arrow's own `make_view` from the bytes of a
    // valid string array and their position in `buffers`.
    unsafe {
        Arc::new(StringViewArray::new_unchecked(ScalarBuffer::from(views), buffers.into(), nulls))
    }
}

/// A list array. `offsets` must start at 0, never decrease, and end with the length of `values`,
/// whose type must be the field's; `nulls` must have one bit per list.
pub(crate) fn list_array(
    field: FieldRef,
    offsets: Vec<i32>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    debug_assert_eq!(field.data_type(), values.data_type());
    debug_assert_eq!(offsets.last().map(|end| *end as usize), Some(values.len()));
    debug_assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() + 1 == offsets.len()));
    // SAFETY: the only caller adds the length of each list to the offset before it, and counts
    // exactly the cells that went into `values`.
    unsafe {
        let offsets = OffsetBuffer::new_unchecked(ScalarBuffer::from(offsets));
        Arc::new(ListArray::new_unchecked(field, offsets, values, nulls))
    }
}

/// A struct array of `rows` rows. `fields` must have the types of `columns`, each of that length;
/// `nulls` must have one bit per row.
pub(crate) fn struct_array(
    fields: Fields,
    columns: Vec<ArrayRef>,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    debug_assert_eq!(fields.len(), columns.len());
    debug_assert!(columns.iter().all(|column| column.len() == rows));
    debug_assert!(
        fields.iter().zip(&columns).all(|(f, column)| f.data_type() == column.data_type())
    );
    debug_assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() == rows));
    // SAFETY: the callers derive the fields from the columns themselves, and push a cell to every
    // column for each row.
    unsafe { Arc::new(StructArray::new_unchecked_with_length(fields, columns, nulls, rows)) }
}

/// A dictionary array. Every key must be the index of a value, and `nulls` must have one bit per
/// key. If there are no values, every row must be NULL.
pub(crate) fn dictionary_array(
    keys: Vec<i32>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    debug_assert!(keys.iter().all(|key| *key == 0 || (*key as usize) < values.len()));
    let keys = PrimitiveArray::<Int32Type>::new(ScalarBuffer::from(keys), nulls);
    // SAFETY: the callers take each key from the index of the value they inserted, or push 0 for a
    // NULL.
    unsafe { Arc::new(DictionaryArray::<Int32Type>::new_unchecked(keys, values)) }
}

/// The array with another type and other children over the same buffers. Each child must have the
/// length of the one it replaces, and the type that `data_type` has there; otherwise both types
/// must have the same memory layout.
pub(crate) fn with_children(
    data: ArrayData,
    data_type: DataType,
    children: Vec<ArrayData>,
) -> ArrayRef {
    debug_assert_eq!(data.child_data().len(), children.len());
    debug_assert!(data.child_data().iter().zip(&children).all(|(old, new)| old.len() == new.len()));
    let builder = data.into_builder().data_type(data_type).child_data(children);
    // SAFETY: the callers convert each child value by value and derive the type from the converted
    // children; offsets, keys and validity are those of the original array, which was valid.
    let data = unsafe { builder.build_unchecked() };
    make_array(data)
}

/// A record batch. `schema` must have one field per column with the column's type, and every
/// column `rows` rows.
pub(crate) fn record_batch(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> RecordBatch {
    debug_assert_eq!(schema.fields().len(), columns.len());
    debug_assert!(columns.iter().all(|column| column.len() == rows));
    debug_assert!(
        schema.fields().iter().zip(&columns).all(|(field, c)| field.data_type() == c.data_type())
    );
    // SAFETY: the callers derive the schema from the columns themselves, and every column received
    // every block of rows.
    unsafe { RecordBatch::new_unchecked(schema, columns, rows) }
}
