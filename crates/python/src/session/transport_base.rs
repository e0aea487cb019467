//! The half of an asyncio transport that serves every small query: it begins the query, sends it,
//! reads the answer and wakes the caller, without calling Python code.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyMemoryView, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::memory::buffer::ReceiveWindow;
use crate::session::Session;

/// A view of the receive buffer, reused from one small read to the next.
struct View {
    view: Py<PyAny>,
    start: usize,
    len: usize,
}

/// The base class of a buffered protocol. Nothing of it stays borrowed while Python runs: a loop, a
/// codec or a done-callback may call it again.
///
/// A subclass defines `attend(nbytes)`, which handles every read except the plain end of an
/// exchange; `resume()`, which resumes reading after a pause; and `within(limit, answer)`, a
/// coroutine that waits for an answer with a time limit.
#[pyclass(subclass, module = "colonnade._core")]
pub(crate) struct TransportBase {
    session: Py<Session>,
    /// The loop in which it was made.
    #[pyo3(get, name = "loop")]
    own_loop: Py<PyAny>,
    /// asyncio's transport while there is one.
    #[pyo3(get, set)]
    link: Option<Py<PyAny>>,
    /// The task that ends an abandoned exchange while there is one.
    #[pyo3(get, set)]
    recovery: Option<Py<PyAny>>,
    /// Whether reading is paused.
    #[pyo3(get, set)]
    is_paused: bool,
    /// The future of the next event, while a caller waits for it.
    #[pyo3(get, set)]
    waiter: Option<Py<PyAny>>,
    /// Whether `attend` handles every read.
    #[pyo3(get, set)]
    attends_all: bool,
    view: Option<View>,
}

#[pymethods]
impl TransportBase {
    #[new]
    #[pyo3(signature = (session, *_args, **_keywords))]
    fn new(
        session: Bound<'_, Session>,
        _args: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let own_loop = running_loop(session.py())?.unbind();
        Ok(Self {
            session: session.unbind(),
            own_loop,
            link: None,
            recovery: None,
            is_paused: false,
            waiter: None,
            attends_all: false,
            view: None,
        })
    }

    /// Begins a query by `begin(*arguments)` and sends it. Returns an awaitable of the answering
    /// event, with a limit of `limit` seconds. Returns None if `begin` did not begin an exchange,
    /// if the session is closed or still ending an abandoned exchange, and in another loop.
    fn ask<'py>(
        slf: &Bound<'py, Self>,
        begin: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        limit: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = slf.py();
        let is_free = {
            let this = slf.borrow();
            this.is_settled(py)? && !this.session.get().is_closed(py)
        };
        if !is_free {
            return Ok(None);
        }
        if !begin.call1(arguments)?.is_truthy()? {
            return Ok(None);
        }
        let answer = Self::answer(slf)?;
        match limit {
            None => Ok(Some(answer)),
            Some(limit) => slf.call_method1(intern!(py, "within"), (limit, answer)).map(Some),
        }
    }

    /// Sends the exchange just begun; returns the future of its first event.
    fn answer<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        Self::send(slf)?;
        slf.borrow().session.get().waits(py)?;
        let own_loop = slf.borrow().own_loop.clone_ref(py).into_bound(py);
        let future = own_loop.call_method0(intern!(py, "create_future"))?;
        slf.borrow_mut().waiter = Some(future.clone().unbind());
        if slf.borrow().is_paused {
            slf.call_method0(intern!(py, "resume"))?;
        }
        Ok(future)
    }

    /// Sends all waiting bytes, however long the socket takes.
    fn send(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let (data, link) = {
            let this = slf.borrow();
            let data = this.session.get().data_to_send(py)?;
            (data, this.link.as_ref().map(|link| link.clone_ref(py)))
        };
        let Some(link) = link.map(|link| link.into_bound(py)) else { return Ok(()) };
        if !data.as_bytes().is_empty()
            && !link.call_method0(intern!(py, "is_closing"))?.is_truthy()?
        {
            link.call_method1(intern!(py, "write"), (data,))?;
        }
        Ok(())
    }

    /// Whether no abandoned exchange is under way, and the transport's own loop runs.
    #[getter]
    fn is_settled(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.recovery.is_none() && running_loop(py)?.is(&self.own_loop))
    }

    /// The memory that the loop reads into, owned by the core.
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

    /// Decodes the bytes of a read. If they end the exchange, the caller gets the event.
    fn buffer_updated(slf: &Bound<'_, Self>, nbytes: usize) -> PyResult<()> {
        let py = slf.py();
        let (session, is_plain) = {
            let this = slf.borrow();
            let is_full = this.view.as_ref().is_none_or(|view| nbytes >= view.len);
            (this.session.clone_ref(py), !this.attends_all && !is_full)
        };
        session.get().receive_data(py, nbytes)?;
        if !is_plain || !session.get().is_quiet(py)? {
            slf.call_method1(intern!(py, "attend"), (nbytes,))?;
            return Ok(());
        }
        Self::deliver(slf, None)
    }

    /// Passes the next event, if there is one, to a caller that still waits for it. A failed
    /// exchange raises its error in the caller; `cause` is set on an error without a cause.
    #[pyo3(signature = (cause = None))]
    fn deliver(slf: &Bound<'_, Self>, cause: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let py = slf.py();
        let (session, waiter) = {
            let mut this = slf.borrow_mut();
            let Some(waiter) = this.waiter.take() else { return Ok(()) };
            (this.session.clone_ref(py), waiter)
        };
        let bound = waiter.bind(py);
        if bound.call_method0(intern!(py, "done"))?.is_truthy()? {
            return Ok(());
        }
        match session.get().event_for_waiter(py) {
            Ok(None) => slf.borrow_mut().waiter = Some(waiter),
            Ok(Some(event)) => {
                bound.call_method1(intern!(py, "set_result"), (event,))?;
            }
            Err(error) => {
                if let Some(cause) = cause
                    && error.cause(py).is_none()
                {
                    error.set_cause(py, Some(PyErr::from_value(cause.clone())));
                }
                bound.call_method1(intern!(py, "set_exception"), (error.into_value(py),))?;
            }
        }
        Ok(())
    }

    /// The size of the window from the last `get_buffer`.
    #[getter]
    fn window_bytes(&self) -> usize {
        self.view.as_ref().map_or(0, |view| view.len)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.session)?;
        visit.call(&self.own_loop)?;
        visit.call(&self.link)?;
        visit.call(&self.recovery)?;
        visit.call(&self.waiter)
    }

    fn __clear__(&mut self) {
        self.link = None;
        self.recovery = None;
        self.waiter = None;
    }
}

/// The loop running in this thread; Python's None if there is none.
fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static RUNNING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    RUNNING.import(py, "asyncio", "_get_running_loop")?.call0()
}
