//! Records made together, column by column.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::class::RowClass;
use super::layout::{allocate, allocate_tuple, is_tracked, values_offset};
use super::names::RecordNames;

/// Rows being filled. No other code sees them before they are finished, not even the garbage
/// collector.
pub(crate) struct RecordBlock<'a> {
    py: Python<'a>,
    class: &'a RowClass,
    names: &'a Py<RecordNames>,
    /// The offset of the values in each record, in bytes.
    values_offset: usize,
    /// The number of values in each record.
    width: usize,
    /// The number of columns pushed, and so of values in each record.
    filled: usize,
    is_tracked: bool,
    /// Owned references.
    records: Vec<*mut ffi::PyObject>,
}

impl<'a> RecordBlock<'a> {
    /// A block without rows.
    pub(crate) fn new(py: Python<'a>, class: &'a RowClass, names: &'a Py<RecordNames>) -> Self {
        let shared = names.bind(py).get();
        let width = shared.len(py);
        let is_tracked = match class {
            RowClass::Record(class) => is_tracked(class, shared),
            // The empty tuple is a singleton and never tracked.
            RowClass::Tuple => width > 0 && !shared.is_atomic,
        };
        let (values_offset, records) = (values_offset(class), Vec::new());
        Self { py, class, names, values_offset, width, filled: 0, is_tracked, records }
    }

    /// Begins a block of `rows` rows; the previous ones were passed on.
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
                // SAFETY: the interpreter is attached.
                RowClass::Tuple => unsafe { allocate_tuple(self.width) },
            };
            if record.is_null() {
                return Err(PyErr::fetch(self.py));
            }
            self.records.push(record);
        }
        Ok(())
    }

    /// Gives each row its next value; if there are fewer values than rows, the last rows have None.
    /// An error comes with the row in the block.
    #[inline]
    pub(crate) fn push_column<E>(
        &mut self,
        values: impl Iterator<Item = Result<Py<PyAny>, E>>,
    ) -> Result<(), (usize, E)> {
        let column = self.filled;
        if column >= self.width {
            return Ok(());
        }
        // From here on the column may have values, so it must not be filled again.
        self.filled += 1;
        let mut values = values;
        for (row, record) in self.records.iter().enumerate() {
            let value = match values.next() {
                Some(value) => value.map_err(|error| (row, error))?,
                None => self.py.None(),
            };
            // SAFETY: no other code has seen the record; the slot is one of its `width`, and holds
            // a null pointer, because each column is filled once.
            unsafe {
                let values = record.byte_add(self.values_offset).cast::<*mut ffi::PyObject>();
                values.add(column).write(value.into_ptr());
            }
        }
        Ok(())
    }

    /// Appends the records to a list. Missing columns become None.
    pub(crate) fn finish_into(&mut self, list: &Bound<'_, PyList>) -> PyResult<()> {
        while self.filled < self.width {
            let nothing = std::iter::empty::<Result<Py<PyAny>, PyErr>>();
            self.push_column(nothing).map_err(|(_, error)| error)?;
        }
        for record in self.records.drain(..) {
            // SAFETY: the block owns the record, which is complete and not tracked yet.
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
            // SAFETY: the block owns the record; its destructor allows for missing values.
            unsafe { ffi::Py_DECREF(record) };
        }
    }
}
