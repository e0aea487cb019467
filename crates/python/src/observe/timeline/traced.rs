//! The coroutine between a task and its own one, and the recorder that it tells its steps.

use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use colonnade_watch::timeline::{self, LOOP_DELAY, Record, SLEEP, UNKNOWN};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit, intern};

use crate::locks::locked;

type KnownWaits = timeline::KnownWaits<Py<PyAny>>;
type Place = timeline::Place<Py<PyAny>>;

/// Records the work of one loop's tasks. All times are in nanoseconds since it was made.
///
/// `opened(lane)` is called before the first step of a lane. `explain(coroutine, future, callback,
/// since, now)` is called after a wait of more than `patience`, while the coroutine is still
/// suspended, and returns the wait's kind, when it was over, and whether every wait at the same
/// place has this kind, and is over when it ends or is a sleep; `callback` is the name of the first
/// function that the future would call, None without one.
#[pyclass(frozen, module = "colonnade._core.timeline")]
pub(super) struct Recorder {
    start: Instant,
    patience: u64,
    opened: Py<PyAny>,
    explain: Py<PyAny>,
    record: Mutex<Record>,
    known: Mutex<KnownWaits>,
}

impl Recorder {
    fn record(&self) -> MutexGuard<'_, Record> {
        locked(&self.record)
    }

    fn time(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The kind of a wait, and when it was over.
    fn explained(
        &self,
        py: Python<'_>,
        traced: &TracedCoroutine,
        wait: &Wait,
        now: u64,
    ) -> PyResult<(u8, u64)> {
        let place = place_of(traced.inner.bind(py), wait);
        if let Some((place, innermost)) = &place
            && let Some(kind) = locked(&self.known).kind(place)
        {
            return Ok((kind, over_at_known_place(kind, innermost, wait.since, now)));
        }
        let told = (&traced.inner, &wait.on, &wait.callback, wait.since, now);
        let answer = self.explain.bind(py).call1(told);
        let answer = answer.and_then(|answer| answer.extract::<(u8, u64, bool)>());
        Ok(match (answer, place) {
            (Ok((kind, over, false)), _) | (Ok((kind, over, true)), None) => (kind, over),
            (Ok((kind, over, true)), Some((place, _))) => {
                locked(&self.known).add(place, kind);
                (kind, over)
            }
            (Err(error), _) => {
                report(error, self.explain.bind(py))?;
                (UNKNOWN, now)
            }
        })
    }
}

#[pymethods]
impl Recorder {
    #[new]
    fn new(limit: usize, patience: u64, opened: Py<PyAny>, explain: Py<PyAny>) -> Self {
        let record = Mutex::new(Record::new(limit));
        let known = Mutex::default();
        Self { start: Instant::now(), patience, opened, explain, record, known }
    }

    /// The time now.
    fn now(&self) -> u64 {
        self.time()
    }

    /// Begins to record.
    fn start(&self) {
        self.record().is_on = true;
    }

    /// Stops recording; the coroutines pass everything on from now on. Returns the time.
    fn stop(&self) -> u64 {
        let now = self.time();
        self.record().stop(now);
        now
    }

    #[getter]
    fn is_on(&self) -> bool {
        self.record().is_on
    }

    /// Whether the limit is reached.
    #[getter]
    fn is_full(&self) -> bool {
        self.record().is_full()
    }

    /// How many intervals were not kept because of the limit.
    #[getter]
    fn dropped(&self) -> u64 {
        self.record().dropped
    }

    /// The number of the lane that runs; None between the steps.
    #[getter]
    fn running_lane(&self) -> Option<u32> {
        self.record().running_lane()
    }

    /// The end of the last step of any lane.
    #[getter]
    fn last_end(&self) -> u64 {
        self.record().last_end()
    }

    /// Begins a lane.
    fn open(&self) -> u32 {
        let now = self.time();
        self.record().open(now)
    }

    /// Ends a lane.
    fn close(&self, lane: u32) {
        let now = self.time();
        self.record().close(lane, now);
    }

    /// When a lane began, and when it ended; None without an end.
    fn life(&self, lane: u32) -> Option<(u64, Option<u64>)> {
        self.record().life(lane)
    }

    /// A coroutine that does what `coroutine` does, and records its steps in a lane of its own.
    fn traced(slf: &Bound<'_, Self>, coroutine: Py<PyAny>) -> TracedCoroutine {
        let recorder = slf.get();
        let since = recorder.time();
        let lane = recorder.record().open(since);
        let wait = Wait { since, on: None, callback: None };
        let state = State { wait: Some(wait), has_begun: false };
        TracedCoroutine {
            lane,
            recorder: slf.clone().unbind(),
            inner: coroutine,
            state: Mutex::new(state),
        }
    }

