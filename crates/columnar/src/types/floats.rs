//! The builders for types made of floats: the floats of all values one after another, in the vector
//! that becomes the Arrow buffer.
//!
//! If every value has the same number of floats, they form a fixed-size list, and a NULL holds that
//! many NaN. Otherwise they form a list with offsets, and a NULL holds none.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float64Type};
use arrow_array::{ArrayRef, FixedSizeListArray, ListArray, PrimitiveArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef};

use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::error::{LayoutFault, Reason};
use crate::validity::Validity;

/// A wire format and the floats that it is decoded to.
pub(super) trait Shape: Send + Sync + 'static {
    /// The Arrow type of each float.
    type Arrow: ArrowPrimitiveType;

    /// The float that fills a NULL.
    const NULL: Native<Self>;

    /// Appends the floats of a value. Floats appended before an error are ignored.
    fn append(raw: &[u8], floats: &mut Vec<Native<Self>>) -> Result<(), Reason>;
}

/// A float of the shape.
pub(super) type Native<S> = <<S as Shape>::Arrow as ArrowPrimitiveType>::Native;

/// Adjacent floats from `raw`, in network byte order.
#[inline]
pub(super) fn extend_float64(raw: &[u8], floats: &mut Vec<f64>) {
    let (chunks, _) = raw.as_chunks();
    floats.extend(chunks.iter().copied().map(f64::from_be_bytes));
}

/// Builds a column whose values all have the same number of floats.
pub(super) struct FixedBuilder<S: Shape> {
    /// `width` floats for each row.
    floats: Vec<Native<S>>,
    width: usize,
    /// One row for each `width` floats.
    validity: Validity,
    shape: PhantomData<S>,
}

impl<S: Shape> FixedBuilder<S> {
    /// `width` must be at least 1 and fit in 31 bits.
    pub(super) fn new(width: usize) -> Self {
        Self { floats: Vec::new(), width, validity: Validity::default(), shape: PhantomData }
    }
}

impl<S: Shape> ColumnBuilder for FixedBuilder<S> {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let start = self.floats.len();
        let appended = append_fixed::<S>(fields, self.width, &mut self.floats);
        if appended.is_err() {
            self.floats.truncate(start);
        }
        self.validity.append(fields, appended?, &[]);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let nulls = self.validity.finish();
        let item = item_field(S::Arrow::DATA_TYPE);
        Arc::new(fixed_lists::<S::Arrow>(take_buffer(&mut self.floats), self.width, item, nulls))
    }

    fn data_type(&self) -> DataType {
        fixed_type(S::Arrow::DATA_TYPE, self.width)
    }

    fn nbytes(&self) -> usize {
        size_of_val(self.floats.as_slice()) + self.validity.nbytes()
    }
}

/// Appends a block and returns the number of NULLs.
fn append_fixed<S: Shape>(
    fields: Fields<'_>,
    width: usize,
    floats: &mut Vec<Native<S>>,
) -> Result<usize, (usize, Reason)> {
    let mut nulls = 0;
    // Reserves only for the bytes that have arrived: the declared width is just the server's claim.
    floats.reserve(fields.byte_len() / size_of::<Native<S>>());
    for (row, field) in fields.iter().enumerate() {
        let start = floats.len();
        match field {
            Some(raw) => S::append(raw, floats).map_err(|reason| (row, reason))?,
            None => {
                nulls += 1;
                floats.resize(start + width, S::NULL);
            }
        }
        let actual = floats.len() - start;
        if actual != width {
            return Err((row, LayoutFault::Dimensions { declared: width, actual }.into()));
        }
    }
    Ok(nulls)
}

/// Builds a column whose values differ in their number of floats.
pub(super) struct ListBuilder<S: Shape> {
    lists: Lists<S::Arrow>,
    /// As long as `lists`.
    validity: Validity,
    shape: PhantomData<S>,
}

impl<S: Shape> ListBuilder<S> {
    pub(super) fn new(lists: Lists<S::Arrow>) -> Self {
        Self { lists, validity: Validity::default(), shape: PhantomData }
    }
}

