use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, UInt8Type, UInt16Type,
};
use arrow_array::{
    Decimal128Array, DictionaryArray, Int8Array, Int32Array, ListArray, StringArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};

use super::*;
use crate::concat;

fn chunk(first: i32, rows: i32) -> RecordBatch {
    let numbers = first..first + rows;
    let texts = numbers.clone().map(|number| (number % 3 != 0).then(|| number.to_string()));
    let fields = [("n", DataType::Int32), ("t", DataType::Utf8)];
    let fields = fields.map(|(name, kind)| Field::new(name, kind, true)).to_vec();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(numbers)),
        Arc::new(texts.collect::<StringArray>()),
    ];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn table(lengths: &[i32]) -> Table {
    let starts = lengths.iter().scan(0, |start, rows| {
        *start += rows;
        Some(*start - rows)
    });
    let chunks: Vec<_> = starts.zip(lengths).map(|(start, rows)| chunk(start, *rows)).collect();
    concat(&chunks).unwrap()
}

fn address(array: &ArrayRef) -> usize {
    array.as_primitive::<Int32Type>().values().as_ptr() as usize
}

#[test]
fn chunks_are_shared_until_the_column_is_needed_whole() {
    let parts = [chunk(0, 5), chunk(5, 7)];
    let table = concat(&parts).unwrap();
    let there: Vec<_> = parts.iter().map(|part| address(part.column(0))).collect();
    let kept = |table: &Table| -> Vec<usize> {
        table.chunks().iter().map(|chunk| address(chunk.column(0))).collect()
    };
    assert_eq!(kept(&table), there);
    let alone = table.project(&[0]).unwrap();
    let slice = table.slice(3, 6);
    assert_eq!(kept(&slice), [there[0] + 12, there[1]]);

    // Joined once, for every table that shares the column; its chunks are windows on it.
    let whole = table.column(0).unwrap().unwrap();
    assert_eq!(address(&whole), address(&alone.column(0).unwrap().unwrap()));
    assert_eq!(kept(&table), [address(&whole), address(&whole) + 20]);
    assert_eq!(kept(&table.slice(3, 6)), [address(&whole) + 12, address(&whole) + 20]);
    assert_eq!(kept(&table.slice(6, 2)), [address(&whole) + 24]);
}

#[test]
fn every_slice_has_the_rows_of_the_whole() {
    let lengths: [&[i32]; 5] = [&[9], &[4, 5], &[0, 3, 0, 5, 1, 0], &[1; 9], &[0, 9, 0]];
    let expected = chunk(0, 9);
    for lengths in lengths {
        let table = table(lengths);
        assert_eq!((table.num_rows(), table.num_columns()), (9, 2));
        assert_eq!(table.num_chunks(), lengths.iter().filter(|length| **length > 0).count());
        for (offset, length) in (0..9).flat_map(|o| (0..=9 - o).map(move |l| (o, l))) {
            let slice = table.slice(offset, length);
            assert_eq!(slice.num_rows(), length);
            let chunks = slice.chunks();
            assert_eq!(chunks.len(), slice.num_chunks());
            assert_eq!(chunks.iter().map(RecordBatch::num_rows).sum::<usize>(), length);
            assert_eq!(slice.whole().unwrap(), expected.slice(offset, length));
        }
    }
}

#[test]
fn no_rows_are_one_chunk() {
    for lengths in [&[0][..], &[0, 0]] {
        let table = table(lengths);
        assert_eq!((table.num_chunks(), table.num_rows(), table.chunks().len()), (1, 0, 1));
        assert_eq!(table.column(1).unwrap().unwrap().data_type(), &DataType::Utf8);
    }
}

#[test]
fn columns_are_put_and_renamed_in_every_chunk() {
    let table = table(&[4, 5]);
    let names = ["a", "b"].into_iter().zip(table.schema().fields());
    let fields = names.map(|(name, field)| Arc::new(field.as_ref().clone().with_name(name)));
    let renamed = table.with_fields(fields.collect()).unwrap();
    assert_eq!(renamed.chunks()[1].schema().field(1).name(), "b");
    let ones: ArrayRef = Arc::new(Int32Array::from(vec![1; 9]));
    let field = Arc::new(Field::new("c", DataType::Int32, true));
    for index in [0, 2] {
        let with = renamed.with_column(index, Arc::clone(&field), Arc::clone(&ones)).unwrap();
        assert_eq!(with.num_columns(), index.max(1) + 1);
        assert_eq!(with.chunks()[1].column(index).as_primitive::<Int32Type>().values(), &[1; 5]);
    }
    assert!(renamed.with_column(0, Arc::clone(&field), ones.slice(1, 8)).is_err());
    let text = Arc::new(Field::new("c", DataType::Utf8, true));
    assert!(renamed.with_column(0, Arc::clone(&text), ones).is_err());
    assert!(renamed.with_fields(vec![field, text]).is_ok());
    assert!(renamed.with_fields(vec![]).is_err());
}

