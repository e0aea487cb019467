//! What an event loop calls for each read, without a step through Python where the read ends an
//! exchange and there is nothing else to see to: small queries are made of little else.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMemoryView, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::buffer::ReceiveWindow;
use crate::session::Session;

/// A view of the receive buffer, which is the same from one small read to the next.
struct View {
    view: Py<PyAny>,
    start: usize,
    len: usize,
}

/// The half of a buffered protocol that reads. A subclass defines `attend(nbytes)`, which sees to
/// all that is not the plain end of an exchange.
#[pyclass(subclass, module = "colonnade._core")]
pub(crate) struct Receiver {
    session: Py<Session>,
    /// The future that gets the next event, or None.
    #[pyo3(get, set)]
    waiter: Option<Py<PyAny>>,
    /// Whether every read is to be attended.
    #[pyo3(get, set)]
    attends_all: bool,
    view: Option<View>,
}

#[pymethods]
impl Receiver {
    #[new]
    #[pyo3(signature = (session, *_args, **_keywords))]
    fn new(
        session: Py<Session>,
        _args: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> Self {
        Self { session, waiter: None, attends_all: false, view: None }
    }

    /// Where the loop reads to: memory of the core.
    fn get_buffer(&mut self, py: Python<'_>, _sizehint: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let window = self.session.get().window(py)?;
        let (start, len) = (window.as_mut_ptr().addr(), window.len());
        if let Some(known) = &self.view
            && (known.start, known.len) == (start, len)
        {
            return Ok(known.view.clone_ref(py));
        }
        let owner = Bound::new(py, ReceiveWindow::new(window))?;
        let view = PyMemoryView::from(&owner)?.into_any().unbind();
        self.view = Some(View { view: view.clone_ref(py), start, len });
        Ok(view)
    }

    /// Decodes what was read. Where it ends the exchange, whoever waits gets the event.
    fn buffer_updated(slf: &Bound<'_, Self>, nbytes: usize) -> PyResult<()> {
        let py = slf.py();
        let (session, is_plain) = {
            let this = slf.borrow();
            let is_full = this.view.as_ref().is_none_or(|view| nbytes >= view.len);
            (this.session.clone_ref(py), !this.attends_all && !is_full)
        };
        let session = session.get();
        session.receive_data(py, nbytes)?;
        if !is_plain || !session.is_quiet(py)? {
            slf.call_method1(intern!(py, "attend"), (nbytes,))?;
            return Ok(());
        }
        let waiter = slf.borrow().waiter.as_ref().map(|waiter| waiter.clone_ref(py));
        waiter.map_or(Ok(()), |waiter| deliver(session, waiter.bind(py)))
    }

    /// Bytes of the window that the last `get_buffer` gave.
    #[getter]
    fn window_bytes(&self) -> usize {
        self.view.as_ref().map_or(0, |view| view.len)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.session)?;
        visit.call(&self.waiter)
    }

    fn __clear__(&mut self) {
        self.waiter = None;
    }
}

/// Hands the next event to whoever still waits for it.
fn deliver(session: &Session, waiter: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = waiter.py();
    if waiter.call_method0(intern!(py, "done"))?.is_truthy()? {
        return Ok(());
    }
    match session.next_event(py) {
        Ok(None) => {}
        Ok(Some(event)) => {
            waiter.call_method1(intern!(py, "set_result"), (event,))?;
        }
        Err(error) => {
            waiter.call_method1(intern!(py, "set_exception"), (error.into_value(py),))?;
        }
    }
    Ok(())
}
