//! An Arrow array as one PostgreSQL array, the value of a parameter.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};

use super::cells::nulls_of;
use super::plan::column_encoder;
use super::{CastError, CellError, EncodeOptions};
use crate::error::EncodeError;
use crate::types::{DIMENSIONS_MOST, ELEMENTS_MOST, Type, encode_array_head};

/// The number of elements encoded at a time.
const BLOCK_ELEMENTS: usize = 4096;

/// The reason why an array cannot be a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArrayParameterError {
    /// There is no cast to the element type.
    Cast(CastError),
    /// The type cannot hold an element.
    Element(Box<CellError>),
    /// The whole is not a valid PostgreSQL array.
    Array(EncodeError),
}

impl std::fmt::Display for ArrayParameterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cast(error) => error.fmt(f),
            Self::Element(error) => {
                let CellError { row, arrow_type, type_name, reason, .. } = error.as_ref();
                write!(f, "element {row}, from {arrow_type} to {type_name}: {reason}")
            }
            Self::Array(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ArrayParameterError {}

/// Appends the binary format of an array whose elements are those of an Arrow array. `dimensions`
/// are its lengths, outermost first; their product is the number of elements.
///
/// # Errors
/// See [`ArrayParameterError`]; `out` is then unchanged.
pub fn array_parameter(
    element: &Arc<Type>,
    array: &ArrayRef,
    dimensions: &[usize],
    options: &EncodeOptions,
    out: &mut Vec<u8>,
) -> Result<(), ArrayParameterError> {
    let product = dimensions.iter().try_fold(1_usize, |all, len| all.checked_mul(*len));
    if dimensions.len() > DIMENSIONS_MOST || array.len() > ELEMENTS_MOST {
        return Err(ArrayParameterError::Array(EncodeError::TooManyElements));
    }
    if !array.is_empty() && product != Some(array.len()) {
        return Err(ArrayParameterError::Array(EncodeError::Ragged));
    }
    let start = out.len();
    let pushed = push(element, array, dimensions, options, out);
    if pushed.is_err() {
        out.truncate(start);
    }
    pushed
}

fn push(
    element: &Arc<Type>,
    array: &ArrayRef,
    dimensions: &[usize],
    options: &EncodeOptions,
    out: &mut Vec<u8>,
) -> Result<(), ArrayParameterError> {
    let mut encoder =
        column_encoder(element, -1, array, options).map_err(ArrayParameterError::Cast)?;
    // An array without elements has no dimensions.
    let dimensions = if array.is_empty() { &[] } else { dimensions };
    encode_array_head(element.oid, dimensions, nulls_of(array).is_some(), out)
        .map_err(ArrayParameterError::Array)?;
    let mut sizes = Vec::new();
    let mut cursors = Vec::new();
    let mut first = 0;
    while first < array.len() {
        let rows = first..array.len().min(first + BLOCK_ELEMENTS);
        sizes.clear();
        sizes.resize(rows.len(), 0);
        encoder.measure(rows.clone(), &mut sizes).map_err(|(place, reason)| {
            ArrayParameterError::Element(Box::new(CellError {
                column: String::new(),
                row: (first + place) as u64,
                arrow_type: array.data_type().to_string(),
                type_name: element.name.clone(),
                reason,
            }))
        })?;
        cursors.clear();
        let mut end = out.len();
        for size in &sizes {
            cursors.push(end);
            end += size;
        }
        out.resize(end, 0);
        encoder.write(out, &mut cursors);
        first = rows.end;
    }
    Ok(())
}
