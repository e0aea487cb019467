//! `colonnade._core.groups`: groups of rows with equal keys, and their aggregates.

mod results;
mod running;
mod types;

use std::sync::OnceLock;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer as ArrowBuffer;
use arrow_schema::ArrowError;
use colonnade_columnar::{CellEncoding, MadeColumn, cells, contained};
use colonnade_compute::grouping::{
    Aggregate, GroupError, Groups, KeyColumn, KeyRule, Layout, Nulls, Order, aggregate, group,
    keys_of, layout, size,
};
use colonnade_compute::selection;
use colonnade_memory::filling;
use pyo3::exceptions::{PyKeyError, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::batch::Batch;
use crate::errors;
use crate::memory::buffer::Buffer;

/// From this number of rows on, the interpreter is released: below it, that costs more than the
/// work.
const RELEASED_ROWS_LEAST: usize = 4096;

/// The names of the module.
pub(crate) fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Grouping>()?;
    module.add_class::<running::RunningGroups>()
}

/// A result's name, the column that it is made of (none for the number of rows), and the name of
/// its aggregate.
type Wanted = (PyBackedStr, Option<PyBackedStr>, PyBackedStr);

/// The groups of a batch. Everything is made when it is first asked for.
#[pyclass(frozen, module = "colonnade._core.groups")]
struct Grouping {
    batch: Py<Batch>,
    keys: Vec<usize>,
    order: Order,
    nulls: Nulls,
    made: OnceLock<Result<Groups, String>>,
    layout: OnceLock<Layout>,
    /// The numbers of the groups, the rows by group and the offsets, as Python has them.
    views: [OnceLock<ArrowBuffer>; 3],
    /// All rows group by group.
    arranged: OnceLock<Py<Batch>>,
}

#[pymethods]
impl Grouping {
    /// KeyError with the name for a key that is not the name of one column.
    #[new]
    fn new(
        batch: Bound<'_, Batch>,
        names: Vec<PyBackedStr>,
        sort: bool,
        drop_nulls: bool,
    ) -> PyResult<Self> {
        let columns = batch.get();
        let keys =
            names.iter().map(|name| position(columns, name)).collect::<PyResult<Vec<_>>>()?;
        for (index, name) in keys.iter().zip(&names) {
            let _ = key_rule(columns, *index, name, sort)?;
        }
        Ok(Self {
            keys,
            order: if sort { Order::Sorted } else { Order::FirstSeen },
            nulls: if drop_nulls { Nulls::Drop } else { Nulls::Group },
            made: OnceLock::new(),
            layout: OnceLock::new(),
            views: [OnceLock::new(), OnceLock::new(), OnceLock::new()],
            arranged: OnceLock::new(),
            batch: batch.unbind(),
        })
    }

    /// The number of groups.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.groups(py)?.len())
    }

    /// The keys of each group, as columns.
    fn keys(&self, py: Python<'_>) -> PyResult<Batch> {
        self.results(py, Vec::new())
    }

    /// The number of each row's group as int32, -1 for a row without one.
    fn codes(&self, py: Python<'_>) -> PyResult<Buffer> {
        let groups = self.groups(py)?;
        let [codes, ..] = &self.views;
        let codes = codes.get_or_init(|| ArrowBuffer::from_vec(groups.codes.clone()));
        Ok(Buffer::new(codes.clone()))
    }

    /// The rows group by group as int64, and the place where each group begins, with the end of the
    /// last one.
    fn layout(&self, py: Python<'_>) -> PyResult<(Buffer, Buffer)> {
        let layout = self.made_layout(py)?;
        let [_, order, offsets] = &self.views;
        let order = order.get_or_init(|| {
            let end = layout.offsets.last().copied().unwrap_or_default();
            let known = layout.order.clone();
            ArrowBuffer::from_vec(
                known.unwrap_or_else(|| (0..u64::try_from(end).unwrap_or_default()).collect()),
            )
        });
        let offsets = offsets.get_or_init(|| ArrowBuffer::from_vec(layout.offsets.clone()));
        Ok((Buffer::new(order.clone()), Buffer::new(offsets.clone())))
    }

    /// All rows group by group: the batch itself if they are so already.
    fn arranged(&self, py: Python<'_>) -> PyResult<Py<Batch>> {
        if let Some(arranged) = self.arranged.get() {
            return Ok(arranged.clone_ref(py));
        }
        let arranged = match &self.made_layout(py)?.order {
            None => self.batch.clone_ref(py),
            Some(order) => {
                let batch = self.batch.get();
                let chunks = batch.chunks();
                let taken = attempted(py, order.len(), || selection::take(&chunks, order));
                Py::new(py, batch.of_same(taken.map_err(errors::runtime)?))?
            }
        };
        Ok(self.arranged.get_or_init(|| arranged).clone_ref(py))
    }

    /// The keys, and the same aggregate of several columns, which give the results their names.
    fn aggregate(&self, py: Python<'_>, kind: &str, names: Vec<PyBackedStr>) -> PyResult<Batch> {
        let kind = named(kind)?;
        let batch = self.batch.get();
        let wanted = names.iter().map(|name| Ok((&**name, Some((position(batch, name)?, kind)))));
        let wanted = wanted.collect::<PyResult<Vec<_>>>()?;
        self.results(py, wanted)
    }

    /// The keys, and aggregates of any columns.
    fn aggregates(&self, py: Python<'_>, wanted: Vec<Wanted>) -> PyResult<Batch> {
        let batch = self.batch.get();
        let one = |(result, column, kind): &'_ Wanted| {
            let of = column.as_ref().map(|column| Ok((position(batch, column)?, named(kind)?)));
            of.transpose().map(|of| (result.to_string(), of))
        };
        let wanted = wanted.iter().map(one).collect::<PyResult<Vec<_>>>()?;
        self.results(py, wanted.iter().map(|(name, of)| (name.as_str(), *of)).collect())
    }
}

