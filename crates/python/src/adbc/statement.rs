//! An ADBC statement.

use adbc_core::error::Result;
use adbc_core::options::{OptionStatement, OptionValue};
use adbc_core::{CancelHandle, Optionable, PartitionedResult, Statement};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::Schema;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::connection::not_implemented;
use super::object::{Object, optionable};

/// A query with its parameters, or data and the table to ingest it into.
pub(crate) struct AdbcStatement(pub(super) Object);

optionable!(AdbcStatement, OptionStatement);

impl Statement for AdbcStatement {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        let schema = batch.schema();
        self.bind_stream(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
    }

    fn bind_stream(&mut self, reader: Box<dyn RecordBatchReader + Send>) -> Result<()> {
        let stream = FFI_ArrowArrayStream::new(reader);
        self.0.call(|statement| {
            let capsule = PyCapsule::new_with_value(statement.py(), stream, c"arrow_array_stream")?;
            statement.call_method1("bind", (capsule,)).map(drop)
        })
    }

    fn execute(&mut self) -> Result<Box<dyn RecordBatchReader + Send + 'static>> {
        self.0.reader(|statement| statement.call_method0("execute"))
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        self.0.call(|statement| statement.call_method0("execute_update")?.extract())
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        self.0.schema(|statement| statement.call_method0("execute_schema"))
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        Err(not_implemented("partitions"))
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        Err(not_implemented("schema of parameters"))
    }

    fn prepare(&mut self) -> Result<()> {
        self.0.call(|statement| statement.call_method0("prepare").map(drop))
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        self.0.call(|statement| statement.call_method1("set_query", (query.as_ref(),)).map(drop))
    }

    fn set_substrait_plan(&mut self, _plan: impl AsRef<[u8]>) -> Result<()> {
        Err(not_implemented("Substrait plans"))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.0.cancel_handle()
    }
}

impl Drop for AdbcStatement {
    fn drop(&mut self) {
        // In a destructor a failure cannot be reported.
        drop(self.0.call(|statement| statement.call_method0("close").map(drop)));
    }
}
