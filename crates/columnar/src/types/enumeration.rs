//! Enums: the label, as text. A column is a dictionary that begins with the type's labels in their
//! order; a label that was added since is put behind them when it comes.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::DataType;

use super::varlen::{self, AsIs};
use super::{Built, Request, text};
use crate::column::{ColumnBuilder, Fields, take_buffer};
use crate::error::Reason;
use crate::trusted;
use crate::validity::Validity;

/// What an enum can be cast to.
pub(super) const CASTS: &[&str] = varlen::TEXT_CASTS;

pub(super) fn builder(labels: &[String], request: &Request) -> Option<Built> {
    match request.cast {
        None => Some(Built::of(EnumBuilder::new(labels))),
        Some(_) => varlen::text_builder::<AsIs>(request, None),
    }
}

struct EnumBuilder {
    /// Which label each row has; 0 where NULL.
    keys: Vec<i32>,
    /// As long as `keys`.
    validity: Validity,
    /// The key of each label.
    known: HashMap<Box<[u8]>, i32>,
    /// The labels by their keys.
    labels: Vec<String>,
}

impl EnumBuilder {
    fn new(labels: &[String]) -> Self {
        let bytes = labels.iter().map(|label| Box::from(label.as_bytes()));
        let known = bytes.zip(0..).collect();
        Self { keys: Vec::new(), validity: Validity::default(), known, labels: labels.to_vec() }
    }

    fn key(&mut self, raw: &[u8]) -> Result<i32, Reason> {
        if let Some(key) = self.known.get(raw) {
            return Ok(*key);
        }
        let label = text::decode(raw)?;
        // Fewer labels than rows, and those are counted in 32 bits by the dictionary's keys.
        let key = i32::try_from(self.labels.len()).map_err(|_| Reason::OffsetOverflow)?;
        self.labels.push(label.to_owned());
        self.known.insert(Box::from(raw), key);
        Ok(key)
    }
}

impl ColumnBuilder for EnumBuilder {
    fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        let mut nulls = 0;
        let mut last: Option<(&[u8], i32)> = None;
        self.keys.reserve(fields.len());
        for (row, field) in fields.iter().enumerate() {
            let key = match (field, last) {
                (None, _) => {
                    nulls += 1;
                    0
                }
                (Some(raw), Some((before, key))) if before == raw => key,
                (Some(raw), _) => {
                    let key = self.key(raw).map_err(|reason| (row, reason))?;
                    last = Some((raw, key));
                    key
                }
            };
            self.keys.push(key);
        }
        self.validity.append(fields, nulls, &[]);
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let labels = Arc::new(StringArray::from_iter_values(&self.labels));
        let keys = take_buffer(&mut self.keys);
        trusted::dictionary_array(keys, labels, self.validity.finish())
    }

    fn data_type(&self) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
    }

    fn nbytes(&self) -> usize {
        size_of_val(self.keys.as_slice()) + self.validity.nbytes()
    }
}
