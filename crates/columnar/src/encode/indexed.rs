//! From dictionaries and run-end encoded arrays: each distinct value's cell is made once.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::ColumnEncoder;
use super::cells::{LENGTH_BYTES, is_null, push_null, put_bytes, put_null};
use crate::error::EncodeError;

/// Rows that refer to values of another array.
pub(super) struct Indexes {
    /// The index of each row's value; meaningless for NULL.
    places: Vec<usize>,
    nulls: Option<NullBuffer>,
    /// The values referred to.
    pub(super) values: ArrayRef,
}

/// The rows of a dictionary or a run-end encoded array; `None` for other arrays.
pub(super) fn indexes(array: &ArrayRef) -> Option<Indexes> {
    if let DataType::RunEndEncoded(run_ends, _) = array.data_type() {
        let places: Vec<usize> = match run_ends.data_type() {
            DataType::Int16 => {
                let runs = array.as_run_opt::<Int16Type>()?;
                (0..array.len()).map(|row| runs.get_physical_index(row)).collect()
            }
            DataType::Int32 => {
                let runs = array.as_run_opt::<Int32Type>()?;
                (0..array.len()).map(|row| runs.get_physical_index(row)).collect()
            }
            _ => {
                let runs = array.as_run_opt::<Int64Type>()?;
                (0..array.len()).map(|row| runs.get_physical_index(row)).collect()
            }
        };
        let values = match run_ends.data_type() {
            DataType::Int16 => array.as_run_opt::<Int16Type>()?.values(),
            DataType::Int32 => array.as_run_opt::<Int32Type>()?.values(),
            _ => array.as_run_opt::<Int64Type>()?.values(),
        };
        return Some(Indexes { places, nulls: None, values: values.clone() });
    }
    let dictionary = array.as_any_dictionary_opt()?;
    let nulls = dictionary.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
    let values = dictionary.values().clone();
    let places =
        if values.is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
    Some(Indexes { places, nulls, values })
}

/// A value's cell in [`IndexedEncoder::cells`].
#[derive(Clone, Copy)]
enum Made {
    NotYet,
    Null,
    At { start: usize, end: usize },
}

/// Encodes rows that refer to values.
pub(super) struct IndexedEncoder {
    places: Vec<usize>,
    nulls: Option<NullBuffer>,
    values: Box<dyn ColumnEncoder>,
    /// The cells of the values used so far.
    cells: Vec<u8>,
    /// The state of each value.
    made: Vec<Made>,
    /// The first row of the range measured last.
    first: usize,
}

impl IndexedEncoder {
    /// `values` must encode the values of `indexes`.
    pub(super) fn boxed(
        indexes: Indexes,
        values: Box<dyn ColumnEncoder>,
    ) -> Box<dyn ColumnEncoder> {
        let Indexes { places, nulls, values: named } = indexes;
        let made = vec![Made::NotYet; named.len()];
        Box::new(Self { places, nulls, values, cells: Vec::new(), made, first: 0 })
    }

    fn place(&self, row: usize) -> Option<usize> {
        self.places.get(row).copied().filter(|_| !is_null(self.nulls.as_ref(), row))
    }

    /// The cell of a row; makes it if no earlier row had the same value.
    fn make(&mut self, row: usize) -> Result<Made, EncodeError> {
        let Some(place) = self.place(row) else { return Ok(Made::Null) };
        match self.made.get(place) {
            Some(Made::NotYet) => {}
            Some(made) => return Ok(*made),
            None => return Ok(Made::Null),
        }
        let start = self.cells.len();
        self.values.push_cell(place, &mut self.cells)?;
        let end = self.cells.len();
        let is_value = self.cells.get(start).is_some_and(|byte| *byte < 0x80);
        let made = if is_value { Made::At { start, end } } else { Made::Null };
        if let Some(slot) = self.made.get_mut(place) {
            *slot = made;
        }
        Ok(made)
    }

    fn made(&self, row: usize) -> Made {
        self.place(row).and_then(|place| self.made.get(place)).copied().unwrap_or(Made::Null)
    }
}

impl ColumnEncoder for IndexedEncoder {
    fn measure(
        &mut self,
        rows: Range<usize>,
        sizes: &mut [usize],
    ) -> Result<(), (usize, EncodeError)> {
        self.first = rows.start;
        for (place, (row, size)) in rows.zip(sizes).enumerate() {
            *size += match self.make(row).map_err(|error| (place, error))? {
                Made::At { start, end } => end - start,
                Made::Null | Made::NotYet => LENGTH_BYTES,
            };
        }
        Ok(())
    }

    fn write(&mut self, out: &mut [u8], cursors: &mut [usize]) {
        for (row, cursor) in (self.first..).zip(cursors) {
            *cursor = match self.made(row) {
                Made::At { start, end } => {
                    put_bytes(out, *cursor, self.cells.get(start..end).unwrap_or(&[]))
                }
                Made::Null | Made::NotYet => put_null(out, *cursor),
            };
        }
    }

    fn push_cell(&self, row: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self.place(row).filter(|place| *place < self.made.len()) {
            Some(place) => self.values.push_cell(place, out),
            None => {
                push_null(out);
                Ok(())
            }
        }
    }
}
