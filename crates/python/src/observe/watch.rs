//! `colonnade._core.watch`: the watchdog of event loops, as Python sees it.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use colonnade_watch::{Cause, Interpreter, Look, Settings, StackSample, Stall, Stalls, Watch};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::locks::locked;

/// How often each duration occurred, to 1 % of its value. All times are in seconds.
#[pyclass(frozen, module = "colonnade._core.watch")]
struct DurationHistogram {
    inner: colonnade_watch::DurationHistogram,
}

#[pymethods]
impl DurationHistogram {
    /// How many durations there are.
    #[getter]
    fn count(&self) -> u64 {
        self.inner.count()
    }

    /// The longest duration; 0 without any.
    #[getter]
    fn max(&self) -> f64 {
        self.inner.max().as_secs_f64()
    }

    /// The mean duration; 0 without any.
    #[getter]
    fn mean(&self) -> f64 {
        self.inner.mean().as_secs_f64()
    }

    /// The duration that this many per cent of all do not exceed; 0 without any.
    fn percentile(&self, percent: f64) -> PyResult<f64> {
        if !(0.0..=100.0).contains(&percent) {
            return Err(PyValueError::new_err(format!(
                "percent must be from 0 to 100, not {percent}"
            )));
        }
        Ok(self.inner.quantile(percent / 100.0).as_secs_f64())
    }

    /// For each bound, how many durations are not longer.
    fn buckets(&self, bounds: Vec<f64>) -> PyResult<Vec<u64>> {
        bounds
            .into_iter()
            .map(|bound| Ok(self.inner.count_up_to(seconds("a bound", bound)?)))
            .collect()
    }

    /// The durations that were added since `earlier`, a former state of the same histogram.
    fn since(&self, earlier: &Self) -> Self {
        Self { inner: self.inner.since(&earlier.inner) }
    }

    fn __repr__(&self) -> String {
        format!("<DurationHistogram: {}>", self.inner)
    }
}

/// The counters of a stall. All times are in seconds.
#[pyclass(frozen, get_all, module = "colonnade._core.watch")]
struct Evidence {
    lag: f64,
    running: f64,
    queued: Option<f64>,
    slices: Option<u64>,
    others: f64,
    collecting: f64,
    decoding: f64,
    stopped: f64,
    interpreter_wait: Option<f64>,
}

#[pymethods]
impl Evidence {
    fn __repr__(&self) -> String {
        let ms = |time: f64| format!("{:.1} ms", time * 1e3);
        let told = |time: Option<f64>| time.map_or_else(|| "unknown".to_owned(), ms);
        format!(
            "<Evidence: lag {}, running {}, without processor {}, {} slices, other threads {}, \
             collecting {}, decoding {}, process stopped {}, wait for the interpreter {}>",
            ms(self.lag),
            ms(self.running),
            told(self.queued),
            self.slices.map_or_else(|| "unknown".to_owned(), |slices| slices.to_string()),
            ms(self.others),
            ms(self.collecting),
            ms(self.decoding),
            ms(self.stopped),
            told(self.interpreter_wait),
        )
    }
}

impl From<colonnade_watch::Evidence> for Evidence {
    fn from(evidence: colonnade_watch::Evidence) -> Self {
        Self {
            lag: evidence.lag.as_secs_f64(),
            running: evidence.running.as_secs_f64(),
            queued: evidence.queued.as_ref().map(Duration::as_secs_f64),
            slices: evidence.slices,
            others: evidence.others.as_secs_f64(),
            collecting: evidence.collecting.as_secs_f64(),
            decoding: evidence.decoding.as_secs_f64(),
            stopped: evidence.stopped.as_secs_f64(),
            interpreter_wait: evidence.interpreter_wait.as_ref().map(Duration::as_secs_f64),
        }
    }
}

