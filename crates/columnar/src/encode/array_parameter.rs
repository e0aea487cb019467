//! An Arrow array as one array of PostgreSQL's: the value of a parameter.

use arrow_array::{Array, ArrayRef};

use super::cells::nulls_of;
use super::plan::column_encoder;
use super::{CastError, CellError, EncodeOptions};
use crate::error::EncodeError;
use crate::types::PgType;

/// Elements that are encoded at a time.
const BLOCK_ELEMENTS: usize = 4096;

/// The most dimensions, and the most elements, of an array of PostgreSQL's.
const DIMENSIONS_MOST: usize = 6;
const ELEMENTS_MOST: usize = (1 << 27) - 1;

/// Why an array cannot be a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArrayParameterError {
    /// No cast to the type of the elements is made.
    Cast(CastError),
    /// An element has no place in the type.
    Element(Box<CellError>),
    /// The whole of it is no array of PostgreSQL's.
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

/// Appends the binary form of an array whose elements are those of an Arrow array. `dimensions` are
/// its lengths, outermost first, which multiply to the number of elements.
///
/// # Errors
/// See [`ArrayParameterError`]; `out` is then as it was.
pub fn array_parameter(
    element: &'static PgType,
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
    element: &'static PgType,
    array: &ArrayRef,
    dimensions: &[usize],
    options: &EncodeOptions,
    out: &mut Vec<u8>,
) -> Result<(), ArrayParameterError> {
    let mut encoder =
        column_encoder(element, -1, array, options).map_err(ArrayParameterError::Cast)?;
    // An array without elements has no dimensions.
    let dimensions = if array.is_empty() { &[] } else { dimensions };
    push_head(element.oid, dimensions, nulls_of(array).is_some(), out);
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
                type_name: element.name.to_owned(),
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

/// Appends what comes before the elements. Lower bounds are 1.
pub(super) fn push_head(element: u32, dimensions: &[usize], has_nulls: bool, out: &mut Vec<u8>) {
    // At most 6 dimensions, and lengths below 2^27.
    out.extend_from_slice(&(dimensions.len() as u32).to_be_bytes());
    out.extend_from_slice(&u32::from(has_nulls).to_be_bytes());
    out.extend_from_slice(&element.to_be_bytes());
    for length in dimensions {
        out.extend_from_slice(&(*length as u32).to_be_bytes());
        out.extend_from_slice(&1_u32.to_be_bytes());
    }
}
