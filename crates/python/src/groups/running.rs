//! The groups of a stream of batches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use colonnade_columnar::{MadeColumn, concat_arrays};
use colonnade_compute::grouping::{
    Aggregate, Asked, GroupError, Nulls, Order, Partial, PendingGroups,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::MutexExt;

use super::results;
use super::{Wanted, attempted, group_error, key_rule, named, plain, position, types};
use crate::batch::Batch;

/// The groups of all batches that were added.
#[pyclass(frozen, module = "colonnade._core.groups")]
pub(super) struct RunningGroups {
    keys: Vec<PyBackedStr>,
    wanted: Vec<Wanted>,
    order: Order,
    nulls: Nulls,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The first batch without its rows: it has the types.
    like: Option<Py<Batch>>,
    groups: Option<PendingGroups>,
    rows: usize,
    has_failed: bool,
}

#[pymethods]
impl RunningGroups {
    /// ValueError for an unknown aggregate.
    #[new]
    fn new(
        keys: Vec<PyBackedStr>,
        wanted: Vec<Wanted>,
        sort: bool,
        drop_nulls: bool,
    ) -> PyResult<Self> {
        for (_, column, kind) in &wanted {
            if column.is_some() {
                let _ = named(kind)?;
            }
        }
        let order = if sort { Order::Sorted } else { Order::FirstSeen };
        let nulls = if drop_nulls { Nulls::Drop } else { Nulls::Group };
        Ok(Self { keys, wanted, order, nulls, state: Mutex::default() })
    }

    /// Adds the rows of a batch. KeyError with the name for a name that not exactly one column
    /// has, TypeError for a type without the aggregate, ValueError for other types than before.
    fn add(&self, py: Python<'_>, batch: Bound<'_, Batch>) -> PyResult<()> {
        let columns = batch.get();
        let mut keys = Vec::with_capacity(self.keys.len());
        let mut rules = Vec::with_capacity(self.keys.len());
        for name in &self.keys {
            let index = position(columns, name)?;
            rules.push(key_rule(columns, index, name, self.order == Order::Sorted)?);
            keys.push(plain(py, columns, index)?);
        }
        let mut asked = Vec::with_capacity(self.wanted.len());
        let mut values = Vec::with_capacity(self.wanted.len());
        for (_, column, kind) in &self.wanted {
            let of = match column {
                Some(name) => {
                    let (index, kind) = (position(columns, name)?, named(kind)?);
                    let described = columns.field(index)?;
                    types::check_aggregate(kind, described, name)?;
                    values.push(plain(py, columns, index)?);
                    Some((kind, types::rule(&described.pg_type)))
                }
                None => {
                    values.extend(keys.first().cloned());
                    None
                }
            };
            asked.push(Asked { of });
        }
        let mut state = self.locked(py);
        let state = &mut *state;
        state.check(py, columns, &self.names())?;
        if state.like.is_none() {
            let empty = columns.of_same(RecordBatch::new_empty(Arc::clone(columns.schema())));
            state.like = Some(Py::new(py, empty)?);
            let partial = Partial::new(rules, self.order, self.nulls, asked, concat_arrays);
            state.groups = Some(PendingGroups::new(partial));
        }
        let rows = columns.row_count();
        state.rows += rows;
        if state.groups.as_mut().is_some_and(|groups| groups.add(rows, keys, values)) {
            return attempted(py, state.pending_rows(), || state.flush())
                .map_err(|error| group_error(&error, &self.value_names()));
        }
        Ok(())
    }

    /// The keys and results of all rows so far; None before the first batch.
    fn result(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let mut state = self.locked(py);
        let state = &mut *state;
        if state.has_failed {
            return Err(failed());
        }
        let rows = state.pending_rows();
        let flushed = attempted(py, rows, || state.flush());
        flushed.map_err(|error| group_error(&error, &self.value_names()))?;
        let Some((like, groups)) = state.like.as_ref().zip(state.groups.as_ref()) else {
            return Ok(None);
        };
        let finished = attempted(py, groups.groups(), || groups.finished());
        let finished = finished.map_err(|error| group_error(&error, &self.value_names()))?;
        let Some((keys, results)) = finished else { return Ok(None) };
        let like = like.get();
        let mut described = Vec::with_capacity(keys.len() + results.len());
        for name in &self.keys {
            described.push(results::of_column(like, position(like, name)?)?);
        }
        for (result, column, kind) in &self.wanted {
            described.push(match column {
                None => MadeColumn::number(result),
                Some(column) => {
                    results::aggregate(like, position(like, column)?, named(kind)?, result)?
                }
            });
        }
        let groups = groups.groups();
        results::batch(like, described, keys.into_iter().chain(results).collect(), groups).map(Some)
    }

    /// The number of rows that were added, of groups without the pending rows, and of these.
    fn counts(&self, py: Python<'_>) -> (usize, usize, usize) {
        let state = self.locked(py);
        let groups = state.groups.as_ref().map_or(0, PendingGroups::groups);
        (state.rows, groups, state.pending_rows())
    }
}

impl RunningGroups {
    /// A thread that waits lets the interpreter go: the owner may need it to come to its end.
    fn locked(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// The columns that are used.
    fn names(&self) -> Vec<&PyBackedStr> {
        let values = self.wanted.iter().filter_map(|(_, column, _)| column.as_ref());
        self.keys.iter().chain(values).collect()
    }

    fn value_names(&self) -> String {
        let sums = self.wanted.iter().filter(|(_, _, kind)| {
            matches!(Aggregate::named(kind), Some(Aggregate::Sum | Aggregate::Mean))
        });
        let names = sums.filter_map(|(_, column, _)| column.as_ref().map(|name| &**name));
        names.collect::<Vec<_>>().join("\", \"")
    }
}

impl State {
    /// ValueError if a column that is used has another PostgreSQL type than before.
    fn check(&self, py: Python<'_>, batch: &Batch, names: &[&PyBackedStr]) -> PyResult<()> {
        if self.has_failed {
            return Err(failed());
        }
        let Some(like) = &self.like else { return Ok(()) };
        let like = like.bind(py).get();
        for name in names {
            let before = &like.field(position(like, name)?)?.pg_type.name;
            let now = &batch.field(position(batch, name)?)?.pg_type.name;
            if before != now {
                return Err(PyValueError::new_err(format!(
                    "the type of \"{name}\" is {now}, and was {before} in the batches before"
                )));
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), GroupError> {
        let Some(groups) = &mut self.groups else { return Ok(()) };
        let added = groups.flush();
        self.has_failed = added.is_err();
        added
    }

    fn pending_rows(&self) -> usize {
        self.groups.as_ref().map_or(0, PendingGroups::pending_rows)
    }
}

fn failed() -> PyErr {
    PyRuntimeError::new_err("an earlier batch has failed: begin with new PartialGroups")
}
