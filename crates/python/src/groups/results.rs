//! The columns of results: their names, PostgreSQL types and Arrow fields.

use std::sync::{Arc, LazyLock};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use colonnade_columnar::{ResultColumn, Type, named_type};
use colonnade_compute::grouping::Aggregate;
use pyo3::prelude::*;

use super::{arrow_error, field};
use crate::batch::Batch;

static INT8: LazyLock<Arc<Type>> = LazyLock::new(|| built_in("int8"));
static FLOAT8: LazyLock<Arc<Type>> = LazyLock::new(|| built_in("float8"));
static NUMERIC: LazyLock<Arc<Type>> = LazyLock::new(|| built_in("numeric"));

fn built_in(name: &str) -> Arc<Type> {
    Arc::new(named_type(name).unwrap_or_else(|| Type::opaque(0)))
}

/// A column of a result, before its values are known.
pub(super) struct Described {
    /// Its PostgreSQL type; `None` for a number, whose Arrow type says it.
    column: Option<ResultColumn>,
    /// Its Arrow field, if it is that of a column.
    field: Option<FieldRef>,
    name: Option<String>,
}

impl Described {
    /// A column of the batch.
    pub(super) fn of_column(batch: &Batch, index: usize) -> PyResult<Self> {
        let column = field(batch, index)?.clone();
        Ok(Self { column: Some(column), field: arrow_field(batch, index), name: None })
    }

    /// A number of rows or values.
    pub(super) fn count(name: &str) -> Self {
        Self { column: None, field: None, name: Some(name.to_owned()) }
    }

    /// An aggregate of a column.
    pub(super) fn aggregate(
        batch: &Batch,
        index: usize,
        kind: Aggregate,
        name: &str,
    ) -> PyResult<Self> {
        let column = field(batch, index)?;
        let arrow = arrow_field(batch, index);
        let is_number = matches!(kind, Aggregate::Sum | Aggregate::Mean)
            && arrow.as_ref().is_some_and(|field| field.data_type().is_numeric());
        if is_number || matches!(kind, Aggregate::Count | Aggregate::Distinct) {
            return Ok(Self::count(name));
        }
        if *column.name == *name {
            return Self::of_column(batch, index);
        }
        let pg_type = Arc::clone(&column.pg_type);
        let renamed = ResultColumn::new(name, pg_type, column.type_modifier);
        let arrow = arrow.map(|field| Arc::new(field.as_ref().clone().with_name(name)));
        Ok(Self { column: Some(renamed), field: arrow, name: None })
    }

    fn finish(self, array: &ArrayRef) -> (ResultColumn, FieldRef) {
        let name = self.name.unwrap_or_default();
        let column = self.column.unwrap_or_else(|| {
            let pg_type = match array.data_type() {
                DataType::Float64 => &FLOAT8,
                DataType::Decimal128(..) | DataType::Decimal256(..) => &NUMERIC,
                _ => &INT8,
            };
            ResultColumn::new(name, Arc::clone(pg_type), -1)
        });
        let field = match self.field {
            Some(field) if field.data_type() == array.data_type() => field,
            Some(field) => {
                Arc::new(field.as_ref().clone().with_data_type(array.data_type().clone()))
            }
            None => Arc::new(Field::new(&*column.name, array.data_type().clone(), true)),
        };
        (column, field)
    }
}

fn arrow_field(batch: &Batch, index: usize) -> Option<FieldRef> {
    batch.schema().fields().get(index).cloned()
}

/// The columns as a batch with the codecs of `like`.
pub(super) fn batch(
    like: &Batch,
    described: Vec<Described>,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> PyResult<Batch> {
    let finished = described.into_iter().zip(&columns).map(|(column, array)| column.finish(array));
    let (results, fields): (Vec<_>, Vec<_>) = finished.unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let schema = Arc::new(Schema::new(fields));
    let made = RecordBatch::try_new_with_options(schema, columns, &options).map_err(arrow_error)?;
    Ok(Batch::new(made, results.into(), like.shared_codecs()))
}
