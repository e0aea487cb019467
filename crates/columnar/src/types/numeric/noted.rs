//! The nearest float64 of a `numeric`, with a record of the first value that its float does not
//! hold.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;

use super::float::{nearest_long, nearest_short};
use super::scaled;
use super::text;
use super::wire::{self, Finite, Numeric};
use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::decimal_floats::{HELD_MOST, is_held};
use crate::error::Reason;
use crate::inexact::{Inexact, InexactValue};
use crate::schema::Infinity;
use crate::validity::Validity;
use crate::value::Sign;

/// A column of floats: NaN and infinities are kept unless NULL is requested; a number out of range
/// becomes an infinity and is recorded.
pub(super) struct NotedFloats {
    values: Vec<f64>,
    /// As long as `values`.
    validity: Validity,
    /// Rows in the previous batches.
    rows_before: u64,
    place: usize,
    /// `None` once a value of the column is recorded.
    notes: Option<Inexact>,
    /// Whether NaN and infinities are NULL.
    makes_null: bool,
}

impl NotedFloats {
    pub(super) fn new(place: usize, notes: Inexact, infinity: Infinity) -> Self {
        let (validity, makes_null) = (Validity::default(), infinity == Infinity::Null);
        let notes = Some(notes);
        Self { values: Vec::new(), validity, rows_before: 0, place, notes, makes_null }
    }

    /// The float of a number; records the number if it is the first that its float does not hold.
    fn float(&mut self, number: &Finite<'_>) -> Result<f64, Reason> {
        if let Some((digits, magnitude)) = nearest_short(number) {
            if digits > HELD_MOST {
                self.look_at(number, magnitude);
            }
            return Ok(if number.negative { -magnitude } else { magnitude });
        }
        scaled::check(number)?;
        let float = nearest_long(number);
        self.look_at(number, float.abs());
        Ok(float)
    }

    #[cold]
    fn look_at(&mut self, number: &Finite<'_>, magnitude: f64) {
        let Some(notes) = &self.notes else { return };
        let mut text = Vec::new();
        text::write_finite(number, &mut text);
        let text: String = text.into_iter().map(char::from).collect();
        let unsigned = text.trim_start_matches('-').replace('.', "");
        let is_held = magnitude.is_finite()
            && is_held(unsigned.trim_start_matches('0'), number.scale.into(), magnitude);
        if !is_held {
            let row = self.rows_before + self.values.len() as u64;
            notes.note(InexactValue { place: self.place, row, text });
            self.notes = None;
        }
    }

    /// `None` for a value that becomes NULL.
    fn decode(&mut self, raw: &[u8]) -> Result<Option<f64>, Reason> {
        let special = match wire::parse(raw)? {
            Numeric::Finite(number) => return self.float(&number).map(Some),
            Numeric::Nan => f64::NAN,
            Numeric::Infinite(Sign::Positive) => f64::INFINITY,
            Numeric::Infinite(Sign::Negative) => f64::NEG_INFINITY,
        };
        Ok(Some(special).filter(|_| !self.makes_null))
    }
}

impl ColumnBuilder for NotedFloats {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let (mut nulls, mut made_null) = (0, Vec::new());
        for (row, field) in fields.iter().enumerate() {
            let value = match field {
                Some(raw) => {
                    let value = self.decode(raw).map_err(|reason| (row, reason))?;
                    if value.is_none() {
                        made_null.push(row);
                    }
                    value
                }
                None => {
                    nulls += 1;
                    None
                }
            };
            self.values.push(value.unwrap_or(f64::NAN));
        }
        self.validity.append(fields, nulls, &made_null);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        self.rows_before += self.values.len() as u64;
        let values = ScalarBuffer::from(take_buffer(&mut self.values));
        Arc::new(Float64Array::new(values, self.validity.finish()))
    }

    fn data_type(&self) -> DataType {
        DataType::Float64
    }

    fn nbytes(&self) -> usize {
        size_of_val(self.values.as_slice()) + self.validity.nbytes()
    }
}