/// The counters of a watch since it began. All times are in seconds.
#[pyclass(frozen, get_all, module = "colonnade._core.watch")]
struct Totals {
    wall: f64,
    idle: Option<f64>,
    running: f64,
    queued: Option<f64>,
    asleep: f64,
    stalled: f64,
    beats: u64,
    lag_total: f64,
    lag: Py<DurationHistogram>,
    collecting: f64,
    pauses: Py<DurationHistogram>,
    /// Number and seconds of the stalls, by cause.
    stalls: Py<PyDict>,
}

impl Totals {
    fn of(py: Python<'_>, totals: colonnade_watch::Totals) -> PyResult<Self> {
        let stalls = PyDict::new(py);
        for (cause, (count, time)) in Cause::ALL.iter().zip(totals.stalls) {
            stalls.set_item(cause.name(), (count, time.as_secs_f64()))?;
        }
        Ok(Self {
            wall: totals.wall.as_secs_f64(),
            idle: totals.idle.as_ref().map(Duration::as_secs_f64),
            running: totals.running.as_secs_f64(),
            queued: totals.queued.as_ref().map(Duration::as_secs_f64),
            asleep: totals.asleep.as_secs_f64(),
            stalled: totals.stalled.as_secs_f64(),
            beats: totals.beats,
            lag_total: totals.lag_total.as_secs_f64(),
            lag: Py::new(py, DurationHistogram { inner: totals.lag })?,
            collecting: totals.collecting.as_secs_f64(),
            pauses: Py::new(py, DurationHistogram { inner: totals.pauses })?,
            stalls: stalls.unbind(),
        })
    }
}

/// A selector's `select`, which tells the watch when it waits.
#[pyclass(frozen, module = "colonnade._core.watch")]
struct TimedSelect {
    watch: Arc<Watch>,
    select: Py<PyAny>,
}

#[pymethods]
impl TimedSelect {
    /// The `select` from before.
    #[getter]
    fn select(&self, py: Python<'_>) -> Py<PyAny> {
        self.select.clone_ref(py)
    }

    /// Whether its watch was stopped.
    #[getter]
    fn is_over(&self) -> bool {
        self.watch.is_stopped()
    }

    #[pyo3(signature = (*args))]
    fn __call__<'py>(&self, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        self.watch.enter_select();
        let outcome = self.select.bind(args.py()).call1(args);
        self.watch.leave_select();
        outcome
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.select)
    }
}

/// The watch of one event loop, made and started in the loop's thread.
///
/// `see(is_over, holder)` is called in the watchdog's thread, and returns the stack of a stall,
/// None if the loop does not run, or False if it never will again. `holder` is the native id of
/// the thread that probably holds the interpreter.
#[pyclass(frozen, module = "colonnade._core.watch")]
struct LoopWatch {
    watch: Arc<Watch>,
    see: Py<PyAny>,
    thread: Mutex<Option<JoinHandle<()>>>,
    stalls: Mutex<Option<Stalls<Py<PyAny>>>>,
}

#[pymethods]
impl LoopWatch {
    #[new]
    fn new(interval: f64, threshold: f64, switch_interval: f64, see: Py<PyAny>) -> PyResult<Self> {
        let settings = Settings {
            interval: seconds("interval", interval)?,
            threshold: seconds("threshold", threshold)?,
            switch_interval: seconds("switch_interval", switch_interval)?,
        };
        let watch = Arc::new(Watch::of_this_thread(settings)?);
        Ok(Self { watch, see, thread: Mutex::default(), stalls: Mutex::default() })
    }

    /// The descriptor that the loop watches for reading; `beat` is its callback.
    fn fileno(&self) -> i32 {
        self.watch.fileno()
    }

    /// Answers the watchdog's ping.
    fn beat(&self) {
        self.watch.beat();
    }

    /// A callback of `gc.callbacks`.
    fn collector(&self, phase: &str, info: &Bound<'_, PyAny>) {
        // The collector's findings are of no interest here.
        let _ = info;
        if phase == "start" {
            self.watch.begin_pause();
        } else {
            self.watch.end_pause();
        }
    }

