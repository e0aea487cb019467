//! The session for Python's transports and connections: bytes in and out, and its state. Each kind
//! of exchange has a file of its own.

mod ahead;
pub(crate) mod conninfo;
mod copy;
mod events;
mod many;
mod portal;
mod query;
pub(crate) mod sink;
pub(crate) mod statement;
pub(crate) mod transport_base;
mod types;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use colonnade_protocol::auth::{Authenticator, ChannelBinding};
use colonnade_protocol::backend::TransactionStatus;
use colonnade_protocol::frontend;
use colonnade_session::{CacheLimits, ColumnPlans, Event, Session as CoreSession, Startup};
use colonnade_watch::Stopwatch;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

pub(crate) use self::events::{Completion, CopyIn, GssToken, Notice, Notification};
pub(crate) use self::many::ManyArguments;
pub(crate) use self::query::column_sink;
use crate::errors;
use crate::memory::buffer::ReceiveWindow;
use crate::observe::stopwatch::QueryTiming;
use crate::rows::RowPlan;
use crate::session::conninfo::ConnInfo;
use crate::session::sink::RowSink;
use crate::types::codecs::{Codecs, Dates, NaiveMoments};

/// Smaller reads are handled at once: releasing the interpreter would cost more.
const DETACH_BYTES_MIN: usize = 4 * 1024;

/// Why a forked child is refused, and what to do instead.
const INHERITED: &str = "the connection belongs to the parent process, which opened it before it \
    forked: open one in each process, after the fork";

/// The moment from which the ages of statements and types are counted. Sessions of a pool have
/// their types in common.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

type Core = CoreSession<RowSink>;

struct Inner {
    core: Core,
    /// Users' codecs in place of types' own conversions.
    codecs: Arc<Codecs>,
    row_plans: ColumnPlans<RowPlan>,
    /// `START`.
    since: Instant,
    stopwatch: Stopwatch,
}

impl Inner {
    fn receive(&mut self, length: usize) {
        let (start, is_answer) = (Instant::now(), !self.core.is_idle());
        self.core.receive_data(length);
        #[cfg(target_os = "linux")]
        colonnade_watch::note_decoding(start.elapsed());
        let others = self.core.take_ahead_bytes();
        if is_answer {
            self.stopwatch.received(start, length, others);
        }
    }

    /// Records that an exchange is about to begin, whose arguments were encoded since `start`: it
    /// is timed unless others are under way.
    fn runs(&mut self, start: Instant, is_cached: bool) {
        if self.core.is_idle() {
            self.stopwatch.run(start, is_cached);
        }
    }

    /// Records that a text is about to be prepared: it is timed unless others are under way.
    fn prepares(&mut self) {
        if self.core.is_idle() {
            self.stopwatch.prepare();
        }
    }

    /// Takes the next event.
    fn take_event(&mut self, py: Python<'_>) -> Option<Event<RowSink>> {
        let event = self.core.next_event()?;
        self.stopwatch.answered(matches!(event, Event::CopyIn));
        if let Some(rows) = events::rows_of(py, &event) {
            self.stopwatch.add_rows(rows);
        }
        Some(event)
    }
}

/// One connection's end of a session with a server. No I/O: the owner of the socket moves bytes.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Session {
    inner: Mutex<Inner>,
    /// Whether this is a forked child's copy of its parent's session. Outside the lock, which a
    /// thread of the parent may have held during the fork.
    is_inherited: AtomicBool,
    /// Whether this side has closed the connection. Outside the lock, which the interrupted call
    /// may hold: it notices when it next takes the lock.
    is_cut_off: AtomicBool,
}

