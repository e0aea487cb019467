//! Enums: the label, as text. A column is a dictionary that begins with the type's labels in order;
//! labels added to the type later are appended when they occur.

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use super::dictionary_text::Texts;
use super::varlen::{self, AsIs};
use super::{Built, Request};
use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::error::Reason;
use crate::trusted;
use crate::validity::Validity;

/// The casts of an enum.
pub(super) const CASTS: &[&str] = varlen::TEXT_CASTS;

pub(super) fn builder(labels: &[String], request: &Request) -> Option<Built> {
    match request.cast {
        None => Some(Built::of(EnumBuilder::new(labels))),
        Some(_) => varlen::text_builder::<AsIs>(request, None),
    }
}

struct EnumBuilder {
    /// The index of each row's label; 0 for NULL.
    keys: Vec<i32>,
    /// As long as `keys`.
    validity: Validity,
    /// The labels, which are kept from batch to batch.
    labels: Texts,
}

impl EnumBuilder {
    fn new(known: &[String]) -> Self {
        let mut labels = Texts::new();
        for label in known {
            // Labels from the catalogs are valid text and far too short to overflow.
            let _ = labels.key_of(label.as_bytes());
        }
        Self { keys: Vec::new(), validity: Validity::default(), labels }
    }
}

impl ColumnBuilder for EnumBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let mut nulls = 0;
        self.keys.reserve(fields.len());
        for (row, field) in fields.iter().enumerate() {
            self.keys.push(match field {
                Some(raw) => self.labels.key_of(raw).map_err(|reason| (row, reason))?,
                None => {
                    nulls += 1;
                    0
                }
            });
        }
        self.validity.append(fields, nulls, &[]);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let keys = take_buffer(&mut self.keys);
        trusted::dictionary_array(keys, self.labels.array(), self.validity.finish())
    }

    fn data_type(&self) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
    }

    fn nbytes(&self) -> usize {
        size_of_val(self.keys.as_slice()) + self.validity.nbytes()
    }
}
