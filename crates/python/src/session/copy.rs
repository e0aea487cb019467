//! COPY, in both directions.

use std::sync::Arc;

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::{Core, Session};
use crate::copy::column::ArrowColumn;
use crate::copy::records::RecordEncoder;
use crate::copy::rows::CopyEncoder;
use crate::memory::foreign_buffer::copied;
use crate::parameters::{CellPlace, RowCells};
use crate::types::codecs::{Codecs, Dates};
use crate::types::pg_type::PgType;
use crate::{errors, parameters};

/// The largest piece of COPY data in one message; a message is smaller than 1 GiB.
const PIECE_BYTES: usize = 16 * 1024 * 1024;

impl Session {
    /// Sends COPY data of any length. Returns the number of bytes waiting to be written to the
    /// socket; `None` if the server has refused the copy.
    fn send_pieces(&self, py: Python<'_>, data: &[u8]) -> PyResult<Option<usize>> {
        let core = &mut self.lock(py)?.core;
        for piece in data.chunks(PIECE_BYTES) {
            core.copy_data(piece).map_err(|error| errors::of_session(py, error))?;
        }
        Ok(core.copy_waiting())
    }
}

#[pymethods]
impl Session {
    /// Begins a COPY ... FROM STDIN; a CopyIn event says when data may be sent.
    fn copy_in(&self, py: Python<'_>, sql: &str) -> PyResult<()> {
        self.begin(py, |core| core.copy_in(sql))
    }

    /// Begins a COPY ... TO STDOUT; its data comes as bytes.
    fn copy_out(&self, py: Python<'_>, sql: &str) -> PyResult<()> {
        self.begin(py, |core| core.copy_out(sql))
    }

    /// Sends COPY data (any bytes-like object). Returns the number of bytes waiting to be written
    /// to the socket; None if the server has refused the copy.
    fn copy_data(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        if let Ok(bytes) = data.cast::<PyBytes>() {
            return self.send_pieces(py, bytes.as_bytes());
        }
        self.send_pieces(py, &copied(&PyBuffer::<u8>::get(data)?, py)?)
    }

    /// Sends the encoder's next chunk of COPY data. Returns the number of bytes waiting to be
    /// written to the socket; 0 if the source is exhausted, None if the server has refused the
    /// copy.
    fn copy_rows(
        &self,
        py: Python<'_>,
        encoder: &CopyEncoder,
        limit_bytes: usize,
    ) -> PyResult<Option<usize>> {
        let mut made = Ok(false);
        let mut waiting = 0;
        let is_taken = self.lock(py)?.core.copy_data_with(|out| {
            made = encoder.append(py, out, limit_bytes);
            waiting = out.len();
            matches!(made, Ok(true))
        });
        match (is_taken.map_err(|error| errors::of_session(py, error))?, made?) {
            (false, _) => Ok(None),
            (true, false) => Ok(Some(0)),
            (true, true) => Ok(Some(waiting)),
        }
    }

    /// An encoder of records for a COPY into columns of these names and types.
    fn record_encoder(
        &self,
        py: Python<'_>,
        columns: Vec<(String, PyRef<'_, PgType>)>,
    ) -> PyResult<RecordEncoder> {
        let columns = columns.into_iter().map(|(name, kind)| (name, Arc::clone(&kind.0)));
        let codecs = Arc::clone(&self.lock(py)?.codecs);
        Ok(RecordEncoder::new(RowCells::new(columns.collect(), codecs)))
    }

    /// Sends the encoded records; returns as `copy_data`.
    fn copy_records(&self, py: Python<'_>, encoder: &RecordEncoder) -> PyResult<Option<usize>> {
        encoder.send(py, |bytes| self.send_pieces(py, bytes))
    }

    /// The encoded cells of a column of Python values. An error names the column and the row,
    /// counted from `first_row`.
    fn encode_column(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyList>,
        pg_type: &PgType,
        column: &str,
        first_row: u64,
        nan_as_null: bool,
    ) -> PyResult<ArrowColumn> {
        // Columns are no part of asyncpg.
        let codecs = Codecs::with_dates(&self.lock(py)?.codecs, Dates::Exact);
        let place = CellPlace { column, first_row };
        parameters::encode_cells(py, &pg_type.0, &codecs, values, &place, nan_as_null)
            .map(ArrowColumn)
    }

    /// Ends the COPY data.
    fn copy_done(&self, py: Python<'_>) -> PyResult<()> {
        self.tell(py, Core::copy_done)
    }

    /// Aborts the COPY; the server's error quotes the reason.
    fn copy_fail(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        self.begin(py, |core| core.copy_fail(reason))
    }
}
