//! The parts of a value, for who makes something of each of them without a [`Value`] in between.
//!
//! [`Value`]: crate::Value

use std::sync::Arc;

use colonnade_protocol::{Format, Span};

use super::tree::{Attribute, Shape, Type};
use super::{array, composite};
use crate::error::Reason;

impl Type {
    /// The cells of an array's elements, in place of what `cells` held, and the type of each. None
    /// where this is no array in the binary form, or one with several dimensions.
    ///
    /// # Errors
    /// The bytes are no array of the type.
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

    /// The cells of a composite's fields, in place of what `cells` held, and what each is. None
    /// where this is no composite in the binary form.
    ///
    /// # Errors
    /// The bytes are no composite of the type.
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