impl Session {
    /// Locks the session, or fails if another thread is inside it: waiting here with the
    /// interpreter attached could deadlock.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Inner>> {
        if self.is_inherited() {
            return Err(errors::interface(py, INHERITED));
        }
        let mut inner = self.inner.try_lock().map_err(|_| {
            errors::interface(py, "cannot perform operation: another operation is in progress")
        })?;
        if self.is_cut_off() {
            inner.core.cut_off();
        }
        Ok(inner)
    }

    fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::Relaxed)
    }

    /// The window for the next read of the socket.
    pub(crate) fn window(&self, py: Python<'_>) -> PyResult<colonnade_session::ReceiveWindow> {
        Ok(self.lock(py)?.core.receive_buffer())
    }

    /// Whether the last read ended everything under way and left nothing else to handle.
    pub(crate) fn is_quiet(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.core.is_quiet())
    }

    /// Records that the socket has all bytes, and that the caller waits for an answer.
    pub(crate) fn waits(&self, py: Python<'_>) -> PyResult<()> {
        let mut inner = self.lock(py)?;
        if !inner.core.is_idle() {
            inner.stopwatch.waits();
        }
        Ok(())
    }

    /// Tells the session something, which cannot fail.
    fn tell(&self, py: Python<'_>, tell: impl FnOnce(&mut Core)) -> PyResult<()> {
        tell(&mut self.lock(py)?.core);
        Ok(())
    }

    /// Changes the session without an exchange, so no call begins.
    fn change<T>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Core) -> Result<T, colonnade_session::Error>,
    ) -> PyResult<T> {
        change(&mut self.lock(py)?.core).map_err(|error| errors::of_session(py, error))
    }

    /// Begins an exchange of a statement that is prepared, with encoded arguments.
    fn run<T>(
        &self,
        py: Python<'_>,
        start: impl FnOnce(&mut Core) -> Result<T, colonnade_session::Error>,
    ) -> PyResult<T> {
        let mut inner = self.lock(py)?;
        inner.runs(Instant::now(), true);
        start(&mut inner.core).map_err(|error| errors::of_session(py, error))
    }

    fn begin(
        &self,
        py: Python<'_>,
        start: impl FnOnce(&mut Core) -> Result<(), colonnade_session::Error>,
    ) -> PyResult<()> {
        let mut inner = self.lock(py)?;
        let now = Instant::now();
        let time = now.duration_since(inner.since);
        inner.core.tell_time(time);
        inner.runs(now, false);
        start(&mut inner.core).map_err(|error| errors::of_session(py, error))
    }

    fn begin_preparing(
        &self,
        py: Python<'_>,
        start: impl FnOnce(&mut Core) -> Result<(), colonnade_session::Error>,
    ) -> PyResult<()> {
        let mut inner = self.lock(py)?;
        inner.prepares();
        start(&mut inner.core).map_err(|error| errors::of_session(py, error))
    }
}

