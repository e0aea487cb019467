//! The builder for fixed-width types: a value goes from the wire into one slot of a vector, and the
//! vector becomes the Arrow buffer.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;

use super::nested_wire::width_of_cells;
use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::error::Reason;
use crate::schema::Infinity;
use crate::validity::Validity;

/// A wire format and the Arrow type that it is decoded to.
pub(super) trait Shape: Send + Sync + 'static {
    /// The Arrow type, without a time zone.
    type Arrow: ArrowPrimitiveType;

    /// The content of a NULL's slot: NumPy's own NULL if there is one.
    const NULL: Native<Self>;

    /// Decodes an ordinary value; `None` if [`Shape::edge`] must decide.
    fn decode(raw: &[u8]) -> Option<Native<Self>>;

    /// Decodes a value that [`Shape::decode`] did not: to a number, to NULL, or to an error.
    fn edge(raw: &[u8], infinity: Infinity) -> Result<Option<Native<Self>>, Reason>;

    /// The complete Arrow type.
    fn data_type() -> DataType {
        Self::Arrow::DATA_TYPE
    }
}

/// The value of a slot.
pub(super) type Native<S> = <<S as Shape>::Arrow as ArrowPrimitiveType>::Native;

/// Exactly `N` bytes, or the reason why not.
#[inline]
pub(super) fn exact<const N: usize>(raw: &[u8]) -> Result<[u8; N], Reason> {
    raw.try_into().map_err(|_| Reason::WrongLength { expected: N, actual: raw.len() })
}

/// Builds a column of one [`Shape`].
pub(super) struct PrimitiveBuilder<S: Shape> {
    values: Vec<Native<S>>,
    /// As long as `values`.
    validity: Validity,
    infinity: Infinity,
    data_type: DataType,
    shape: PhantomData<S>,
}

impl<S: Shape> PrimitiveBuilder<S> {
    pub(super) fn new(infinity: Infinity) -> Self {
        Self::of_type(infinity, S::data_type())
    }

    /// A builder with another Arrow type than [`Shape::data_type`], which differs only in its time
    /// zone.
    pub(super) fn of_type(infinity: Infinity, data_type: DataType) -> Self {
        Self {
            values: Vec::new(),
            validity: Validity::default(),
            infinity,
            data_type,
            shape: PhantomData,
        }
    }
}

impl<S: Shape> ColumnBuilder for PrimitiveBuilder<S> {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        append::<S>(fields, &mut self.values, &mut self.validity, self.infinity)
    }

    fn append_cells(&mut self, cells: &[u8], count: usize) -> bool {
        let values = &mut self.values;
        let is_taken = match width_of_cells(cells, count) {
            Some(2) => append_alike::<S, 6>(cells, values),
            Some(4) => append_alike::<S, 8>(cells, values),
            Some(8) => append_alike::<S, 12>(cells, values),
            _ => false,
        };
        if is_taken {
            self.validity.append_valid(count);
        }
        is_taken
    }

    fn finish(&mut self) -> ArrayRef {
        let values = ScalarBuffer::from(take_buffer(&mut self.values));
        let array = PrimitiveArray::<S::Arrow>::new(values, self.validity.finish());
        Arc::new(array.with_data_type(self.data_type.clone()))
    }

    fn data_type(&self) -> DataType {
        self.data_type.clone()
    }

    fn nbytes(&self) -> usize {
        size_of_val(self.values.as_slice()) + self.validity.nbytes()
    }
}

/// The hot loop: one load, one swap and one store per value, and no exit. Edge values are noted and
/// handled afterwards.
fn append<S: Shape>(
    fields: Fields<'_>,
    values: &mut Vec<Native<S>>,
    validity: &mut Validity,
    infinity: Infinity,
) -> Result<(), (usize, Reason)> {
    let start = values.len();
    let mut nulls = 0;
    let mut edges = false;
    values.extend(fields.iter().map(|field| match field {
        Some(raw) => S::decode(raw).unwrap_or_else(|| {
            edges = true;
            S::NULL
        }),
        None => {
            nulls += 1;
            S::NULL
        }
    }));
    if edges {
        return append_edges::<S>(fields, start, nulls, values, validity, infinity);
    }
    validity.append(fields, nulls, &[]);
    Ok(())
}

/// Appends cells of `STRIDE` bytes with their lengths, if all are ordinary values of this width.
#[inline]
fn append_alike<S: Shape, const STRIDE: usize>(cells: &[u8], values: &mut Vec<Native<S>>) -> bool {
    let start = values.len();
    let mut are_ordinary = true;
    let (cells, _) = cells.as_chunks::<STRIDE>();
    values.extend(cells.iter().map(|cell| {
        let decoded = cell.split_first_chunk::<4>().and_then(|(length, raw)| {
            S::decode(raw).filter(|_| u32::from_be_bytes(*length) as usize == raw.len())
        });
        decoded.unwrap_or_else(|| {
            are_ordinary = false;
            S::NULL
        })
    }));
    if !are_ordinary {
        values.truncate(start);
    }
    are_ordinary
}

/// The second pass over a block, which fills the slots of its edge values.
#[cold]
fn append_edges<S: Shape>(
    fields: Fields<'_>,
    start: usize,
    nulls: usize,
    values: &mut Vec<Native<S>>,
    validity: &mut Validity,
    infinity: Infinity,
) -> Result<(), (usize, Reason)> {
    let mut made_null = Vec::new();
    let mut failed = None;
    let slots = values.iter_mut().skip(start);
    for (row, (field, slot)) in fields.iter().zip(slots).enumerate() {
        let Some(raw) = field.filter(|raw| S::decode(raw).is_none()) else { continue };
        match S::edge(raw, infinity) {
            Ok(Some(value)) => *slot = value,
            Ok(None) => made_null.push(row),
            Err(reason) => {
                failed = Some((row, reason));
                break;
            }
        }
    }
    if let Some(error) = failed {
        values.truncate(start);
        return Err(error);
    }
    validity.append(fields, nulls, &made_null);
    Ok(())
}