impl<S: Shape> ColumnBuilder for ListBuilder<S> {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let start = self.lists.len();
        let appended = append_lists::<S>(fields, &mut self.lists);
        if appended.is_err() {
            self.lists.truncate(start);
        }
        self.validity.append(fields, appended?, &[]);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let nulls = self.validity.finish();
        Arc::new(self.lists.finish(nulls))
    }

    fn data_type(&self) -> DataType {
        self.lists.data_type()
    }

    fn nbytes(&self) -> usize {
        self.lists.nbytes() + self.validity.nbytes()
    }
}

/// Appends a block and returns the number of NULLs.
fn append_lists<S: Shape>(
    fields: Fields<'_>,
    lists: &mut Lists<S::Arrow>,
) -> Result<usize, (usize, Reason)> {
    let mut nulls = 0;
    for (row, field) in fields.iter().enumerate() {
        match field {
            Some(raw) => S::append(raw, &mut lists.floats).map_err(|reason| (row, reason))?,
            None => nulls += 1,
        }
        lists.end_list().map_err(|reason| (row, reason))?;
    }
    Ok(nulls)
}

/// Lists of floats, or of pairs of floats.
pub(super) struct Lists<T: ArrowPrimitiveType> {
    /// The floats of all lists; those after the last offset belong to the list being written.
    pub(super) floats: Vec<T::Native>,
    /// 0, then the index after each list's last element.
    offsets: Vec<i32>,
    is_pairs: bool,
}

impl<T: ArrowPrimitiveType> Lists<T> {
    /// The elements are floats.
    pub(super) fn of_floats() -> Self {
        Self { floats: Vec::new(), offsets: vec![0], is_pairs: false }
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn width(&self) -> usize {
        if self.is_pairs { 2 } else { 1 }
    }

    /// Ends the list being written, which may be empty.
    #[inline]
    pub(super) fn end_list(&mut self) -> Result<(), Reason> {
        let end = i32::try_from(self.floats.len() / self.width());
        self.offsets.push(end.map_err(|_| LayoutFault::TooManyElements)?);
        Ok(())
    }

    /// Removes lists from the end until `len` are left.
    pub(super) fn truncate(&mut self, len: usize) {
        self.offsets.truncate(len + 1);
        let end = self.offsets.last().map_or(0, |end| *end as usize);
        self.floats.truncate(end * self.width());
    }

    fn item_field(&self) -> FieldRef {
        if self.is_pairs {
            item_field(fixed_type(T::DATA_TYPE, 2))
        } else {
            item_field(T::DATA_TYPE)
        }
    }

    pub(super) fn data_type(&self) -> DataType {
        DataType::List(self.item_field())
    }

    pub(super) fn finish(&mut self, nulls: Option<NullBuffer>) -> ListArray {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(take_buffer(&mut self.offsets)));
        self.offsets.push(0);
        let floats = take_buffer(&mut self.floats);
        let elements: ArrayRef = if self.is_pairs {
            Arc::new(fixed_lists::<T>(floats, 2, item_field(T::DATA_TYPE), None))
        } else {
            Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(floats), None))
        };
        ListArray::new(self.item_field(), offsets, elements, nulls)
    }

    pub(super) fn nbytes(&self) -> usize {
        size_of_val(self.floats.as_slice()) + size_of_val(self.offsets.as_slice())
    }
}

impl Lists<Float64Type> {
    /// The elements are points.
    pub(super) fn of_points() -> Self {
        Self { floats: Vec::new(), offsets: vec![0], is_pairs: true }
    }
}

/// `floats` must have `width` for each list.
fn fixed_lists<T: ArrowPrimitiveType>(
    floats: Vec<T::Native>,
    width: usize,
    item: FieldRef,
    nulls: Option<NullBuffer>,
) -> FixedSizeListArray {
    let floats = Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(floats), None));
    FixedSizeListArray::new(item, width as i32, floats, nulls)
}

fn fixed_type(float: DataType, width: usize) -> DataType {
    DataType::FixedSizeList(item_field(float), width as i32)
}

/// Floats and points are never NULL.
fn item_field(element: DataType) -> FieldRef {
    Arc::new(Field::new_list_field(element, false))
}
