//! Strings in the layout that a consumer takes without copying: only offsets or views are made; the
//! characters stay in place and are shared.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::LargeUtf8Type;
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, LargeStringArray, OffsetSizeTrait, RecordBatch,
    StringArray, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::cells::{self, CellEncoding};
use crate::trusted;

/// The memory layout of text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum StringLayout {
    /// As decoded: utf8 with 32-bit offsets, or large_utf8 if the column needs it or it was
    /// requested. Most consumers take this.
    #[default]
    Small,
    /// utf8_view, which Polars takes without a copy.
    View,
    /// large_utf8, which pandas takes without a copy.
    Large,
}

impl StringLayout {
    /// The layout of a name: "small", "view" or "large".
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "small" => Some(Self::Small),
            "view" => Some(Self::View),
            "large" => Some(Self::Large),
            _ => None,
        }
    }

    /// The Arrow type in which a column of this type is exported.
    fn of(self, data_type: &DataType) -> DataType {
        match (self, data_type) {
            (Self::View, DataType::Utf8 | DataType::LargeUtf8) => DataType::Utf8View,
            (Self::Large, DataType::Utf8) => DataType::LargeUtf8,
            (_, DataType::List(item)) => DataType::List(self.of_field(item)),
            (_, DataType::LargeList(item)) => DataType::LargeList(self.of_field(item)),
            (_, DataType::FixedSizeList(item, size)) => {
                DataType::FixedSizeList(self.of_field(item), *size)
            }
            (_, DataType::Map(entries, is_sorted)) => {
                DataType::Map(self.of_field(entries), *is_sorted)
            }
            (_, DataType::Struct(fields)) => {
                DataType::Struct(fields.iter().map(|field| self.of_field(field)).collect())
            }
            (_, DataType::Dictionary(keys, values)) => {
                DataType::Dictionary(keys.clone(), Box::new(self.of(values)))
            }
            _ => data_type.clone(),
        }
    }

    fn of_field(self, field: &Arc<Field>) -> Arc<Field> {
        let data_type = self.of(field.data_type());
        Arc::new(field.as_ref().clone().with_data_type(data_type))
    }
}

/// The batch with its text columns in `layout`, and fixed-width cells as such columns. Nothing else
/// changes, and a batch already in that layout is returned as it is. A utf8_view column stays one,
/// because it was requested by name.
pub fn with_string_layout(batch: &RecordBatch, layout: StringLayout) -> RecordBatch {
    let batch = &without_cells(batch);
    let schema = string_layout_schema(batch.schema_ref(), layout);
    if Arc::ptr_eq(&schema, batch.schema_ref()) {
        return batch.clone();
    }
    let columns = batch.columns().iter().map(|column| convert(column, layout)).collect();
    trusted::record_batch(schema, columns, batch.num_rows())
}

/// The batch with its fixed-width cells as plain text and bytes, which every consumer reads. This
/// is the only conversion that copies characters.
fn without_cells(batch: &RecordBatch) -> RecordBatch {
    let fields = batch.schema_ref().fields();
    if fields.iter().all(|field| CellEncoding::of(field).is_none()) {
        return batch.clone();
    }
    let plain = |(field, column): (&Arc<Field>, &ArrayRef)| {
        let cells = column.as_any().downcast_ref::<FixedSizeBinaryArray>();
        match (CellEncoding::of(field), cells) {
            (Some(encoding), Some(cells)) => {
                let column = cells::plain(cells, encoding);
                let field = Field::new(field.name(), column.data_type().clone(), true);
                (Arc::new(field), column)
            }
            _ => (Arc::clone(field), Arc::clone(column)),
        }
    };
    let (fields, columns): (Vec<_>, Vec<_>) = fields.iter().zip(batch.columns()).map(plain).unzip();
    let schema = Schema::new_with_metadata(fields, batch.schema_ref().metadata().clone());
    trusted::record_batch(Arc::new(schema), columns, batch.num_rows())
}

