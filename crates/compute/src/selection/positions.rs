//! Positions of rows as callers give them: of any integer type, and a negative one counts from the
//! end.

use std::fmt;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// The reason why a position is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PositionError {
    /// There is no such row.
    NoRow {
        /// The position.
        position: i128,
        /// Its place among the positions.
        place: usize,
        /// The number of rows.
        rows: usize,
    },
    /// The position at this place is NULL.
    Null(usize),
    /// Booleans are a mask.
    Booleans,
    /// Values of this type are no positions.
    OtherType(DataType),
}

impl fmt::Display for PositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRow { position, place, rows } => write!(
                f,
                "there is no row {position}, the position at {place}: there are {rows} rows"
            ),
            Self::Null(place) => {
                write!(f, "the position at {place} is NULL, and there is no such row")
            }
            Self::Booleans => f.write_str(
                "positions of rows are whole numbers, not booleans; filter() chooses rows by a \
                 mask",
            ),
            Self::OtherType(other) => {
                write!(f, "positions of rows are whole numbers, not {other}")
            }
        }
    }
}

impl std::error::Error for PositionError {}

/// The row at a position.
///
/// # Errors
/// There is none.
#[inline]
pub fn row_at(position: i128, place: usize, rows: usize) -> Result<u64, PositionError> {
    let from_start = if position < 0 { position + rows as i128 } else { position };
    match u64::try_from(from_start) {
        Ok(row) if from_start < rows as i128 => Ok(row),
        _ => Err(PositionError::NoRow { position, place, rows }),
    }
}

/// The rows at positions.
///
/// # Errors
/// The first position without a row.
pub fn rows_at<T: Into<i128>>(
    positions: impl Iterator<Item = T>,
    rows: usize,
) -> Result<Vec<u64>, PositionError> {
    let each = positions.enumerate();
    each.map(|(place, position)| row_at(position.into(), place, rows)).collect()
}

/// The rows at the positions in an array.
///
/// # Errors
/// A position without a row, a NULL, and an array of other values.
pub fn rows_at_array(array: &ArrayRef, rows: usize) -> Result<Vec<u64>, PositionError> {
    if let Some(nulls) = array.logical_nulls()
        && let Some(place) = nulls.iter().position(|is_valid| !is_valid)
    {
        return Err(PositionError::Null(place));
    }
    macro_rules! of {
        ($kind:ty) => {
            rows_at(array.as_primitive::<$kind>().values().iter().copied(), rows)
        };
    }
    match array.data_type() {
        DataType::Int8 => of!(Int8Type),
        DataType::Int16 => of!(Int16Type),
        DataType::Int32 => of!(Int32Type),
        DataType::Int64 => of!(Int64Type),
        DataType::UInt8 => of!(UInt8Type),
        DataType::UInt16 => of!(UInt16Type),
        DataType::UInt32 => of!(UInt32Type),
        DataType::UInt64 => of!(UInt64Type),
        DataType::Boolean => Err(PositionError::Booleans),
        other => Err(PositionError::OtherType(other.clone())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Float64Array, Int8Array, UInt64Array};

    use super::*;

    #[test]
    fn negative_positions_count_from_the_end() {
        assert_eq!(row_at(0, 0, 3), Ok(0));
        assert_eq!(row_at(-1, 0, 3), Ok(2));
        assert_eq!(row_at(-3, 0, 3), Ok(0));
        for position in [3, -4, i128::from(i64::MIN), i128::from(u64::MAX)] {
            let refused = PositionError::NoRow { position, place: 7, rows: 3 };
            assert_eq!(row_at(position, 7, 3), Err(refused));
        }
        assert!(row_at(0, 0, 0).is_err());
    }

    #[test]
    fn the_first_position_without_a_row_is_named() {
        let refused = rows_at([1_i64, 5, 6].into_iter(), 2).unwrap_err();
        let text = "there is no row 5, the position at 1: there are 2 rows";
        assert_eq!(refused.to_string(), text);
    }

    #[test]
    fn arrays_of_integers_are_positions() {
        let narrow: ArrayRef = Arc::new(Int8Array::from(vec![-1, 0]));
        assert_eq!(rows_at_array(&narrow, 2), Ok(vec![1, 0]));
        let wide: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
        assert!(matches!(rows_at_array(&wide, 2), Err(PositionError::NoRow { .. })));
    }

    #[test]
    fn other_arrays_are_none() {
        let nulls: ArrayRef = Arc::new(Int8Array::from(vec![Some(0), None]));
        assert_eq!(rows_at_array(&nulls, 2), Err(PositionError::Null(1)));
        let mask: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
        assert_eq!(rows_at_array(&mask, 2), Err(PositionError::Booleans));
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.0]));
        let other = PositionError::OtherType(DataType::Float64);
        assert_eq!(rows_at_array(&floats, 2), Err(other));
    }
}