#[pymethods]
impl Session {
    /// Statements are kept for at most `statement_seconds`, and texts up to `statement_bytes`; 0
    /// sets no limit. With `extension_values`, rows get values of extension types as their own
    /// classes and not as text. With `refuses_naive_moments`, a timestamptz must have a time zone.
    #[new]
    #[pyo3(signature = (
        statement_cache_size = 100,
        *,
        statement_seconds = 0.0,
        statement_bytes = 0,
        extension_values = false,
        refuses_naive_moments = false,
    ))]
    fn new(
        py: Python<'_>,
        statement_cache_size: usize,
        statement_seconds: f64,
        statement_bytes: usize,
        extension_values: bool,
        refuses_naive_moments: bool,
    ) -> PyResult<Self> {
        let lifetime = Duration::try_from_secs_f64(statement_seconds)
            .map_err(|error| errors::interface(py, &format!("statement_seconds: {error}")))?;
        let limits = CacheLimits {
            capacity: statement_cache_size,
            lifetime: (!lifetime.is_zero()).then_some(lifetime),
            text_bytes: (statement_bytes > 0).then_some(statement_bytes),
        };
        let mut core = Core::new(limits, colonnade_columnar::Catalog::default());
        if extension_values {
            core.show_extension_values();
        }
        let naive_moments =
            if refuses_naive_moments { NaiveMoments::Refused } else { NaiveMoments::Local };
        let codecs = Arc::new(Codecs::without_functions(naive_moments));
        let row_plans = ColumnPlans::default();
        let (since, stopwatch) = (*START, Stopwatch::default());
        let inner = Mutex::new(Inner { core, codecs, row_plans, since, stopwatch });
        let (is_inherited, is_cut_off) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self { inner, is_inherited, is_cut_off })
    }

    /// The window for the next read of the socket (buffer protocol).
    fn receive_buffer(&self, py: Python<'_>) -> PyResult<ReceiveWindow> {
        Ok(ReceiveWindow::new(self.window(py)?))
    }

    /// Parses and decodes `length` bytes that were read, with the interpreter released.
    pub(crate) fn receive_data(&self, py: Python<'_>, length: usize) -> PyResult<()> {
        if length < DETACH_BYTES_MIN {
            self.lock(py)?.receive(length);
            return Ok(());
        }
        let taken = !self.is_inherited()
            && py.detach(|| match self.inner.try_lock() {
                Ok(mut inner) => {
                    inner.receive(length);
                    true
                }
                Err(_) => false,
            });
        if taken { Ok(()) } else { self.lock(py).map(drop) }
    }

    /// Copies in bytes that were read elsewhere, then does as `receive_data`.
    fn receive_bytes(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        self.tell(py, |core| core.receive_bytes(data))
    }

    /// Limits each read to this many bytes, unless a value is larger.
    fn limit_reads(&self, py: Python<'_>, length: usize) -> PyResult<()> {
        self.tell(py, |core| core.limit_reads(length))
    }

    /// Records that the peer has closed its side.
    fn receive_eof(&self, py: Python<'_>) -> PyResult<()> {
        self.tell(py, Core::receive_eof)
    }

    /// Closes the connection from this side. The call under way fails, even if it is inside the
    /// session at this moment.
    fn cut_off(&self) {
        self.is_cut_off.store(true, Ordering::Relaxed);
        if let Ok(mut inner) = self.inner.try_lock() {
            inner.core.cut_off();
        }
    }

    /// Takes the bytes to write to the socket.
    pub(crate) fn data_to_send<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut inner = self.lock(py)?;
        let data = inner.core.send_with(|data| PyBytes::new(py, data));
        if !data.as_bytes().is_empty() {
            inner.stopwatch.sends();
        } else if !inner.core.is_idle() {
            inner.stopwatch.waits();
        }
        Ok(data)
    }

    /// Records that the caller runs again, with the event that it has waited for.
    fn resumed(&self) {
        if let Ok(mut inner) = self.inner.try_lock() {
            inner.stopwatch.resumed();
        }
    }

    /// Records that the call has ended, however it did.
    fn end_call(&self) {
        if let Ok(mut inner) = self.inner.try_lock() {
            inner.stopwatch.end();
        }
    }

    /// The timing of the last call; None before the first one. `pool_wait` is the time it waited
    /// for a connection, in seconds.
    fn timing(&self, py: Python<'_>, pool_wait: f64) -> PyResult<Option<QueryTiming>> {
        Ok(self.lock(py)?.stopwatch.timing(pool_wait).map(QueryTiming))
    }

    /// Whether to go on reading; False holds the server back.
    #[getter]
    fn wants_read(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.core.wants_read())
    }

    /// Whether a timestamptz must have a time zone.
    #[getter]
    fn refuses_naive_moments(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.codecs.naive_moments() == NaiveMoments::Refused)
    }

    /// Whether Python's dates mean themselves, and an infinity is an error. Otherwise, as in
    /// asyncpg, the first and the last one stand for the infinities, and a datetime for its day.
    #[getter]
    fn exact_dates(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.codecs.dates() == Dates::Exact)
    }

    #[setter]
    fn set_exact_dates(&self, py: Python<'_>, is_exact: bool) -> PyResult<()> {
        let mut inner = self.lock(py)?;
        let dates = if is_exact { Dates::Exact } else { Dates::AsAsyncpg };
        inner.codecs = Codecs::with_dates(&inner.codecs, dates);
        Ok(())
    }

    /// Whether no exchange is under way.
    #[getter]
    fn is_idle(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.core.is_idle())
    }

    /// Whether the session has ended, or belongs to the parent process. It counts as open while
    /// another thread is inside it.
    #[getter]
    pub(crate) fn is_closed(&self, py: Python<'_>) -> bool {
        let has_ended = || self.lock(py).is_ok_and(|inner| inner.core.is_closed());
        self.is_inherited() || self.is_cut_off() || has_ended()
    }

    /// Whether this process is a fork of the session's owner.
    #[getter]
    fn is_inherited(&self) -> bool {
        self.is_inherited.load(Ordering::Relaxed)
    }

    /// Records that this process was forked: from now on every request is refused, and nothing is
    /// sent.
    fn leave_to_parent(&self) {
        self.is_inherited.store(true, Ordering::Relaxed);
    }

    /// The server's message when it ended the session, as an exception.
    #[getter]
    fn farewell(&self, py: Python<'_>) -> PyResult<Option<PyErr>> {
        let inner = self.lock(py)?;
        Ok(inner.core.farewell().map(|fields| errors::of_server(py, "from_fields", fields)))
    }

    /// Whether the server has accepted our authentication; later refusals at start-up are final.
    #[getter]
    fn is_authenticated(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.core.is_authenticated())
    }

    /// "idle", "in transaction" or "failed": as of the server's last ReadyForQuery.
    #[getter]
    fn transaction_status(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(match self.lock(py)?.core.transaction_status() {
            TransactionStatus::Idle => "idle",
            TransactionStatus::InTransaction => "in transaction",
            TransactionStatus::Failed => "failed",
        })
    }

    /// The run-time parameters that the server has reported.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.lock(py)?.core.parameters() {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// The backend's process ID; None before the server has sent it, and in a forked child.
    #[getter]
    fn process_id(&self, py: Python<'_>) -> PyResult<Option<i32>> {
        if self.is_inherited() {
            return Ok(None);
        }
        Ok(self.lock(py)?.core.cancel_key().map(|key| key.process_id))
    }

    /// The complete message of a cancel connection; None before the server has sent a key.
    fn cancel_request<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let request = self.lock(py)?.core.cancel_key().map(colonnade_session::CancelKey::request);
        Ok(request.map(|request| PyBytes::new(py, &request)))
    }

    /// Opens the session with the options in `info`. `tls_server_end_point` is the channel-binding
    /// data of a TLS connection; None without TLS, or if its certificate gives none.
    #[pyo3(signature = (info, password, *, tls, tls_server_end_point))]
    fn startup(
        &self,
        py: Python<'_>,
        info: &ConnInfo,
        password: Option<&[u8]>,
        tls: bool,
        tls_server_end_point: Option<Vec<u8>>,
    ) -> PyResult<()> {
        let binding = match (tls, tls_server_end_point) {
            (_, Some(data)) => ChannelBinding::TlsServerEndPoint(data),
            (true, None) => ChannelBinding::Unsupported,
            (false, None) => ChannelBinding::NotUsed,
        };
        let (user, policy) = (&info.info().user, info.info().auth);
        let authenticator = Authenticator::new(user, password, binding, policy);
        let parameters = info.info().startup_parameters();
        let startup = Startup { parameters, authenticator };
        // Not timed: nobody has called yet.
        self.change(py, |core| core.startup(startup))
    }

    /// Answers a GssToken with the client's token.
    fn gss_token(&self, py: Python<'_>, token: &[u8]) -> PyResult<()> {
        self.change(py, |core| core.gss_token(token))
    }

    /// Abandons the exchange under way.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        self.tell(py, Core::abandon)
    }

    /// Sends Terminate; no further requests are possible.
    fn terminate(&self, py: Python<'_>) -> PyResult<()> {
        self.tell(py, Core::terminate)
    }

    fn __repr__(&self) -> String {
        if self.is_inherited() {
            return "<Session of the parent process>".to_owned();
        }
        match self.inner.try_lock() {
            Err(_) => "<Session busy>".to_owned(),
            Ok(inner) if inner.core.is_closed() => "<Session closed>".to_owned(),
            Ok(inner) if inner.core.is_idle() => "<Session idle>".to_owned(),
            Ok(_) => "<Session in an exchange>".to_owned(),
        }
    }
}

/// The message that requests TLS, before any other.
#[pyfunction]
fn ssl_request(py: Python<'_>) -> Bound<'_, PyBytes> {
    let mut out = Vec::with_capacity(8);
    frontend::ssl_request(&mut out);
    PyBytes::new(py, &out)
}

pub(crate) fn add_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(ssl_request, module)?)
}
