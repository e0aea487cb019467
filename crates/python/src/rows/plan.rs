//! A statement's plan for making rows: worked out once and kept as long as the statement, because
//! the work takes as long as a query for one row.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use colonnade_columnar::{ResultColumn, Type};
use colonnade_protocol::Format;
use pyo3::prelude::*;

use crate::record::RecordNames;
use crate::values::Maker;

/// With fewer plans, those of dropped statements are not looked for.
const PLANS_MIN: usize = 16;

/// How a statement's rows become records.
pub(crate) struct RowPlan {
    pub(super) names: Py<RecordNames>,
    pub(super) columns: Vec<PlannedColumn>,
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
        let names = columns.iter().map(|column| &*column.name);
        Ok(Self { names: RecordNames::new(py, names, is_atomic)?, columns: planned })
    }

    /// The format to request for each column.
    pub(crate) fn formats(&self) -> Vec<Format> {
        self.columns.iter().map(|column| column.pg_type.format()).collect()
    }
}

/// A session's plans, by the address of their columns.
///
/// Plans of dropped statements are removed whenever the number of plans has doubled, so it stays in
/// proportion to the statements in use.
#[derive(Default)]
pub(crate) struct RowPlans {
    plans: HashMap<usize, (Weak<[ResultColumn]>, Arc<RowPlan>)>,
    remove_at: usize,
}

impl RowPlans {
    /// The plan for a statement's columns.
    pub(crate) fn find(
        &mut self,
        py: Python<'_>,
        columns: &Arc<[ResultColumn]>,
    ) -> PyResult<Arc<RowPlan>> {
        // The weak reference keeps the allocation, so the address is not reused.
        let address = Arc::as_ptr(columns).cast::<ResultColumn>().addr();
        if columns.is_empty() {
            return Ok(Arc::new(RowPlan::new(py, columns)?));
        }
        if let Some((_, plan)) = self.plans.get(&address) {
            return Ok(Arc::clone(plan));
        }
        if self.plans.len() >= self.remove_at {
            self.plans.retain(|_, (columns, _)| columns.strong_count() > 0);
            self.remove_at = PLANS_MIN.max(2 * self.plans.len());
        }
        let plan = Arc::new(RowPlan::new(py, columns)?);
        self.plans.insert(address, (Arc::downgrade(columns), Arc::clone(&plan)));
        Ok(plan)
    }
}