impl Grouping {
    fn groups(&self, py: Python<'_>) -> PyResult<&Groups> {
        if self.made.get().is_none() {
            let batch = self.batch.get();
            let columns = self.keys.iter().map(|index| {
                let rule = key_rule(batch, *index, "", false)?;
                Ok((plain(py, batch, *index)?, rule))
            });
            let columns = columns.collect::<PyResult<Vec<_>>>()?;
            let rows = columns.first().map_or(0, |(column, _)| column.len());
            released(py, rows, || {
                let _ = self.made.get_or_init(|| {
                    contained(|| self.grouped(&columns)).map_err(|error| error.to_string())
                });
            });
        }
        match self.made.get() {
            Some(Ok(groups)) => Ok(groups),
            Some(Err(text)) => Err(PyValueError::new_err(text.clone())),
            None => Err(PyRuntimeError::new_err("no groups were made")),
        }
    }

    fn grouped(&self, columns: &[(ArrayRef, KeyRule)]) -> Result<Groups, GroupError> {
        let keys = columns.iter().map(|(column, rule)| KeyColumn::of(column, *rule));
        group(&keys.collect::<Result<Vec<_>, _>>()?, self.order, self.nulls)
    }

    fn made_layout(&self, py: Python<'_>) -> PyResult<&Layout> {
        let groups = self.groups(py)?;
        let layout =
            || released(py, groups.codes.len(), || self.layout.get_or_init(|| layout(groups)));
        Ok(self.layout.get().unwrap_or_else(layout))
    }

    /// The keys, and one column for each result.
    fn results(
        &self,
        py: Python<'_>,
        wanted: Vec<(&str, Option<(usize, Aggregate)>)>,
    ) -> PyResult<Batch> {
        let batch = self.batch.get();
        for (name, of) in &wanted {
            if let Some((index, kind)) = of {
                types::check_aggregate(*kind, batch.field(*index)?, name)?;
            }
        }
        let groups = self.groups(py)?;
        let rows = groups.codes.len();
        let mut described = Vec::with_capacity(self.keys.len() + wanted.len());
        let mut columns = Vec::with_capacity(self.keys.len() + wanted.len());
        for index in &self.keys {
            let column = batch.array(py, *index)?;
            let keys = attempted(py, rows, || keys_of(&column, groups));
            columns.push(keys.map_err(|error| group_error(&error, ""))?);
            described.push(results::of_column(batch, *index)?);
        }
        for (name, of) in wanted {
            let Some((index, kind)) = of else {
                columns.push(released(py, rows, || size(groups)));
                described.push(MadeColumn::number(name));
                continue;
            };
            let rule = types::rule(&batch.field(index)?.pg_type);
            let column = match kind {
                Aggregate::Min | Aggregate::Max | Aggregate::Distinct => plain(py, batch, index)?,
                _ => batch.array(py, index)?,
            };
            let made = attempted(py, rows, || aggregate(kind, &column, rule, groups));
            columns.push(made.map_err(|error| group_error(&error, name))?);
            described.push(results::aggregate(batch, index, kind, name)?);
        }
        results::batch(batch, described, columns, groups.len())
    }
}

/// Runs work on `rows` rows, without the interpreter if they are many.
fn released<T: Send>(py: Python<'_>, rows: usize, work: impl FnOnce() -> T + Send) -> T {
    if rows < RELEASED_ROWS_LEAST { work() } else { py.detach(|| filling(work)) }
}

/// As `released`, for work on columns that may be of others.
fn attempted<T: Send, E: From<ArrowError> + Send>(
    py: Python<'_>,
    rows: usize,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, E> {
    released(py, rows, || contained(work))
}

fn named(kind: &str) -> PyResult<Aggregate> {
    Aggregate::named(kind).ok_or_else(|| {
        let known = types::listed(&Aggregate::ALL);
        PyValueError::new_err(format!("there is no aggregate {kind:?}: there are {known}"))
    })
}

/// The place of the only column of that name.
fn position(batch: &Batch, name: &PyBackedStr) -> PyResult<usize> {
    let mut found = batch.result_columns().iter().enumerate();
    let mut next = || found.find(|(_, field)| *field.name == **name).map(|(index, _)| index);
    match (next(), next()) {
        (Some(index), None) => Ok(index),
        _ => Err(PyKeyError::new_err(name.to_string())),
    }
}

fn key_rule(batch: &Batch, index: usize, name: &str, sort: bool) -> PyResult<KeyRule> {
    let field = batch.field(index)?;
    types::check_key(field, name, sort)?;
    Ok(types::rule(&field.pg_type))
}

/// A column with cells as the text or bytes that they hold.
fn plain(py: Python<'_>, batch: &Batch, index: usize) -> PyResult<ArrayRef> {
    let array = batch.array(py, index)?;
    let encoding = batch.schema().fields().get(index).and_then(|field| CellEncoding::of(field));
    Ok(match (encoding, array.as_any().downcast_ref()) {
        (Some(encoding), Some(texts)) => cells::plain(texts, encoding),
        _ => array,
    })
}

fn group_error(error: &GroupError, name: &str) -> PyErr {
    match error {
        GroupError::Overflow { kind: "int64" } => PyOverflowError::new_err(format!(
            "the sum of a group of \"{name}\" exceeds int64: select the column as numeric"
        )),
        GroupError::Overflow { .. } => PyOverflowError::new_err(format!("\"{name}\": {error}")),
        GroupError::Refused { .. } => PyTypeError::new_err(format!("\"{name}\": {error}")),
        _ => errors::runtime(error),
    }
}
