//! Records that are made together, column by column.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::class::RowClass;
use super::layout::{allocate, allocate_tuple, is_tracked, values_offset};
use super::names::RecordNames;

/// Rows that get their values. Nobody sees them before they are finished, not even the garbage
/// collector.
pub(crate) struct RecordBlock<'a> {
    py: Python<'a>,
    class: &'a RowClass,
    names: &'a Py<RecordNames>,
    /// Where the values lie in each record, in bytes from its beginning.
    values_offset: usize,
    /// Values of each record.
    width: usize,
    /// Columns that were pushed: so many values of each record are there.
    filled: usize,
    is_tracked: bool,
    /// Each owned.
    records: Vec<*mut ffi::PyObject>,
}

impl<'a> RecordBlock<'a> {
    /// A block without rows.
    pub(crate) fn new(py: Python<'a>, class: &'a RowClass, names: &'a Py<RecordNames>) -> Self {
        let shared = names.bind(py).get();
        let width = shared.len(py);
        let is_tracked = match class {
            RowClass::Record(class) => is_tracked(class, shared),
            // The empty tuple is one for all, and never tracked.
            RowClass::Tuple => width > 0 && !shared.is_atomic,
        };
        let (values_offset, records) = (values_offset(class), Vec::new());
        Self { py, class, names, values_offset, width, filled: 0, is_tracked, records }
    }

    /// Begins so many rows; those before were handed over.
    pub(crate) fn begin(&mut self, rows: usize) -> PyResult<()> {
        self.filled = 0;
        self.records.reserve(rows);
        for _ in 0..rows {
            let record = match self.class {
                // SAFETY: the names are a `RecordNames` of `width` names.
                RowClass::Record(class) => unsafe {
                    allocate(class, self.names.as_ptr(), self.width)
                },
                RowClass::Tuple if self.width == 0 => PyTuple::empty(self.py).into_ptr(),
                // SAFETY: a token of the interpreter is here.
                RowClass::Tuple => unsafe { allocate_tuple(self.width) },
            };
            if record.is_null() {
                return Err(PyErr::fetch(self.py));
            }
            self.records.push(record);
        }
        Ok(())
    }

    /// Gives each row its next value; of fewer values than rows, the last rows have None. The error
    /// comes with the row in the block.
    #[inline]
    pub(crate) fn push_column<E>(
        &mut self,
        values: impl Iterator<Item = Result<Py<PyAny>, E>>,
    ) -> Result<(), (usize, E)> {
        let column = self.filled;
        if column >= self.width {
            return Ok(());
        }
        // From here on the column may have values, and is not begun again.
        self.filled += 1;
        let mut values = values;
        for (row, record) in self.records.iter().enumerate() {
            let value = match values.next() {
                Some(value) => value.map_err(|error| (row, error))?,
                None => self.py.None(),
            };
            // SAFETY: nobody else has seen the record; the place is one of its `width`, and holds a
            // null pointer, since each column is filled once.
            unsafe {
                let values = record.byte_add(self.values_offset).cast::<*mut ffi::PyObject>();
                values.add(column).write(value.into_ptr());
            }
        }
        Ok(())
    }

    /// Appends the records to a list. Columns that were not pushed have None.
    pub(crate) fn finish_into(&mut self, list: &Bound<'_, PyList>) -> PyResult<()> {
        while self.filled < self.width {
            let nothing = std::iter::empty::<Result<Py<PyAny>, PyErr>>();
            self.push_column(nothing).map_err(|(_, error)| error)?;
        }
        for record in self.records.drain(..) {
            // SAFETY: the record is owned by the block and whole, and is not tracked yet.
            let record = unsafe {
                if self.is_tracked {
                    ffi::PyObject_GC_Track(record.cast());
                }
                Bound::from_owned_ptr(self.py, record)
            };
            list.append(record)?;
        }
        Ok(())
    }
}

impl Drop for RecordBlock<'_> {
    fn drop(&mut self) {
        for record in self.records.drain(..) {
            // SAFETY: the record is owned by the block; that it may lack values is allowed for.
            unsafe { ffi::Py_DECREF(record) };
        }
    }
}
