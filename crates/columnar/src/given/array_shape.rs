//! The dimensions of an array that is given as containers within containers.

use std::fmt;

use super::path::Indices;
use crate::types::{Kind, Shape, Type};
use crate::value::{List, Value};

/// The maximum number of dimensions of a PostgreSQL array.
const DIMENSIONS_MOST: usize = 6;

/// The containers within an array that are dimensions, which depends on the form of the elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Containers {
    /// Values are never sequences: every list, tuple or other container is a dimension.
    All,
    /// Values are strings of bytes or bits, or mappings: lists and tuples are dimensions.
    ListsAndTuples,
    /// A tuple is a value: lists are dimensions, as in asyncpg.
    Lists,
    /// A list may be a value, too: lists of lists are dimensions.
    ListsOfLists,
}

impl Containers {
    /// Those within arrays of a type.
    pub fn of(element: &Type) -> Self {
        match &element.bare().shape {
            Shape::Array(_) | Shape::Multirange(_) => Self::ListsOfLists,
            Shape::Scalar(line) => match line.kind {
                Kind::Floats => Self::ListsOfLists,
                Kind::Bytes | Kind::Bits | Kind::Map | Kind::Network => Self::ListsAndTuples,
                Kind::Point
                | Kind::Line
                | Kind::LineSegment
                | Kind::Box
                | Kind::Circle
                | Kind::Path
                | Kind::Polygon
                | Kind::Tid
                | Kind::Snapshot => Self::Lists,
                _ => Self::All,
            },
            Shape::Enum(_) => Self::All,
            _ => Self::Lists,
        }
    }
}

/// The reason why containers are no array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShapeError {
    /// They are too deep.
    Dimensions,
    /// A container at these indices has another length than its neighbours.
    Length {
        /// Its place.
        indices: Vec<usize>,
        /// Its length.
        given: usize,
        /// That of its neighbours.
        expected: usize,
    },
    /// The object at these indices is no container.
    NoContainer(Vec<usize>),
    /// A container is at these indices.
    Container(Vec<usize>),
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indices = match self {
            Self::Dimensions => {
                return write!(f, "an array has {DIMENSIONS_MOST} dimensions at most");
            }
            Self::Length { indices, .. }
            | Self::NoContainer(indices)
            | Self::Container(indices) => indices,
        };
        write!(f, "the array is inhomogeneous: element {} ", Indices(indices))?;
        match self {
            Self::Length { given, expected, .. } => {
                write!(f, "has length {given}, but its neighbours have length {expected}")
            }
            Self::NoContainer(_) => f.write_str("is not a list, but its neighbours are"),
            _ => f.write_str("is a list, but its neighbours are not"),
        }
    }
}

impl std::error::Error for ShapeError {}

/// The lengths of an array, taken from its first element in each dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayShape {
    lengths: Vec<usize>,
}

impl ArrayShape {
    /// An array of one dimension.
    pub fn new(length: usize) -> Self {
        Self { lengths: vec![length] }
    }

    /// Adds a dimension below the others.
    ///
    /// # Errors
    /// There are as many as an array has.
    pub fn push(&mut self, length: usize) -> Result<(), ShapeError> {
        self.check_room()?;
        self.lengths.push(length);
        Ok(())
    }

    /// Checks that a further dimension is possible.
    ///
    /// # Errors
    /// There are as many as an array has.
    pub fn check_room(&self) -> Result<(), ShapeError> {
        let has_room = self.lengths.len() < DIMENSIONS_MOST;
        if has_room { Ok(()) } else { Err(ShapeError::Dimensions) }
    }

    /// The number of elements, or the largest number if it is larger.
    pub fn count(&self) -> usize {
        self.lengths.iter().fold(1, |count, length| count.saturating_mul(*length))
    }

    /// Checks the length of the container at `indices`, and returns it.
    ///
    /// # Errors
    /// The first container of its dimension has another length.
    pub fn check_length(&self, indices: &[usize], given: usize) -> Result<usize, ShapeError> {
        let expected = self.lengths.get(indices.len()).copied().unwrap_or_default();
        if given == expected {
            return Ok(given);
        }
        Err(ShapeError::Length { indices: indices.to_vec(), given, expected })
    }