/// The schema of [`with_string_layout`] for columns without cells; the same one if nothing changes.
pub(crate) fn string_layout_schema(schema: &SchemaRef, layout: StringLayout) -> SchemaRef {
    let changes = |field: &Arc<Field>| layout.of(field.data_type()) != *field.data_type();
    if !schema.fields().iter().any(changes) {
        return Arc::clone(schema);
    }
    let fields = schema.fields().iter().map(|field| layout.of_field(field));
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

/// A column with its text in `layout`.
pub(crate) fn convert(column: &ArrayRef, layout: StringLayout) -> ArrayRef {
    let any = column.as_any();
    let small = any.downcast_ref::<StringArray>();
    let large = any.downcast_ref::<LargeStringArray>();
    match (layout, small, large) {
        (StringLayout::View, Some(array), _) => {
            string_views(array.offsets().inner(), array.values(), array.nulls().cloned())
        }
        (StringLayout::View, _, Some(array)) => {
            string_views(array.offsets().inner(), array.values(), array.nulls().cloned())
        }
        (StringLayout::Large, Some(array), _) => {
            let offsets = array.value_offsets().iter().copied().map(i64::from).collect();
            let data = array.values().clone();
            trusted::byte_array::<LargeUtf8Type>(offsets, data, array.nulls().cloned())
        }
        _ if column.data_type().is_nested() || column.as_any_dictionary_opt().is_some() => {
            let data_type = layout.of(column.data_type());
            if data_type == *column.data_type() {
                return Arc::clone(column);
            }
            let data = column.to_data();
            let parts = data.child_data().iter().map(|part| make_array(part.clone()));
            let parts = parts.map(|part| convert(&part, layout).to_data()).collect();
            trusted::with_children(data, data_type, parts)
        }
        _ => Arc::clone(column),
    }
}

/// The maximum size of one buffer of a view array, because views have signed 32-bit offsets.
const VIEW_BUFFER_MOST: usize = i32::MAX as usize;

/// Views over a string array's bytes. `offsets` and `data` are those of a valid string array.
///
/// A column past 2 GiB gets several buffers, which are windows on the same memory.
pub(crate) fn string_views<O: OffsetSizeTrait>(
    offsets: &ScalarBuffer<O>,
    data: &Buffer,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    string_views_within(offsets, data, nulls, VIEW_BUFFER_MOST)
}

fn string_views_within<O: OffsetSizeTrait>(
    offsets: &ScalarBuffer<O>,
    data: &Buffer,
    nulls: Option<NullBuffer>,
    buffer_most: usize,
) -> ArrayRef {
    let mut views = Vec::with_capacity(offsets.len().saturating_sub(1));
    let mut buffers = Vec::new();
    let mut window = offsets.first().map_or(0, |first| first.as_usize());
    let mut start = window;
    for end in offsets.iter().skip(1) {
        let end = end.as_usize();
        if end - window > buffer_most && start > window {
            buffers.push(data.slice_with_length(window, start - window));
            window = start;
        }
        let value = data.get(start..end).unwrap_or(&[]);
        views.push(arrow_array::builder::make_view(
            value,
            buffers.len() as u32,
            (start - window) as u32,
        ));
        start = end;
    }
    if start > window {
        buffers.push(data.slice_with_length(window, start - window));
    }
    trusted::string_view_array(views, buffers, nulls)
}

#[cfg(test)]
mod tests {
    use arrow_array::DictionaryArray;
    use arrow_array::StringViewArray;
    use arrow_array::types::{
        ArrowDictionaryKeyType, Int8Type, Int32Type, Int64Type, UInt16Type, UInt32Type,
    };

    use super::*;
    use crate::builder::DecodeOptions;
    use crate::testing::{Cell, decode_in_runs, field, text, validate};

    fn batch(oid: u32, cells: &[Cell]) -> RecordBatch {
        let rows: Vec<_> = cells.iter().map(|cell| vec![cell.clone(), cell.clone()]).collect();
        let fields = [field("a", oid), field("b", 17)];
        decode_in_runs(&fields, &DecodeOptions::default(), &rows, usize::MAX).unwrap()
    }

    #[test]
    fn layouts_share_the_characters() {
        let long = "longer than twelve bytes";
        let small = batch(114, &[text("short"), None, text(long), text("")]);
        let data =
            |batch: &RecordBatch| batch.column(0).to_data().buffers().last().unwrap().as_ptr();

        let same = with_string_layout(&small, StringLayout::Small);
        assert!(Arc::ptr_eq(same.schema_ref(), small.schema_ref()));

        let large = with_string_layout(&small, StringLayout::Large);
        validate(&large);
        let expected = LargeStringArray::from(vec![Some("short"), None, Some(long), Some("")]);
        assert_eq!(large.column(0).as_any().downcast_ref(), Some(&expected));
        assert_eq!(data(&large), data(&small));
        assert_eq!(large.schema().field(0).metadata(), small.schema().field(0).metadata());
        assert_eq!(large.column(1), small.column(1));

        for from in [&small, &large] {
            let view = with_string_layout(from, StringLayout::View);
            validate(&view);
            let expected = StringViewArray::from(vec![Some("short"), None, Some(long), Some("")]);
            assert_eq!(view.column(0).as_any().downcast_ref(), Some(&expected));
            assert_eq!(data(&view), data(&small));
            for layout in [StringLayout::Small, StringLayout::Large] {
                assert_eq!(with_string_layout(&view, layout), view);
            }
        }
        assert_eq!(with_string_layout(&large, StringLayout::Small), large);
    }

    /// Their values were once left as they were, under a schema that said otherwise.
    #[test]
    fn dictionaries_of_any_keys_are_converted() {
        fn check<Key: ArrowDictionaryKeyType>() {
            let texts = [Some("a"), None, Some("longer than twelve bytes"), Some("a")];
            let column: DictionaryArray<Key> = texts.into_iter().collect();
            let batch = RecordBatch::try_from_iter([("d", Arc::new(column) as ArrayRef)]).unwrap();
            for layout in [StringLayout::View, StringLayout::Large, StringLayout::Small] {
                let converted = with_string_layout(&batch, layout);
                validate(&converted);
                assert_eq!(
                    converted.column(0).data_type(),
                    converted.schema().field(0).data_type()
                );
                let values = converted.column(0).as_any_dictionary().values().len();
                assert_eq!(values, 2);
            }
        }
        check::<Int8Type>();
        check::<UInt16Type>();
        check::<Int32Type>();
        check::<UInt32Type>();
        check::<Int64Type>();
    }

    #[test]
    fn slices_are_converted_as_they_are() {
        let long = "longer than twelve bytes";
        let whole = batch(25, &[text("a"), text(long), None, text("b"), text("c")]);
        for layout in [StringLayout::View, StringLayout::Large] {
            let converted = with_string_layout(&whole.slice(1, 3), layout);
            validate(&converted);
            assert_eq!(converted, with_string_layout(&whole, layout).slice(1, 3));
            validate(&with_string_layout(&whole.slice(2, 0), layout));
        }
    }

    #[test]
    fn views_of_much_text_have_several_buffers() {
        let values: Vec<_> = (0..20).map(|n| format!("{n:0>width$}", width = 10 + n)).collect();
        let strings = StringArray::from(values.clone());
        for most in [29, 40, 100] {
            let offsets = strings.offsets().inner();
            let views = string_views_within(offsets, strings.values(), None, most);
            views.to_data().validate_full().unwrap();
            let views = views.as_any().downcast_ref::<StringViewArray>().unwrap().clone();
            assert_eq!(views, StringViewArray::from_iter_values(&values));
            assert!(views.data_buffers().len() > 1);
            assert!(views.data_buffers().iter().all(|buffer| buffer.len() <= most));
        }
    }

    #[test]
    fn layouts_have_names() {
        let known = ["small", "view", "large", "huge"].map(StringLayout::named);
        let [small, view, large] = [StringLayout::Small, StringLayout::View, StringLayout::Large];
        assert_eq!(known, [Some(small), Some(view), Some(large), None]);
    }
}
