//! The core's errors as exceptions of `colonnade.errors`.

use std::error::Error as StdError;
use std::fmt::Display;

use colonnade_columnar::{DecodeError, SchemaError};
use colonnade_protocol::backend::ErrorFields;
use colonnade_protocol::{AuthError, Error as ProtocolError};
use colonnade_session::Error;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// An attribute of `colonnade.errors`.
fn errors_attribute<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let module = ERRORS
        .get_or_try_init(py, || PyModule::import(py, "colonnade.errors").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}

/// An exception of the named class with a message.
pub(crate) fn of_class(py: Python<'_>, class: &str, message: &str) -> PyErr {
    build(py, class, (message,))
}

fn build<'py>(
    py: Python<'py>,
    callable: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyErr {
    let made = errors_attribute(py, callable).and_then(|callable| callable.call1(arguments));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// `RuntimeError` with another error's text.
pub(crate) fn runtime(error: impl Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// `ValueError` with another error's text.
pub(crate) fn value(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// `EncodeError`: a value that cannot be sent.
pub(crate) fn encode(py: Python<'_>, message: &str) -> PyErr {
    of_class(py, "EncodeError", message)
}

/// `InterfaceError`: the caller asked for something impossible.
pub(crate) fn interface(py: Python<'_>, message: &str) -> PyErr {
    of_class(py, "InterfaceError", message)
}

/// `InterfaceTypeError`: an argument of the wrong type, for which asyncpg raises `InterfaceError`.
pub(crate) fn interface_type(py: Python<'_>, message: &str) -> PyErr {
    of_class(py, "InterfaceTypeError", message)
}

/// The exception for a failed exchange.
pub(crate) fn of_session(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::Server(fields) => of_server(py, "from_fields", &fields),
        Error::Outdated(error) => outdated(py, of_session(py, *error)),
        Error::ClosedByServer(fields) => of_server(py, "closed_by_server", &fields),
        Error::Decode(error) => of_decode(py, &error),
        Error::Foreign(error) => of_foreign(py, error),
        Error::Protocol(error) => of_protocol(py, &error),
        error => of_class(py, class_of(&error), &error.to_string()),
    }
}

/// The class of an error that has nothing but its text.
fn class_of(error: &Error) -> &'static str {
    match error {
        Error::OutOfTurn { .. } | Error::RowCount { .. } => "RemoteProtocolError",
        Error::ConnectionLost | Error::Ahead(_) => "ConnectionDoesNotExistError",
        Error::ResultChanged | Error::OtherColumns => "InvalidCachedStatementError",
        Error::TooManyParameters { .. } => "LocalProtocolError",
        Error::TextCodec { .. } => "UnsupportedClientFeatureError",
        Error::BoundFormat { .. } => "SchemaError",
        _ => "InterfaceError",
    }
}

/// Marks an error that a new description of the statement may end.
fn outdated(py: Python<'_>, error: PyErr) -> PyErr {
    match error.value(py).setattr("is_outdated", true) {
        Ok(()) => error,
        Err(failure) => failure,
    }
}

fn of_protocol(py: Python<'_>, error: &ProtocolError) -> PyErr {
    let class = match error {
        ProtocolError::Local(_) => "LocalProtocolError",
        ProtocolError::Remote(_) => "RemoteProtocolError",
        ProtocolError::Auth(AuthError::PasswordMissing { .. }) => "MissingPasswordError",
        ProtocolError::Auth(_) => "AuthenticationError",
    };
    of_class(py, class, &error.to_string())
}

fn of_decode(py: Python<'_>, error: &DecodeError) -> PyErr {
    let class = if error.reason.is_stale_type() { "OutdatedTypeError" } else { "DecodeError" };
    let reason = error.explanation().to_string();
    build(py, class, (&error.column, &error.type_name, error.row, &reason))
}

/// `DecodeError`: a value that the requested type cannot hold.
pub(crate) fn decode(
    py: Python<'_>,
    column: &str,
    type_name: &str,
    row: u64,
    reason: &str,
) -> PyErr {
    build(py, "DecodeError", (column, type_name, row, reason))
}

pub(crate) fn of_schema(py: Python<'_>, error: &SchemaError) -> PyErr {
    of_class(py, "SchemaError", &error.to_string())
}

fn of_foreign(py: Python<'_>, error: Box<dyn StdError + Send + Sync>) -> PyErr {
    let error = match error.downcast::<PyErr>() {
        Ok(error) => return *error,
        Err(error) => error,
    };
    match error.downcast::<SchemaError>() {
        Ok(error) => of_schema(py, &error),
        Err(error) => of_class(py, "InternalClientError", &error.to_string()),
    }
}

/// The exception that a function of `colonnade.errors` makes from an ErrorResponse.
pub(crate) fn of_server(py: Python<'_>, function: &str, fields: &ErrorFields) -> PyErr {
    match fields_dict(py, fields) {
        Ok(dict) => build(py, function, (dict,)),
        Err(error) => error,
    }
}

/// The fields of an ErrorResponse or NoticeResponse by their one-letter codes.
pub(crate) fn fields_dict<'py>(
    py: Python<'py>,
    fields: &ErrorFields,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (code, text) in fields.iter() {
        dict.set_item(char::from(code).to_string(), text)?;
    }
    Ok(dict)
}
