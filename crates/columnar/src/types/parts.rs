//! The parts of a value, for callers that process each of them without a [`Value`] in between.
//!
//! [`Value`]: crate::Value

use std::sync::Arc;

use colonnade_protocol::{Format, Span};

use super::tree::{Attribute, Shape, Type};
use super::{array, composite};
use crate::error::Reason;

impl Type {
    /// Replaces `cells` by the cells of an array's elements, and returns their type. None if the
    /// value is not an array in the binary format, or has several dimensions.
    ///
    /// # Errors
    /// The bytes are not an array of the type.
    pub fn array_cells(
        &self,
        raw: &[u8],
        cells: &mut Vec<Span>,
    ) -> Result<Option<&Arc<Self>>, Reason> {
        match &self.shape {
            Shape::Array(element) if element.format() == Format::Binary => {
                Ok(array::flat_cells(element, raw, cells)?.then_some(element))
            }
            Shape::Domain { base, .. } => base.array_cells(raw, cells),
            _ => Ok(None),
        }
    }

    /// Replaces `cells` by the cells of a composite's fields, and returns the fields. None if the
    /// value is not a composite in the binary format.
    ///
    /// # Errors
    /// The bytes are not a composite of the type.
    pub fn composite_cells(
        &self,
        raw: &[u8],
        cells: &mut Vec<Span>,
    ) -> Result<Option<&[Attribute]>, Reason> {
        match &self.shape {
            Shape::Composite(attributes) if self.format() == Format::Binary => {
                composite::cells(attributes, raw, cells)?;
                Ok(Some(attributes))
            }
            Shape::Domain { base, .. } => base.composite_cells(raw, cells),
            _ => Ok(None),
        }
    }
}
