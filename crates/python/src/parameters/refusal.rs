//! The reason why an argument was refused, and the place of the reason within the argument.

use colonnade_columnar::given::{Path, Step};
use colonnade_columnar::{EncodeError, Value};
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

/// The reason why an argument was refused.
pub(super) struct Refusal {
    path: Path,
    reason: PyErr,
}

impl From<PyErr> for Refusal {
    fn from(reason: PyErr) -> Self {
        Self { path: Path::default(), reason }
    }
}

impl Refusal {
    pub(super) fn because(reason: impl Into<String>) -> Self {
        PyValueError::new_err(reason.into()).into()
    }

    /// The encoder's refusal of a value.
    pub(super) fn of_encoder(error: &EncodeError, value: &Value<'_>) -> Self {
        let (path, reason) = Path::of_encoder(error, value);
        Self { path, ..Self::because(reason.to_string()) }
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
        let (place, reason) = (&self.path, self.reason.value(py));
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
        self.told(py, &text)
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
        let (shown, place, reason) = (shown(value), &self.path, self.reason.value(py));
        let text = format!(
            "column {column:?}, row {row}, from {kind} to {type_name}: {shown} ({place}{reason})"
        );
        self.told(py, &text)
    }

    fn told(self, py: Python<'_>, text: &str) -> PyErr {
        let error = errors::encode(py, text);
        error.set_cause(py, Some(named_change(py, self.reason)));
        error
    }

    /// Advice for a caller who gives several values for one, as `IN ($1)` invites to.
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
