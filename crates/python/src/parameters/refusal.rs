//! The reason why an argument was refused, and the place of the reason within the argument.

use std::fmt::Write;

use colonnade_columnar::{EncodeError, Place, Value};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::class_names;
use crate::errors;
use crate::shown::shown;

create_exception!(
    colonnade._core,
    ChangedError,
    PyRuntimeError,
    "An argument changed while it was encoded, so encoding it again would give another result."
);

/// A step into a nested value.
pub(super) enum Step {
    /// An element of an array or another sequence: the index in each dimension.
    Element(Vec<usize>),
    /// A field of a composite.
    Field(String),
    /// A bound of a range.
    Bound(&'static str),
}

/// The reason why an argument was refused.
pub(super) struct Refusal {
    /// The innermost step first.
    path: Vec<Step>,
    reason: PyErr,
}

impl From<PyErr> for Refusal {
    fn from(reason: PyErr) -> Self {
        Self { path: Vec::new(), reason }
    }
}

impl Refusal {
    pub(super) fn because(reason: impl Into<String>) -> Self {
        PyValueError::new_err(reason.into()).into()
    }

    /// The encoder's refusal of a value, with the flat index of an array's element converted to an
    /// index in each dimension.
    pub(super) fn of_encoder(error: &EncodeError, value: &Value<'_>) -> Self {
        let EncodeError::Within(place, inner) = error else {
            return Self::because(error.to_string());
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
        Self::of_encoder(inner, part.unwrap_or(&Value::Null)).within(step)
    }

    /// The refusal as seen from the enclosing value.
    pub(super) fn within(mut self, step: Step) -> Self {
        self.path.push(step);
        self
    }

    /// The exception for argument `index`, of set `row` if there are many.
    pub(super) fn into_error(
        self,
        py: Python<'_>,
        index: usize,
        row: Option<u64>,
        type_name: &str,
        argument: &Bound<'_, PyAny>,
    ) -> PyErr {
        if self.is_interruption(py) {
            return self.reason;
        }
        let (number, shown) = (index + 1, shown(argument));
        let (place, reason) = (self.place(), self.reason.value(py));
        let advice = self.advice(py, number, type_name, argument);
        let text = match row {
            None => format!(
                "invalid input for query argument ${number} of type {type_name}: {shown} \
                 ({place}{reason}{advice})"
            ),
            // asyncpg's wording, followed by the type.
            Some(row) => format!(
                "invalid input for query argument ${number} in element #{row} of executemany() \
                 sequence: {shown} (of type {type_name}: {place}{reason}{advice})"
            ),
        };
        let error = errors::of_class(py, "EncodeError", &text);
        error.set_cause(py, Some(named_change(py, self.reason)));
        error
    }

    /// The exception for a value of a copied column.
    pub(super) fn into_cell_error(
        self,
        py: Python<'_>,
        column: &str,
        row: u64,
        type_name: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyErr {
        if self.is_interruption(value.py()) {
            return self.reason;
        }
        let kind = class_names::full(&value.get_type());
        let (shown, place, reason) = (shown(value), self.place(), self.reason.value(py));
        let text = format!(
            "column {column:?}, row {row}, from {kind} to {type_name}: {shown} ({place}{reason})"
        );
        let error = errors::of_class(py, "EncodeError", &text);
        error.set_cause(py, Some(named_change(py, self.reason)));
        error
    }

    /// What helps if several values are given for one, as `IN ($1)` invites to.
    fn advice(
        &self,
        py: Python<'_>,
        number: usize,
        type_name: &str,
        argument: &Bound<'_, PyAny>,
    ) -> String {
        let kind = class_names::full(&argument.get_type());
        let is_several = ["list", "tuple", "numpy.ndarray"].contains(&kind.as_str());
        let is_of_another_kind =
            self.path.is_empty() && self.reason.is_instance_of::<PyTypeError>(py);
        // A list for these was meant as one value.
        let is_for_list = type_name.ends_with("[]") || type_name.starts_with("json");
        if !is_several || !is_of_another_kind || is_for_list {
            return String::new();
        }
        format!("; for several values, write = ANY(${number}) instead of IN (${number})")
    }

    /// Whether the reason is not about the value: Ctrl-C and SystemExit may be raised in an
    /// object's methods.
    fn is_interruption(&self, py: Python<'_>) -> bool {
        !self.reason.is_instance_of::<PyException>(py)
    }

    /// Such as `element [2][0], field "city": `.
    fn place(&self) -> String {
        let mut text = String::new();
        for step in self.path.iter().rev() {
            if !text.is_empty() {
                text.push_str(", ");
            }
            // Writing to a String does not fail.
            let _ = match step {
                Step::Element(indices) => {
                    write!(text, "element {}", brackets(indices))
                }
                Step::Field(name) => write!(text, "field {name:?}"),
                Step::Bound(name) => write!(text, "{name} bound"),
            };
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text
    }
}

/// Python's containers raise a plain RuntimeError if they change during iteration.
fn named_change(py: Python<'_>, reason: PyErr) -> PyErr {
    if !reason.get_type(py).is(py.get_type::<PyRuntimeError>()) {
        return reason;
    }
    let change = ChangedError::new_err(reason.value(py).to_string());
    change.set_cause(py, Some(reason));
    change
}

/// The flat index of an element as an index in each dimension.
pub(super) fn indices(mut index: usize, dimensions: &[usize]) -> Vec<usize> {
    let mut found = Vec::with_capacity(dimensions.len());
    for length in dimensions.iter().rev() {
        found.push(index % (*length).max(1));
        index /= (*length).max(1);
    }
    found.reverse();
    found
}

/// An index in each dimension, as Python writes it.
pub(super) fn brackets(indices: &[usize]) -> String {
    indices.iter().map(|index| format!("[{index}]")).collect()
}

/// The result of an object's method; `None` if it raises an exception, which means that the object
/// is not of that kind. Ctrl-C and SystemExit are passed on.
pub(super) fn answered<T>(py: Python<'_>, answer: PyResult<T>) -> PyResult<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn expected<T>(what: &str, argument: &Bound<'_, PyAny>) -> PyResult<T> {
    // With its module, because NumPy and Python both have a `bool`.
    let kind = class_names::full(&argument.get_type());
    Err(PyTypeError::new_err(format!("expected {what}, got {kind}")))
}
