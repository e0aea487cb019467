//! A column within a column: the elements of a list, a field of a struct.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{Field, FieldRef, Metadata};

use super::tree::Type;
use super::{Request, opaque};
use crate::column::{ColumnBuilder, Fields};
use crate::error::Reason;

/// The builder of a part, and the other properties of its Arrow field.
pub(super) struct Part {
    name: String,
    metadata: Metadata,
    pub(super) builder: Box<dyn ColumnBuilder>,
}

impl Part {
    /// `type_modifier` is the part's; the rest of the request is as for the whole.
    pub(super) fn new(name: &str, pg_type: &Type, type_modifier: i32, request: &Request) -> Self {
        let request = request.of_part(type_modifier);
        // Without a cast, every type has a builder.
        let built = pg_type.builder(&request).unwrap_or_else(opaque::column);
        let metadata = super::arrow_extension::metadata(built.extension, &pg_type.name);
        Self { name: name.to_owned(), metadata, builder: built.builder }
    }

    /// A part with an existing builder.
    pub(super) fn of_builder(name: &str, builder: Box<dyn ColumnBuilder>) -> Self {
        Self { name: name.to_owned(), metadata: Metadata::default(), builder }
    }

    pub(super) fn append(&mut self, fields: Fields<'_>) -> Result<(), (usize, Reason)> {
        self.builder.append(fields)
    }

    /// The Arrow field, as far as its type is known.
    pub(super) fn field(&self) -> FieldRef {
        let field = Field::new(&self.name, self.builder.data_type(), true);
        Arc::new(field.with_metadata(self.metadata.clone()))
    }

    /// The Arrow array of all values so far, and its field.
    pub(super) fn finish(&mut self) -> (FieldRef, ArrayRef) {
        let array = self.builder.finish();
        (self.field(), array)
    }
}
