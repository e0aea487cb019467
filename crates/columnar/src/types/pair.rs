//! The builder for types of two numbers: a struct of two columns with a common validity.

use std::sync::Arc;

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, PrimitiveArray, StructArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field, Fields as ArrowFields};

use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::error::Reason;
use crate::validity::Validity;

/// A type of two numbers.
pub(super) trait Pair: Send + Sync + 'static {
    /// The Arrow type of the first.
    type First: ArrowPrimitiveType;
    /// The Arrow type of the second.
    type Second: ArrowPrimitiveType;
    /// The names of the fields.
    const NAMES: [&str; 2];

    fn decode(raw: &[u8]) -> Result<Natives<Self>, Reason>;
}

/// The values of the two columns' slots.
type Natives<P> = (
    <<P as Pair>::First as ArrowPrimitiveType>::Native,
    <<P as Pair>::Second as ArrowPrimitiveType>::Native,
);

/// Builds a column of one [`Pair`]. The slots of a NULL are zero.
pub(super) struct PairBuilder<P: Pair> {
    first: Vec<<P::First as ArrowPrimitiveType>::Native>,
    /// As long as `first`.
    second: Vec<<P::Second as ArrowPrimitiveType>::Native>,
    /// As long as `first`.
    validity: Validity,
}

impl<P: Pair> PairBuilder<P> {
    pub(super) fn new() -> Self {
        Self { first: Vec::new(), second: Vec::new(), validity: Validity::default() }
    }

    fn fields() -> ArrowFields {
        let [first, second] = P::NAMES;
        ArrowFields::from(vec![
            Field::new(first, P::First::DATA_TYPE, true),
            Field::new(second, P::Second::DATA_TYPE, true),
        ])
    }
}

impl<P: Pair> ColumnBuilder for PairBuilder<P> {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let start = self.first.len();
        let mut nulls = 0;
        for (row, field) in fields.iter().enumerate() {
            let (first, second) = match field.map(P::decode) {
                Some(Ok(pair)) => pair,
                Some(Err(reason)) => {
                    self.first.truncate(start);
                    self.second.truncate(start);
                    return Err((row, reason));
                }
                None => {
                    nulls += 1;
                    Default::default()
                }
            };
            self.first.push(first);
            self.second.push(second);
        }
        self.validity.append(fields, nulls, &[]);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let first = ScalarBuffer::from(take_buffer(&mut self.first));
        let second = ScalarBuffer::from(take_buffer(&mut self.second));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(PrimitiveArray::<P::First>::new(first, None)),
            Arc::new(PrimitiveArray::<P::Second>::new(second, None)),
        ];
        Arc::new(StructArray::new(Self::fields(), columns, self.validity.finish()))
    }

    fn data_type(&self) -> DataType {
        DataType::Struct(Self::fields())
    }

    fn nbytes(&self) -> usize {
        size_of_val(self.first.as_slice())
            + size_of_val(self.second.as_slice())
            + self.validity.nbytes()
    }
}
