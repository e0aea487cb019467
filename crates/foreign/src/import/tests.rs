use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::to_ffi;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{Int32Array, RecordBatchIterator, StringArray, record_batch};
use arrow_buffer::Buffer;
use colonnade_columnar::encode::BatchSource as _;

use super::*;

fn stream_of(
    batches: Vec<Result<RecordBatch, ArrowError>>,
    schema: &SchemaRef,
) -> FFI_ArrowArrayStream {
    let reader = RecordBatchIterator::new(batches, Arc::clone(schema));
    FFI_ArrowArrayStream::new(Box::new(reader))
}

fn array_of(field: &Field, content: FFI_ArrowArray) -> Result<ArrayRef, Fault> {
    // SAFETY: each test sends an array of the field's type, or one with fewer buffers.
    unsafe { super::array_of(field, content) }
}

fn batch(values: [i32; 2]) -> RecordBatch {
    record_batch!(("a", Int32, values.to_vec())).unwrap()
}

#[test]
fn an_array_comes_as_it_was_sent() {
    let sent = StringArray::from(vec![Some("ä"), None, Some("")]);
    let (array, schema) = to_ffi(&sent.to_data()).unwrap();
    let field = field_of(&schema).unwrap();
    assert_eq!(field.data_type(), &DataType::Utf8);
    let came = array_of(&field, array).unwrap();
    assert_eq!(came.as_string::<i32>(), &sent);
}

#[test]
fn an_array_of_another_type_is_refused() {
    let (array, _) = to_ffi(&Int32Array::from(vec![1]).to_data()).unwrap();
    let field = Field::new("a", DataType::Utf8, true);
    let told = array_of(&field, array).unwrap_err().to_string();
    assert!(told.ends_with("is not of the type Utf8: it has 2 buffers instead of 3"), "{told}");
}

#[test]
fn values_are_checked() {
    let builder = ArrayData::builder(DataType::Utf8).len(1);
    let builder = builder.add_buffer(Buffer::from_slice_ref([0_i32, 1]));
    let data = builder.add_buffer(Buffer::from_slice_ref([0xff_u8]));
    // SAFETY: the offsets are right; that the byte is no UTF-8 is what the test is about.
    let data = unsafe { data.build_unchecked() };
    let (array, schema) = to_ffi(&data).unwrap();
    let told = array_of(&field_of(&schema).unwrap(), array).unwrap_err().to_string();
    assert!(told.starts_with("the Arrow data is faulty: "), "{told}");
    assert!(told.contains("UTF"), "{told}");
}

#[test]
fn a_stream_that_was_consumed_is_refused() {
    let told = Stream::new(FFI_ArrowArrayStream::empty()).err().unwrap();
    assert!(matches!(told, Fault::Released));
}

#[test]
fn the_arrays_of_a_stream_are_joined() {
    let schema = batch([0, 0]).schema();
    let sent = vec![Ok(batch([1, 2])), Ok(batch([3, 4]))];
    let mut stream = Stream::new(stream_of(sent, &schema)).unwrap();
    assert!(matches!(&stream.kind, DataType::Struct(fields) if fields.len() == 1));
    assert!(matches!(stream.field().unwrap().data_type(), DataType::Struct(_)));
    let all = stream.joined().unwrap();
    let values = all.as_struct().column(0).as_primitive::<Int32Type>();
    assert_eq!(values.values(), &[1, 2, 3, 4]);

    let mut alone = Stream::new(stream_of(vec![Ok(batch([5, 6]))], &schema)).unwrap();
    assert_eq!(alone.joined().unwrap().len(), 2);
    let mut none = Stream::new(stream_of(Vec::new(), &schema)).unwrap();
    assert_eq!(none.joined().unwrap().len(), 0);
}

#[test]
fn the_error_of_a_producer_ends_its_stream() {
    let schema = batch([0, 0]).schema();
    let failed = Err(ArrowError::ComputeError("out of paper".to_owned()));
    let stream = Stream::new(stream_of(vec![Ok(batch([1, 2])), failed], &schema)).unwrap();
    let mut batches = Batches::Stream(BatchStream::new(stream).unwrap());
    assert_eq!(batches.next_batch().unwrap().unwrap(), batch([1, 2]));
    let fault = batches.next_batch().unwrap_err();
    assert!(matches!(&fault, Fault::Producer(text) if text.contains("out of paper")), "{fault}");
}

#[test]
fn made_batches_come_in_order() {
    let mut batches = Batches::Made(VecDeque::from([batch([1, 2]), batch([3, 4])]));
    assert_eq!(batches.next_batch().unwrap(), Some(batch([1, 2])));
    assert_eq!(batches.next_batch().unwrap(), Some(batch([3, 4])));
    assert_eq!(batches.next_batch().unwrap(), None);
}

#[test]
fn rows_are_structs_without_null() {
    let rows: ArrayRef = Arc::new(StructArray::from(batch([1, 2])));
    let field = Field::new("", rows.data_type().clone(), true);
    assert_eq!(batch_of_rows(&field, &rows).unwrap(), batch([1, 2]));

    let (fields, columns, _) = StructArray::from(batch([1, 2])).into_parts();
    let nulls = Some(vec![true, false].into());
    let rows: ArrayRef = Arc::new(StructArray::new(fields, columns, nulls));
    let told = batch_of_rows(&field, &rows).unwrap_err().to_string();
    assert!(told.ends_with("a row as a whole is NULL"), "{told}");

    let rows: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let field = Field::new("", DataType::Int32, true);
    let told = batch_of_rows(&field, &rows).unwrap_err().to_string();
    assert!(told.ends_with("a record batch is an array of structs, not of Int32"), "{told}");
}

#[test]
fn an_assertion_of_the_reader_is_an_error() {
    let told = contained(|| -> Result<(), ArrowError> { std::panic::resume_unwind(Box::new(0)) });
    let told = told.unwrap_err().to_string();
    assert_eq!(told, "C Data interface error: it does not follow the C data interface");
}
