//! A Python object behind ADBC's calls, with conversions of arguments and results.

use std::ffi::c_char;

use adbc_core::CancelHandle;
use adbc_core::error::{Error, Result, Status};
use adbc_core::options::OptionValue;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use colonnade_foreign::{BatchStream, Fault};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::arrow::import;

/// An object of `colonnade.adbc.driver`.
pub(super) struct Object(Py<PyAny>);

impl Object {
    /// Calls a function that returns an object.
    pub(super) fn made(
        make: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    ) -> Result<Self> {
        attached(|py| make(py).map(|made| Self(made.unbind())))
    }

    /// Calls a method that returns an object.
    pub(super) fn child(
        &self,
        make: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) -> Result<Self> {
        attached(|py| make(py, self.0.bind(py)).map(|made| Self(made.unbind())))
    }

    /// Calls a method.
    pub(super) fn call<T>(
        &self,
        call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Result<T> {
        attached(|py| call(self.0.bind(py)))
    }

    /// Calls a method that returns batches.
    pub(super) fn reader(
        &self,
        call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) -> Result<Box<dyn RecordBatchReader + Send + 'static>> {
        self.call(|object| {
            let capsule = call(object)?.call_method0("__arrow_c_stream__")?;
            let stream = import::take_batches(capsule.cast::<PyCapsule>()?)?;
            Ok(Box::new(Reader(stream)) as Box<dyn RecordBatchReader + Send>)
        })
    }

    /// Calls a method that returns a schema.
    pub(super) fn schema(
        &self,
        call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) -> Result<Schema> {
        self.call(|object| {
            let capsule = call(object)?.call_method0("__arrow_c_schema__")?;
            import::schema_of(capsule.cast::<PyCapsule>()?)
        })
    }

    /// A handle that cancels a call to the object from another thread.
    pub(super) fn cancel_handle(&self) -> Box<dyn CancelHandle> {
        let object = Python::try_attach(|py| self.0.clone_ref(py));
        object.map_or_else(
            || Box::new(adbc_core::NoOpCancellationHandle {}) as Box<dyn CancelHandle>,
            |object| Box::new(Self(object)),
        )
    }
}

impl CancelHandle for Object {
    fn try_cancel(&self) -> Result<()> {
        self.call(|object| object.call_method0("cancel").map(drop))
    }
}

/// The batches of another producer.
struct Reader(BatchStream);

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let told = |fault| match fault {
            Fault::Data(error) => error,
            Fault::Producer(reason) => ArrowError::CDataInterface(reason),
            fault @ Fault::Released => ArrowError::CDataInterface(fault.to_string()),
        };
        self.0.next_unchecked().map(|batch| batch.map_err(told))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}

/// Runs with the interpreter attached, and converts an exception to an ADBC error.
pub(super) fn attached<T>(run: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
    let ran = Python::try_attach(|py| run(py).map_err(|error| failure(py, &error)));
    ran.unwrap_or_else(|| {
        let text = "the interpreter is shutting down";
        Err(Error::with_message_and_status(text, Status::InvalidState))
    })
}

/// An exception as an ADBC error; `colonnade.adbc.driver` describes it.
fn failure(py: Python<'_>, error: &PyErr) -> Error {
    let described = py
        .import("colonnade.adbc.driver")
        .and_then(|module| module.call_method1("described", (error.value(py),)))
        .and_then(|described| described.extract::<(u8, String, String)>());
    let (status, sqlstate, text) =
        described.unwrap_or_else(|_| (0, String::new(), error.value(py).to_string()));
    // The text becomes a C string.
    let text = text.replace('\0', "\\0");
    let status = Status::try_from(status).ok().filter(|status| *status != Status::Ok);
    let mut made = Error::with_message_and_status(text, status.unwrap_or(Status::Unknown));
    for (slot, byte) in made.sqlstate.iter_mut().zip(sqlstate.bytes()) {
        *slot = byte as c_char;
    }
    made
}

/// Options as a dictionary.
pub(super) fn options_of<'py, K: AsRef<str>>(
    py: Python<'py>,
    options: Vec<(K, OptionValue)>,
) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    for (key, value) in options {
        made.set_item(key.as_ref(), option_value(py, value)?)?;
    }
    Ok(made)
}

/// An option's value as a Python object.
pub(super) fn option_value(py: Python<'_>, value: OptionValue) -> PyResult<Bound<'_, PyAny>> {
    match value {
        OptionValue::String(text) => text.into_bound_py_any(py),
        OptionValue::Bytes(bytes) => bytes.into_bound_py_any(py),
        OptionValue::Int(number) => number.into_bound_py_any(py),
        OptionValue::Double(number) => number.into_bound_py_any(py),
        _ => Err(PyRuntimeError::new_err("an option's value is of an unknown kind")),
    }
}

/// Implements `Optionable` through the options of the Python object.
macro_rules! optionable {
    ($object:ty, $key:ty) => {
        impl Optionable for $object {
            type Option = $key;

            fn set_option(&mut self, key: $key, value: OptionValue) -> Result<()> {
                self.0.call(|object| {
                    let value = $crate::adbc::object::option_value(object.py(), value)?;
                    object.call_method1("set_option", (key.as_ref(), value)).map(drop)
                })
            }

            fn get_option_string(&self, key: $key) -> Result<String> {
                self.0.call(|object| object.call_method1("get_option", (key.as_ref(),))?.extract())
            }

            fn get_option_bytes(&self, key: $key) -> Result<Vec<u8>> {
                self.get_option_string(key).map(String::into_bytes)
            }

            fn get_option_int(&self, key: $key) -> Result<i64> {
                self.0.call(|object| object.call_method1("get_number", (key.as_ref(),))?.extract())
            }

            fn get_option_double(&self, key: $key) -> Result<f64> {
                self.0.call(|object| object.call_method1("get_number", (key.as_ref(),))?.extract())
            }
        }
    };
}

pub(super) use optionable;
