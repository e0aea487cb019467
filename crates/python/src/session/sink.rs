//! The sinks that Python can request.

use std::collections::VecDeque;
use std::sync::Arc;

use colonnade_columnar::ResultColumn;
use colonnade_protocol::{DataRows, Format};
use colonnade_session::{Gathering, RECEIVE_CAPACITY_BYTES, ResultBatch, Sink, SinkError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::query::column_sink;
use crate::held::HeldSink;
use crate::rows::RecordSink;

/// The destination of a query's rows.
pub(crate) enum RowSink {
    /// Columns.
    Columns(Box<Gathering>),
    /// A list of records.
    Records(RecordSink),
    /// Undecided: the rows are kept as they came.
    Held(HeldSink),
    /// None: only the command tag is wanted.
    Nowhere,
}

impl RowSink {
    /// A sink for a statement's columns, which become one batch.
    pub(super) fn columns(
        py: Python<'_>,
        statement: &colonnade_session::Statement,
        schema: Option<&Bound<'_, PyDict>>,
        infinity: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let columns = &statement.columns;
        let sink = column_sink(py, columns, schema, infinity, None)?;
        Ok(Self::Columns(Box::new(Gathering::of(sink, columns))))
    }
}

impl Sink for RowSink {
    type Batch = ResultBatch;

    fn formats(&self) -> Option<Vec<Format>> {
        match self {
            Self::Columns(gathering) => Some(gathering.formats()),
            Self::Records(sink) => Some(sink.formats()),
            Self::Held(sink) => Some(sink.formats()),
            Self::Nowhere => None,
        }
    }

    fn is_whole(&self) -> bool {
        match self {
            Self::Columns(gathering) => gathering.is_whole(),
            Self::Records(_) | Self::Held(_) | Self::Nowhere => true,
        }
    }

    fn read_bytes(&self) -> usize {
        match self {
            Self::Records(sink) => sink.read_bytes(),
            Self::Columns(..) | Self::Held(_) | Self::Nowhere => RECEIVE_CAPACITY_BYTES,
        }
    }

    fn renewed(&self, columns: &Arc<[ResultColumn]>) -> Result<Self, SinkError> {
        Ok(match self {
            Self::Columns(gathering) => {
                let renewed = gathering.renewed(columns);
                let foreign = |error| SinkError::Foreign(Box::new(error));
                Self::Columns(Box::new(renewed.map_err(foreign)?))
            }
            Self::Records(sink) => Self::Records(sink.renewed(columns)?),
            Self::Held(sink) => Self::Held(sink.renewed(columns)?),
            Self::Nowhere => Self::Nowhere,
        })
    }

    fn rows(
        &mut self,
        rows: DataRows<'_>,
        batches: &mut VecDeque<ResultBatch>,
    ) -> Result<(), SinkError> {
        match self {
            Self::Columns(gathering) => gathering.rows(rows, batches),
            Self::Records(sink) => sink.rows(rows),
            Self::Held(sink) => sink.rows(rows),
            Self::Nowhere => Ok(()),
        }
    }

    fn finish(&mut self, batches: &mut VecDeque<ResultBatch>) -> Result<(), SinkError> {
        match self {
            Self::Columns(gathering) => gathering.finish(batches),
            Self::Records(_) | Self::Held(_) | Self::Nowhere => Ok(()),
        }
    }
}
