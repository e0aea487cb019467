use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, FixedSizeListArray, Float64Array, Int32Array, StringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};

use super::*;

/// Numbers from `first` with NaN below each NULL, their texts, and points with NaN below NULL.
fn chunk(first: i32, rows: i32) -> RecordBatch {
    let numbers = first..first + rows;
    let texts = StringArray::from_iter_values(numbers.clone().map(|number| format!("{number}")));
    let slot = |number: i32| if number % 3 == 0 { f64::NAN } else { f64::from(number) };
    let valid: NullBuffer = numbers.clone().map(|number| number % 3 != 0).collect();
    let floats = Float64Array::new(numbers.clone().map(slot).collect(), Some(valid.clone()));
    let parts = numbers.clone().flat_map(|number| [slot(number), slot(number)]);
    let item = Arc::new(Field::new("item", DataType::Float64, true));
    let parts = Arc::new(Float64Array::from_iter_values(parts));
    let points = FixedSizeListArray::new(item, 2, parts, Some(valid));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::new(Int32Array::from_iter_values(numbers))),
        ("text", Arc::new(texts)),
        ("float", Arc::new(floats)),
        ("point", Arc::new(points)),
    ];
    let field =
        |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn numbers(batch: &RecordBatch) -> Vec<i32> {
    batch.column(0).as_primitive::<arrow_array::types::Int32Type>().values().to_vec()
}

/// Every value belongs to the number in its row, and so does the slot of each NULL.
fn check_rows(batch: &RecordBatch) {
    for (row, number) in numbers(batch).into_iter().enumerate() {
        assert_eq!(batch.column(1).as_string::<i32>().value(row), number.to_string());
        let floats = batch.column(2).as_primitive::<Float64Type>();
        let points = batch.column(3).as_fixed_size_list();
        let point = points.value(row);
        let point = point.as_primitive::<Float64Type>().values();
        let is_null = number % 3 == 0;
        assert_eq!((floats.is_null(row), points.is_null(row)), (is_null, is_null));
        assert_eq!(floats.value(row).is_nan(), is_null);
        assert!(point.iter().all(|part| part.is_nan() == is_null));
    }
}

fn check_filter(chunks: &[RecordBatch], wanted: impl Fn(i32) -> Option<bool>) {
    let all: Vec<i32> = chunks.iter().flat_map(numbers).collect();
    let mask: BooleanArray = all.iter().map(|number| wanted(*number)).collect();
    let parts = filter(chunks, &mask).unwrap();
    parts.iter().for_each(check_rows);
    let expected: Vec<i32> =
        all.into_iter().filter(|number| wanted(*number) == Some(true)).collect();
    assert_eq!(parts.iter().flat_map(numbers).collect::<Vec<_>>(), expected);
    assert!(parts.len() == 1 || parts.iter().all(|part| part.num_rows() > 0));
}

#[test]
fn a_mask_chooses_rows_of_each_chunk() {
    for chunks in [
        vec![chunk(0, 10)],
        vec![chunk(0, 0)],
        vec![chunk(0, 7), chunk(7, 0), chunk(7, 100).slice(3, 80)],
    ] {
        check_filter(&chunks, |number| Some(number % 2 == 0));
        check_filter(&chunks, |_| Some(true));
        check_filter(&chunks, |_| Some(false));
        check_filter(&chunks, |number| (number % 5 != 0).then_some(number < 50));
    }
}

#[test]
fn a_chunk_that_is_chosen_whole_is_shared() {
    let chunks = [chunk(0, 5), chunk(5, 5)];
    let mask: BooleanArray = (0..10).map(|row| Some(row < 5)).collect();
    let parts = filter(&chunks, &mask).unwrap();
    assert_eq!(parts.len(), 1);
    assert!(Arc::ptr_eq(parts[0].column(0), chunks[0].column(0)));
}

#[test]
fn a_mask_of_another_length_is_refused() {
    let error = filter(&[chunk(0, 3)], &BooleanArray::from(vec![true; 4])).unwrap_err();
    assert!(error.to_string().ends_with("a mask of 4 values for 3 rows"));
}

#[test]
fn positions_choose_rows_in_their_order() {
    let positions = [5, 5, 0, 1, 2, 8, 7, 6, 3, 9, 0];
    let expected: Vec<i32> = positions.iter().map(|position| *position as i32).collect();
    let splits: [&[i32]; 4] = [&[10], &[5, 5], &[0, 3, 0, 7, 0], &[1; 10]];
    for split in splits {
        let starts = split.iter().scan(0, |start, rows| {
            *start += rows;
            Some(*start - rows)
        });
        let chunks: Vec<_> = starts.zip(split).map(|(start, rows)| chunk(start, *rows)).collect();
        let taken = take(&chunks, &positions).unwrap();
        check_rows(&taken);
        assert_eq!(numbers(&taken), expected);
        assert_eq!(take(&chunks, &[]).unwrap().num_rows(), 0);
        let error = take(&chunks, &[10]).unwrap_err();
        assert!(error.to_string().ends_with("there is no row 10: there are 10"));
    }
}

#[test]
fn tables_without_columns_have_rows() {
    let options = RecordBatchOptions::new().with_row_count(Some(3));
    let schema = Arc::new(Schema::empty());
    let rows = RecordBatch::try_new_with_options(schema, vec![], &options).unwrap();
    assert_eq!(take(std::slice::from_ref(&rows), &[2, 0]).unwrap().num_rows(), 2);
    assert_eq!(take(&[rows.clone(), rows.clone()], &[5]).unwrap().num_rows(), 1);
    let mask = BooleanArray::from(vec![true, false, true]);
    assert_eq!(filter(&[rows], &mask).unwrap()[0].num_rows(), 2);
}
