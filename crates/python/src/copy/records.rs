//! The rows of a COPY FROM STDIN, from Python records.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use colonnade_columnar::encode::{RowEncoder, miscounted_row};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyIterator, PyList, PyString, PyTuple};

use crate::class_names;
use crate::errors;
use crate::locks::locked_at_once;
use crate::parameters::RowCells;
use crate::record::is_record;
use crate::values::classes;

/// A call holds the interpreter and the event loop for at most this long, plus one record.
const TURN: Duration = Duration::from_micros(800);

/// The clock is read once in this many records, because reading it costs more than a record.
const RECORDS_PER_LOOK: u64 = 8;

/// Encodes records as the data of a COPY, in chunks.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct RecordEncoder(Mutex<State>);

struct State {
    cells: RowCells,
    rows_done: u64,
    /// The data encoded and not yet sent.
    chunk: Vec<u8>,
}

impl RecordEncoder {
    pub(crate) fn new(cells: RowCells) -> Self {
        let mut chunk = Vec::new();
        RowEncoder::header(&mut chunk);
        Self(Mutex::new(State { cells, rows_done: 0, chunk }))
    }

    /// Passes the waiting data to `send`, and keeps its memory.
    pub(crate) fn send<T>(
        &self,
        py: Python<'_>,
        send: impl FnOnce(&[u8]) -> PyResult<T>,
    ) -> PyResult<T> {
        let mut state = self.lock(py)?;
        let sent = send(&state.chunk)?;
        state.chunk.clear();
        Ok(sent)
    }

    /// Users' code runs while a record is encoded, and must not call this encoder.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        let busy = || errors::interface(py, "another call is encoding records");
        locked_at_once(&self.0).ok_or_else(busy)
    }
}

#[pymethods]
impl RecordEncoder {
    /// Encodes records of an iterator until about `limit_bytes` wait to be sent, or nearly a
    /// millisecond has passed; returns False if the iterator is exhausted. An error names the
    /// column and the row, counted from 0.
    fn take(&self, records: &Bound<'_, PyIterator>, limit_bytes: usize) -> PyResult<bool> {
        let mut state = self.lock(records.py())?;
        let began = Instant::now();
        for record in records.clone() {
            state.append(&record?)?;
            let is_time = state.rows_done % RECORDS_PER_LOOK == 0 && began.elapsed() > TURN;
            if is_time || state.chunk.len() >= limit_bytes {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends the data.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        RowEncoder::trailer(&mut self.lock(py)?.chunk);
        Ok(())
    }

    /// The number of records encoded.
    #[getter]
    fn rows_done(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.rows_done)
    }
}

impl State {
    fn append(&mut self, record: &Bound<'_, PyAny>) -> PyResult<()> {
        // A table has at most 1600 columns.
        let count = self.cells.len() as u16;
        self.chunk.extend_from_slice(&count.to_be_bytes());
        if let Ok(tuple) = record.cast::<PyTuple>() {
            self.check_length(record, tuple.len())?;
            for (index, value) in tuple.iter_borrowed().enumerate() {
                self.cells.append(index, self.rows_done, &value, &mut self.chunk)?;
            }
        } else if let Ok(list) = record.cast::<PyList>() {
            self.check_length(record, list.len())?;
            for index in 0..self.cells.len() {
                let item = list.get_item(index).map_err(|_| self.changed(record))?;
                self.cells.append(index, self.rows_done, &item, &mut self.chunk)?;
            }
            if list.len() != self.cells.len() {
                return Err(self.changed(record));
            }
        } else {
            self.append_other(record)?;
        }
        self.rows_done += 1;
        Ok(())
    }

    /// Encodes a record of another class: a sequence, or a mapping by column name.
    fn append_other(&mut self, record: &Bound<'_, PyAny>) -> PyResult<()> {
        let is_text = record.is_instance_of::<PyString>()
            || record.is_instance_of::<PyBytes>()
            || record.is_instance_of::<PyByteArray>();
        let is_record = is_record(record);
        if !is_record && classes::MAPPING.is_instance(record)? {
            self.check_length(record, record.len()?)?;
            let names: Vec<String> = self.cells.names().map(str::to_owned).collect();
            for (index, name) in names.iter().enumerate() {
                let value = record.get_item(name).map_err(|error| {
                    let cause = format!("row {} has no value for column {name:?}", self.rows_done);
                    let refused = errors::encode(record.py(), &cause);
                    refused.set_cause(record.py(), Some(error));
                    refused
                })?;
                self.cells.append(index, self.rows_done, &value, &mut self.chunk)?;
            }
            return Ok(());
        }
        if is_text || !record.hasattr("__getitem__")? {
            let kind = class_names::full(&record.get_type());
            let text = format!(
                "row {} must be a sequence of values or a mapping of columns to values, not {kind}",
                self.rows_done
            );
            return Err(errors::encode(record.py(), &text));
        }
        self.check_length(record, record.len()?)?;
        for index in 0..self.cells.len() {
            let item = record.get_item(index).map_err(|error| {
                let refused = self.changed(record);
                refused.set_cause(record.py(), Some(error));
                refused
            })?;
            self.cells.append(index, self.rows_done, &item, &mut self.chunk)?;
        }
        Ok(())
    }

    /// The error if a value's methods or a codec have changed the record that holds the value.
    fn changed(&self, record: &Bound<'_, PyAny>) -> PyErr {
        let text =
            format!("row {}: its number of values changed while it was encoded", self.rows_done);
        errors::encode(record.py(), &text)
    }

    fn check_length(&self, record: &Bound<'_, PyAny>, length: usize) -> PyResult<()> {
        if length == self.cells.len() {
            return Ok(());
        }
        let text = miscounted_row(self.rows_done, length, self.cells.names());
        Err(errors::encode(record.py(), &text))
    }
}