    /// A `select` that tells the watch when it waits.
    fn timed(&self, select: Py<PyAny>) -> TimedSelect {
        TimedSelect { watch: Arc::clone(&self.watch), select }
    }

    /// Starts the watchdog.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        let mut thread = locked(&self.thread);
        if thread.is_some() {
            return Err(PyRuntimeError::new_err("the watchdog was started before"));
        }
        let (started, stalls) = self.watch.start(Attached { see: self.see.clone_ref(py) })?;
        *thread = Some(started);
        *locked(&self.stalls) = Some(stalls);
        Ok(())
    }

    /// Waits for the next stall that is over: its cause, seconds, seconds since its end, the
    /// counters, and the stacks. None once the watchdog has ended. For one thread at a time.
    fn next_stall(&self, py: Python<'_>) -> PyResult<Option<Py<PyTuple>>> {
        let stall = py.detach(|| {
            let stalls = locked(&self.stalls);
            stalls.as_ref().and_then(|stalls| stalls.recv().ok())
        });
        stall.map(|stall| told(py, stall)).transpose()
    }

    /// In a forked child: leaves the pings to the parent, whatever is called later.
    fn leave_to_parent(&self) {
        self.watch.leave_to_parent();
    }

    /// Ends the watchdog, and waits for that.
    fn stop(&self, py: Python<'_>) {
        self.watch.stop();
        let thread = locked(&self.thread).take();
        if let Some(thread) = thread {
            // The watchdog may wait for the interpreter. A panic of its was printed by itself.
            let _ = py.detach(|| thread.join());
        }
    }

    /// The counters so far.
    fn totals(&self, py: Python<'_>) -> PyResult<Totals> {
        Totals::of(py, self.watch.totals())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.see)
    }
}

/// The interpreter, to which the watchdog's thread attaches when it needs it.
struct Attached {
    see: Py<PyAny>,
}

impl Interpreter for Attached {
    type Stack = Py<PyAny>;

    fn take_stack(&mut self, look: &mut dyn FnMut() -> Look) -> StackSample<Py<PyAny>> {
        let sample = Python::try_attach(|py| {
            let Look { is_over, holder } = look();
            match self.see.call1(py, (is_over, holder)) {
                Ok(seen) if seen.is_none(py) => StackSample::NotRunning,
                Ok(seen) if seen.bind(py).is_instance_of::<PyBool>() => StackSample::Gone,
                Ok(seen) => StackSample::Taken(seen),
                Err(error) => {
                    error.write_unraisable(py, Some(self.see.bind(py)));
                    StackSample::Nothing
                }
            }
        });
        sample.unwrap_or(StackSample::Gone)
    }
}

fn told(py: Python<'_>, stall: Stall<Py<PyAny>>) -> PyResult<Py<PyTuple>> {
    let stacks = stall
        .stacks
        .into_iter()
        .map(|taken| (taken.at.as_secs_f64(), taken.waited.as_secs_f64(), taken.stack));
    let stacks = PyList::new(py, stacks.collect::<Vec<_>>())?;
    let (duration, ended) = (stall.duration.as_secs_f64(), stall.ended.elapsed().as_secs_f64());
    let evidence = Evidence::from(stall.evidence);
    let told = (stall.cause.name(), duration, ended, evidence, stacks).into_pyobject(py)?;
    Ok(told.unbind())
}

fn seconds(name: &str, given: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(given).map_err(|_| {
        PyValueError::new_err(format!("{name} must be a number of seconds from 0 on, not {given}"))
    })
}

/// Fills the module `watch`.
pub(crate) fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DurationHistogram>()?;
    module.add_class::<Evidence>()?;
    module.add_class::<LoopWatch>()?;
    module.add_class::<TimedSelect>()?;
    module.add_class::<Totals>()
}