    /// Tells whether a task is being made; returns what was told before.
    fn set_making(&self, is_making: bool) -> bool {
        self.record().set_making(is_making)
    }

    /// Begins a step at `since` of a task whose coroutine is not traced.
    fn enter(&self, lane: u32, since: u64) {
        self.record().enter_open_ended(lane, since);
    }

    /// Ends such a step, if another has not ended it; returns when it ended.
    fn leave(&self, lane: u32) -> u64 {
        let now = self.time();
        self.record().leave_open_ended(lane, now)
    }

    /// Adds an interval.
    fn add(&self, lane: u32, kind: u8, start: u64, end: u64) {
        self.record().add(lane, kind, start, end);
    }

    /// All intervals: lane, kind, start, end.
    fn intervals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let intervals = self.record().intervals.clone();
        PyList::new(py, intervals.iter().map(|one| (one.lane, one.kind, one.start, one.end)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.opened)?;
        visit.call(&self.explain)
    }
}

/// The wait of a suspended coroutine.
struct Wait {
    since: u64,
    /// The future; None before the first step, and where the coroutine only gave its turn.
    on: Option<Py<PyAny>>,
    /// The name of the future's first callback before the task's own. The future forgets it when it
    /// is done.
    callback: Option<Py<PyAny>>,
}

/// A wait as Python sees it.
type Pending = (u64, Option<Py<PyAny>>, Option<Py<PyAny>>);

struct State {
    wait: Option<Wait>,
    has_begun: bool,
}

/// A coroutine that passes everything to another one, and records its steps.
#[pyclass(frozen, weakref, module = "colonnade._core.timeline")]
pub(super) struct TracedCoroutine {
    lane: u32,
    recorder: Py<Recorder>,
    inner: Py<PyAny>,
    state: Mutex<State>,
}

impl TracedCoroutine {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    fn step<'py>(
        &self,
        py: Python<'py>,
        go_on: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (inner, recorder) = (self.inner.bind(py), self.recorder.get());
        if !recorder.record().is_on {
            let forgotten = self.state().wait.take();
            drop(forgotten);
            return go_on(inner);
        }
        let began = recorder.time();
        let interrupt = self.end_wait(py, recorder, began).err();
        let outer = recorder.record().enter(self.lane, began);
        let outcome = match interrupt {
            None => go_on(inner),
            Some(interrupt) => inner.call_method1(intern!(py, "throw"), (interrupt,)),
        };
        let ended = recorder.time();
        let mut record = recorder.record();
        record.leave(outer, ended);
        match &outcome {
            Ok(yielded) => {
                drop(record);
                self.begin_wait(yielded, ended);
            }
            Err(_) => record.close(self.lane, ended),
        }
        outcome
    }

    /// Records the wait. Fails only where Ctrl-C strikes meanwhile, which is the coroutine's.
    fn end_wait(&self, py: Python<'_>, recorder: &Recorder, now: u64) -> PyResult<()> {
        let (wait, is_first) = {
            let mut state = self.state();
            let is_first = !std::mem::replace(&mut state.has_begun, true);
            (state.wait.take(), is_first)
        };
        if is_first && let Err(error) = recorder.opened.bind(py).call1((self.lane,)) {
            report(error, recorder.opened.bind(py))?;
        }
        let Some(wait) = wait else { return Ok(()) };
        // A task that has not begun or has given its turn was ready all the time.
        let (kind, over) = if wait.on.is_none() {
            (LOOP_DELAY, now)
        } else if now.saturating_sub(wait.since) < recorder.patience {
            (UNKNOWN, now)
        } else {
            recorder.explained(py, self, &wait, now)?
        };
        recorder.record().add_wait(self.lane, kind, wait.since, over, now);
        Ok(())
    }

    fn begin_wait(&self, yielded: &Bound<'_, PyAny>, since: u64) {
        let on = (!yielded.is_none()).then(|| yielded.clone().unbind());
        let callback = on.is_some().then(|| first_callback(yielded)).flatten();
        self.state().wait = Some(Wait { since, on, callback });
    }
}

