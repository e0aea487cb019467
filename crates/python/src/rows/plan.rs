//! A statement's plan for making rows: worked out once and kept as long as the statement, because
//! the work takes as long as a query for one row.

use std::sync::Arc;

use colonnade_columnar::{ResultColumn, Type};
use colonnade_protocol::Format;
use colonnade_session::SinkError;
use pyo3::prelude::*;

use super::foreign;
use crate::record::{RecordNames, RowClass};
use crate::types::codecs::Codecs;
use crate::values::Maker;

/// How the rows of one result become records of a class.
pub(crate) struct RowMaker {
    pub(crate) columns: Arc<[ResultColumn]>,
    pub(crate) plan: Arc<RowPlan>,
    pub(crate) codecs: Arc<Codecs>,
    pub(crate) class: RowClass,
}

impl RowMaker {
    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        let (columns, plan) = (Arc::clone(&self.columns), Arc::clone(&self.plan));
        Self { columns, plan, codecs: Arc::clone(&self.codecs), class: self.class.clone_ref(py) }
    }

    /// The same for refined columns.
    pub(crate) fn renewed(
        &self,
        py: Python<'_>,
        columns: &Arc<[ResultColumn]>,
    ) -> Result<Self, SinkError> {
        let plan = Arc::new(RowPlan::new(py, columns).map_err(foreign)?);
        Ok(Self { columns: Arc::clone(columns), plan, ..self.clone_ref(py) })
    }
}

/// How a statement's rows become records.
pub(crate) struct RowPlan {
    pub(super) names: Py<RecordNames>,
    pub(super) columns: Vec<PlannedColumn>,
    /// Whether a long value is as quickly made as a short one, but for the copy of its bytes.
    pub(super) is_even: bool,
}

/// How a column's values become objects.
pub(super) struct PlannedColumn {
    /// The column's type as rows read it.
    pub(super) pg_type: Arc<Type>,
    pub(super) maker: Maker,
}

impl RowPlan {
    pub(crate) fn new(py: Python<'_>, columns: &[ResultColumn]) -> PyResult<Self> {
        let planned = columns.iter().map(|column| {
            let pg_type = column.pg_type.in_rows();
            let maker = Maker::new(py, &pg_type)?;
            Ok(PlannedColumn { pg_type, maker })
        });
        let planned = planned.collect::<PyResult<Vec<_>>>()?;
        let is_atomic = planned.iter().all(|column| column.maker.is_atomic());
        let is_even = planned.iter().all(|column| column.maker.is_even());
        let names = columns.iter().map(|column| &*column.name);
        Ok(Self { names: RecordNames::new(py, names, is_atomic)?, columns: planned, is_even })
    }

    /// The format to request for each column.
    pub(crate) fn formats(&self) -> Vec<Format> {
        self.columns.iter().map(|column| column.pg_type.format()).collect()
    }
}