    /// Checks that a container is at `indices` where the array has a further dimension, and
    /// none below its last one; returns whether there is one.
    ///
    /// # Errors
    /// The first element of its dimension differs.
    #[inline]
    pub fn check_item(&self, indices: &[usize], is_container: bool) -> Result<bool, ShapeError> {
        match (indices.len() < self.lengths.len(), is_container) {
            (true, false) => Err(ShapeError::NoContainer(indices.to_vec())),
            (false, true) => Err(ShapeError::Container(indices.to_vec())),
            (is_outer, _) => Ok(is_outer),
        }
    }

    /// The array of these elements. As in PostgreSQL, one without elements has no dimensions.
    pub fn into_list(self, elements: Vec<Value<'_>>) -> List<'_> {
        let dimensions = if elements.is_empty() { Vec::new() } else { self.lengths };
        List { dimensions, elements }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Types;
    use crate::types::TYPES;

    fn named(name: &str) -> Arc<Type> {
        let line = TYPES.iter().find(|line| line.name == name).unwrap();
        Types::default().find(line.oid).unwrap()
    }

    fn of(name: &str) -> Containers {
        Containers::of(&named(name))
    }

    #[test]
    fn the_form_of_the_elements_decides_about_containers() {
        assert_eq!(of("int4"), Containers::All);
        assert_eq!(of("jsonb"), Containers::All);
        assert_eq!(of("bytea"), Containers::ListsAndTuples);
        assert_eq!(of("inet"), Containers::ListsAndTuples);
        assert_eq!(of("point"), Containers::Lists);
        assert_eq!(of("tid"), Containers::Lists);
        let element = named("int4");
        let with = |shape| Containers::of(&Type { shape, ..Type::opaque(0) });
        assert_eq!(with(Shape::Multirange(Arc::clone(&element))), Containers::ListsOfLists);
        assert_eq!(with(Shape::Range(Arc::clone(&element))), Containers::Lists);
        assert_eq!(with(Shape::Composite([].into())), Containers::Lists);
        assert_eq!(with(Shape::Opaque), Containers::Lists);
    }

    #[test]
    fn containers_have_the_lengths_of_the_first_ones() {
        let mut shape = ArrayShape::new(2);
        shape.push(3).unwrap();
        assert_eq!(shape.count(), 6);
        assert_eq!(shape.check_length(&[], 2), Ok(2));
        assert_eq!(shape.check_length(&[1], 3), Ok(3));
        assert_eq!(
            shape.check_length(&[1], 4).unwrap_err().to_string(),
            "the array is inhomogeneous: element [1] has length 4, but its neighbours have length 3"
        );
    }

    #[test]
    fn each_item_is_what_its_dimension_has() {
        let mut shape = ArrayShape::new(2);
        shape.push(3).unwrap();
        assert_eq!(shape.check_item(&[0], true), Ok(true));
        assert_eq!(shape.check_item(&[0, 2], false), Ok(false));
        assert_eq!(
            shape.check_item(&[1], false).unwrap_err().to_string(),
            "the array is inhomogeneous: element [1] is not a list, but its neighbours are"
        );
        assert_eq!(
            shape.check_item(&[0, 2], true).unwrap_err().to_string(),
            "the array is inhomogeneous: element [0][2] is a list, but its neighbours are not"
        );
    }

    #[test]
    fn an_array_has_6_dimensions_at_most() {
        let mut shape = ArrayShape::new(1);
        for _ in 0..5 {
            shape.push(1).unwrap();
        }
        let refused = shape.push(1).unwrap_err();
        assert_eq!(refused.to_string(), "an array has 6 dimensions at most");
        assert_eq!(shape.check_room(), Err(ShapeError::Dimensions));
    }

    #[test]
    fn more_elements_than_there_are_numbers_are_many() {
        let mut shape = ArrayShape::new(usize::MAX);
        shape.push(3).unwrap();
        assert_eq!(shape.count(), usize::MAX);
    }

    #[test]
    fn an_array_without_elements_has_no_dimensions() {
        assert_eq!(ArrayShape::new(0).into_list(Vec::new()).dimensions, []);
        assert_eq!(ArrayShape::new(1).into_list(vec![Value::Null]).dimensions, [1]);
    }
}
