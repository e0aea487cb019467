//! Python values as the cells of copied rows.

use std::sync::Arc;

use colonnade_columnar::{Kind, Type};
use colonnade_protocol::Format;
use colonnade_protocol::frontend::EncodedParams;
use pyo3::prelude::*;

use super::plain::Plain;
use super::{NULL_LENGTH, push_as_text, push_binary};
use crate::types::codecs::{Codecs, NaiveMoments};

/// The columns of the rows, each with its encoder.
pub(crate) struct RowCells {
    columns: Vec<Column>,
    codecs: Arc<Codecs>,
    /// The memory of a cell that was encoded as a parameter.
    cell: EncodedParams,
}

struct Column {
    name: String,
    pg_type: Arc<Type>,
    plain: Option<Plain>,
}

impl RowCells {
    pub(crate) fn new(columns: Vec<(String, Arc<Type>)>, codecs: Arc<Codecs>) -> Self {
        let column = |(name, pg_type): (String, Arc<Type>)| {
            // The fast path does not check for a time zone.
            let is_checked = codecs.naive_moments() == NaiveMoments::Refused
                && pg_type.kind() == Some(Kind::TimestampTz);
            let plain = if is_checked { None } else { Plain::of(&pg_type) };
            Column { name, pg_type, plain }
        };
        let columns = columns.into_iter().map(column).collect();
        Self { columns, codecs, cell: EncodedParams::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Appends the cell of a column; an error names the column and the row.
    pub(crate) fn append(
        &mut self,
        index: usize,
        row: u64,
        value: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
    ) -> PyResult<()> {
        let Some(column) = self.columns.get(index) else { return Ok(()) };
        if value.is_none() {
            out.extend_from_slice(&NULL_LENGTH);
            return Ok(());
        }
        if column.plain.is_some_and(|plain| plain.append(value, self.codecs.dates(), out)) {
            return Ok(());
        }
        self.cell.clear();
        let push = match column.pg_type.parameter_format() {
            Format::Text => push_as_text,
            Format::Binary => push_binary,
        };
        match push(&mut self.cell, &column.pg_type, &self.codecs, value) {
            Ok(()) => {
                out.extend_from_slice(self.cell.bytes());
                Ok(())
            }
            Err(refusal) => {
                let (name, type_name) = (&column.name, &column.pg_type.name);
                Err(refusal.into_cell_error(value.py(), name, row, type_name, value))
            }
        }
    }
}