/// Reports an error of one of our own functions, which changes nothing for the traced program.
/// Returns Ctrl-C and the like, which are the program's.
fn report(error: PyErr, function: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = function.py();
    if !error.is_instance_of::<PyException>(py) {
        return Err(error);
    }
    error.write_unraisable(py, Some(function));
    Ok(())
}

/// When a wait that is explained by its place was over.
fn over_at_known_place(kind: u8, innermost: &Bound<'_, PyAny>, since: u64, now: u64) -> u64 {
    if kind != SLEEP {
        return now;
    }
    let frame = innermost.getattr(intern!(innermost.py(), "cr_frame"));
    frame.map_or(now, |frame| end_of_sleep(&frame, since, now))
}

/// When the sleep of `asyncio.sleep`'s frame was over; now if that cannot be told, or if it is over
/// for no longer than loops round their timers up.
#[pyfunction]
pub(super) fn end_of_sleep(frame: &Bound<'_, PyAny>, since: u64, now: u64) -> u64 {
    let py = frame.py();
    let locals = frame.getattr(intern!(py, "f_locals"));
    let delay = locals.and_then(|locals| locals.get_item(intern!(py, "delay")));
    let delay = delay.and_then(|delay| delay.extract::<f64>());
    delay.map_or(now, |delay| timeline::end_of_sleep(since, delay, now))
}

/// Where a coroutine is suspended, and the innermost coroutine that it awaits; None if that takes
/// more than a look at coroutines.
fn place_of<'py>(coroutine: &Bound<'py, PyAny>, wait: &Wait) -> Option<(Place, Bound<'py, PyAny>)> {
    let py = coroutine.py();
    let mut place = Place::default();
    let (mut innermost, mut awaited) = (coroutine.clone(), coroutine.clone());
    while let Some(code) = awaited.getattr_opt(intern!(py, "cr_code")).ok()? {
        innermost = awaited;
        awaited = innermost.getattr(intern!(py, "cr_await")).ok()?;
        if place.is_full() || awaited.is_none() {
            return None;
        }
        push(&mut place, code);
    }
    // A generator, or a step of one, awaits something that only Python's collector knows.
    if awaited.get_type().name().ok()? != "FutureIter" {
        return None;
    }
    push(&mut place, wait.on.as_ref()?.bind(py).get_type().into_any());
    if let Some(callback) = &wait.callback {
        push(&mut place, callback.bind(py).clone());
    }
    Some((place, innermost))
}

fn push(place: &mut Place, object: Bound<'_, PyAny>) {
    place.push(object.as_ptr().addr(), object.unbind());
}

/// The qualified name of the first function that a pending future calls when it is done.
fn first_callback(future: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
    let py = future.py();
    let callbacks = future.getattr(intern!(py, "_callbacks")).ok()?;
    if callbacks.is_none() {
        return None;
    }
    let first = callbacks.get_item(0).and_then(|first| first.get_item(0)).ok()?;
    first.getattr(intern!(py, "__qualname__")).ok().map(Bound::unbind)
}

#[pymethods]
impl TracedCoroutine {
    /// The number of its lane.
    #[getter]
    fn lane(&self) -> u32 {
        self.lane
    }

    /// The coroutine whose steps it records.
    fn traced_coroutine(&self, py: Python<'_>) -> Py<PyAny> {
        self.inner.clone_ref(py)
    }

    /// Its wait: since when, the future, and the name of its first callback.
    fn pending(&self, py: Python<'_>) -> Option<Pending> {
        let state = self.state();
        let wait = state.wait.as_ref()?;
        let shared = |one: &Option<Py<PyAny>>| one.as_ref().map(|one| one.clone_ref(py));
        Some((wait.since, shared(&wait.on), shared(&wait.callback)))
    }

    fn send<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        self.step(py, |inner| inner.call_method1(intern!(py, "send"), (value,)))
    }

    #[pyo3(signature = (*args))]
    fn throw<'py>(&self, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        self.step(py, |inner| inner.call_method1(intern!(py, "throw"), args))
    }

    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.inner.bind(py).call_method0(intern!(py, "close"))
    }

    fn __await__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.step(py, |inner| inner.call_method1(intern!(py, "send"), (py.None(),)))
    }

    fn __getattr__<'py>(&self, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.inner.bind(name.py()).getattr(name.str()?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.inner.bind(py).repr()?.to_string())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.recorder)?;
        visit.call(&self.inner)?;
        match self.state.try_lock() {
            Ok(state) => visit.call(state.wait.as_ref().and_then(|wait| wait.on.as_ref())),
            Err(_) => Ok(()),
        }
    }
}