#[test]
fn decimals_of_several_scales_share_the_largest() {
    let part = |value: i128, scale: i8| {
        let array = Decimal128Array::from(vec![Some(value), None]);
        let array = array.with_precision_and_scale(38, scale).unwrap();
        let field = Field::new("d", array.data_type().clone(), true);
        let schema = Arc::new(Schema::new(vec![field]));
        RecordBatch::try_new(schema, vec![Arc::new(array)]).unwrap()
    };
    let table = concat(&[part(15, 1), part(2, 0), part(125, 3).slice(0, 0)]).unwrap();
    let whole = table.column(0).unwrap().unwrap();
    assert_eq!(whole.data_type(), &DataType::Decimal128(38, 3));
    assert_eq!(table.schema().field(0).data_type(), whole.data_type());
    let values: Vec<_> =
        whole.as_primitive::<arrow_array::types::Decimal128Type>().iter().collect();
    assert_eq!(values, [Some(1500), None, Some(2000), None]);
}

/// Chunks whose dictionaries have as many values each, all different.
fn dictionaries<Key: ArrowDictionaryKeyType>(chunks: usize, values: usize) -> Vec<RecordBatch> {
    let chunk = |number: usize| {
        let texts = (0..values).map(|value| format!("{number}-{value}")).collect::<Vec<_>>();
        let keys: DictionaryArray<Key> = texts.iter().map(|text| Some(text.as_str())).collect();
        RecordBatch::try_from_iter([("d", Arc::new(keys) as ArrayRef)]).unwrap()
    };
    (0..chunks).map(chunk).collect()
}

#[test]
fn dictionaries_that_outgrow_their_keys_get_wider_ones() {
    fn check<Key: ArrowDictionaryKeyType>(chunks: usize, values: usize) {
        let wide = concat(&dictionaries::<Key>(chunks, values)).unwrap();
        let whole = wide.column(0).unwrap().unwrap();
        let whole = whole.as_dictionary::<Int32Type>().downcast_dict::<StringArray>().unwrap();
        let texts: Vec<_> = whole.into_iter().map(Option::unwrap).collect();
        assert_eq!(texts.len(), chunks * values);
        assert_eq!(texts.last(), Some(&&*format!("{}-{}", chunks - 1, values - 1)));
    }
    check::<Int8Type>(2, 100);
    check::<UInt8Type>(3, 100);
    check::<Int16Type>(4, 10_000);
    check::<UInt16Type>(5, 15_000);
}

#[test]
fn dictionaries_of_numbers_are_joined_in_keys_that_reach() {
    let chunk = |number: i32| {
        let keys = Int8Array::from_iter_values(0..100);
        let values = Arc::new(Int32Array::from_iter_values(number..number + 100));
        let column = DictionaryArray::new(keys, values);
        RecordBatch::try_from_iter([("d", Arc::new(column) as ArrayRef)]).unwrap()
    };
    for (chunks, key) in [(1, DataType::Int8), (3, DataType::Int32)] {
        let chunks: Vec<_> = (0..chunks).map(|number| chunk(number * 100)).collect();
        let whole = concat(&chunks).unwrap().column(0).unwrap().unwrap();
        let dictionary = whole.as_any_dictionary();
        assert_eq!(dictionary.keys().data_type(), &key);
        let values = dictionary.values().as_primitive::<Int32Type>();
        assert!(values.values().iter().copied().eq(0..100 * chunks.len() as i32));
    }
}

#[test]
fn a_dictionary_within_a_list_that_outgrows_its_keys_is_an_error() {
    let lists = |batch: &RecordBatch| {
        let values = batch.column(0);
        let item = Arc::new(Field::new("item", values.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths([values.len()]);
        let list = ListArray::new(item, offsets, Arc::clone(values), None);
        RecordBatch::try_from_iter([("d", Arc::new(list) as ArrayRef)]).unwrap()
    };
    let chunks: Vec<_> = dictionaries::<Int8Type>(2, 100).iter().map(lists).collect();
    let text = concat(&chunks).unwrap_err().to_string();
    assert!(text.contains("its dictionaries have too many values for their keys"), "{text}");
    // Chunks that were never compared are joined when they are needed.
    assert!(Table::of_chunks(chunks).unwrap().column(0).is_err());
}

#[test]
fn a_dictionary_of_dictionaries_is_an_error_and_no_panic() {
    let nested = |batch: &RecordBatch| {
        let keys = Int32Array::from_iter_values(0..100);
        let outer = DictionaryArray::new(keys, Arc::clone(batch.column(0)));
        RecordBatch::try_from_iter([("d", Arc::new(outer) as ArrayRef)]).unwrap()
    };
    let chunks: Vec<_> = dictionaries::<Int8Type>(2, 100).iter().map(nested).collect();
    assert!(concat(&chunks).and_then(|table| table.column(0)).is_err());
}
