//! The place of a reason within a nested value.

use std::fmt;

use crate::error::{EncodeError, Place};
use crate::value::Value;

/// A step into a nested value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// An element of an array or another sequence: the index in each dimension.
    Element(Vec<usize>),
    /// A field of a composite.
    Field(String),
    /// A bound of a range.
    Bound(&'static str),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Element(indices) => write!(f, "element {}", Indices(indices)),
            Self::Field(name) => write!(f, "field {name:?}"),
            Self::Bound(name) => write!(f, "{name} bound"),
        }
    }
}

/// The steps to a value within another, such as `element [2][0], field "city"`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Path {
    /// The innermost one first.
    steps: Vec<Step>,
}

impl Path {
    /// The path of an encoder's error in a value, and the error at its end. The flat index of an
    /// array's element becomes an index in each dimension.
    pub fn of_encoder<'e>(error: &'e EncodeError, value: &Value<'_>) -> (Self, &'e EncodeError) {
        let EncodeError::Within(place, inner) = error else {
            return (Self::default(), error);
        };
        let (part, step) = match (place, value) {
            (Place::Element(index), Value::List(list)) => {
                (list.elements.get(*index), Step::Element(indices(*index, &list.dimensions)))
            }
            (Place::LowerBound, _) => (None, Step::Bound("lower")),
            (Place::UpperBound, _) => (None, Step::Bound("upper")),
            (Place::Element(index), _) => (None, Step::Element(vec![*index])),
            (Place::Field(name), _) => (None, Step::Field(name.clone())),
        };
        let (mut path, reason) = Self::of_encoder(inner, part.unwrap_or(&Value::Null));
        path.push(step);
        (path, reason)
    }

    /// Adds the step from the enclosing value.
    pub fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Whether the value is not within another.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// Followed by a colon, unless it is empty.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().rev().enumerate() {
            let lead = if index == 0 { "" } else { ", " };
            write!(f, "{lead}{step}")?;
        }
        if self.steps.is_empty() { Ok(()) } else { f.write_str(": ") }
    }
}

/// The flat index of an element as an index in each dimension.
pub fn indices(mut index: usize, dimensions: &[usize]) -> Vec<usize> {
    let mut found = Vec::with_capacity(dimensions.len());
    for length in dimensions.iter().rev() {
        found.push(index % (*length).max(1));
        index /= (*length).max(1);
    }
    found.reverse();
    found
}

/// An index in each dimension, as Python writes it.
pub(super) struct Indices<'a>(pub(super) &'a [usize]);

impl fmt::Display for Indices<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|index| write!(f, "[{index}]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::List;

    #[test]
    fn a_flat_index_has_one_in_each_dimension() {
        assert_eq!(indices(0, &[2, 3]), [0, 0]);
        assert_eq!(indices(4, &[2, 3]), [1, 1]);
        assert_eq!(indices(5, &[5]), [0]);
        assert_eq!(indices(7, &[]), []);
        // No element has such an index.
        assert_eq!(indices(3, &[2, 0]), [1, 0]);
    }

    #[test]
    fn a_path_begins_at_the_outermost_value() {
        let mut path = Path::default();
        assert!(path.is_empty());
        assert_eq!(path.to_string(), "");
        path.push(Step::Bound("lower"));
        path.push(Step::Field("a \"b\"".to_owned()));
        path.push(Step::Element(vec![2, 0]));
        assert_eq!(path.to_string(), "element [2][0], field \"a \\\"b\\\"\", lower bound: ");
        assert!(!path.is_empty());
    }

    #[test]
    fn an_encoders_index_is_one_in_each_dimension() {
        let inner = Value::List(List { dimensions: vec![2], elements: vec![Value::Null; 2] });
        let list = List { dimensions: vec![2, 2], elements: vec![inner; 4] };
        let reason = EncodeError::TooLong { bytes: 1 };
        let error = reason.clone().within(Place::UpperBound).within(Place::Element(1));
        let error = error.within(Place::Element(3));
        let (path, found) = Path::of_encoder(&error, &Value::List(list));
        assert_eq!(path.to_string(), "element [1][1], element [1], upper bound: ");
        assert_eq!(found, &reason);
    }

    #[test]
    fn an_error_of_the_value_itself_has_no_path() {
        let reason = EncodeError::TooLong { bytes: 1 };
        let (path, found) = Path::of_encoder(&reason, &Value::Null);
        assert!(path.is_empty());
        assert_eq!(found, &reason);
        // The element of a multirange.
        let error = reason.within(Place::Element(3));
        let (path, _) = Path::of_encoder(&error, &Value::Multirange(Vec::new()));
        assert_eq!(path.to_string(), "element [3]: ");
    }
}
