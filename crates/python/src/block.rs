//! Both ends of a `with` block of blocking code, which Ctrl-C cannot skip.
//!
//! The interpreter may raise KeyboardInterrupt before any step of Python code, even before the
//! first one of `__exit__`: a transaction whose block is left at that moment would silently stay
//! open. This code is not Python, and makes sure that one of two functions completes: the original,
//! or the object's `_abandon(error)`.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use pyo3::{PyTraverseError, PyVisit, intern};

/// Wraps an `__enter__` or `__exit__` written in Python. It binds as functions do: `with` takes it
/// from the object, `contextlib.ExitStack` from the class.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct BlockEnd {
    function: Py<PyAny>,
}

#[pymethods]
impl BlockEnd {
    #[new]
    fn new(function: Py<PyAny>) -> Self {
        Self { function }
    }

    /// The wrapped function, for `inspect.signature`.
    #[getter]
    fn __wrapped__(&self, py: Python<'_>) -> Py<PyAny> {
        self.function.clone_ref(py)
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: Option<Bound<'py, PyAny>>,
        _owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        static METHOD: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let Some(instance) = instance else { return Ok(slf.clone().into_any()) };
        METHOD.import(slf.py(), "types", "MethodType")?.call1((slf, instance))
    }

    #[pyo3(signature = (instance, *args))]
    fn __call__<'py>(
        &self,
        instance: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = instance.py();
        let method = self.function.bind(py).call_method1(intern!(py, "__get__"), (instance,))?;
        let outcome = method.call1(args);
        if let Err(error) = &outcome
            && is_interrupt(py, error)
        {
            // Each turn consumes one interrupt, and every interrupt takes another Ctrl-C.
            while let Err(again) =
                instance.call_method1(intern!(py, "_abandon"), (error.value(py),))
            {
                if !is_interrupt(py, &again) {
                    return Err(again);
                }
            }
        }
        outcome
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)
    }
}

fn is_interrupt(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyKeyboardInterrupt>(py)
}
