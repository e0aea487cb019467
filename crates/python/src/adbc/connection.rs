//! An ADBC connection.

use std::collections::HashSet;
use std::ffi::c_int;

use adbc_core::error::{Error, Result, Status};
use adbc_core::options::{InfoCode, ObjectDepth, OptionConnection, OptionValue};
use adbc_core::{CancelHandle, Connection, Optionable};
use arrow_array::RecordBatchReader;
use arrow_schema::Schema;
use pyo3::prelude::*;

use super::object::{Object, optionable};
use super::statement::AdbcStatement;

type Batches = Box<dyn RecordBatchReader + Send + 'static>;

/// A connection, and the transaction on it.
pub(crate) struct AdbcConnection(pub(super) Object);

optionable!(AdbcConnection, OptionConnection);

impl Connection for AdbcConnection {
    type StatementType = AdbcStatement;

    fn new_statement(&mut self) -> Result<AdbcStatement> {
        self.0.child(|_, connection| connection.call_method0("statement")).map(AdbcStatement)
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.0.cancel_handle()
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Batches> {
        let codes: Option<Vec<u32>> = codes.map(|codes| codes.iter().map(u32::from).collect());
        self.0.reader(|connection| connection.call_method1("get_info", (codes,)))
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        table_type: Option<Vec<&str>>,
        column_name: Option<&str>,
    ) -> Result<Batches> {
        let filters = (c_int::from(depth), catalog, db_schema, table_name, table_type, column_name);
        self.0.reader(|connection| connection.call_method1("get_objects", filters))
    }

    fn get_table_schema(
        &self,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: &str,
    ) -> Result<Schema> {
        let names = (catalog, db_schema, table_name);
        self.0.schema(|connection| connection.call_method1("get_table_schema", names))
    }

    fn get_table_types(&self) -> Result<Batches> {
        self.0.reader(|connection| connection.call_method0("get_table_types"))
    }

    fn get_statistic_names(&self) -> Result<Batches> {
        Err(not_implemented("statistics"))
    }

    fn get_statistics(
        &self,
        _catalog: Option<&str>,
        _db_schema: Option<&str>,
        _table_name: Option<&str>,
        _approximate: bool,
    ) -> Result<Batches> {
        Err(not_implemented("statistics"))
    }

    fn commit(&mut self) -> Result<()> {
        self.0.call(|connection| connection.call_method0("commit").map(drop))
    }

    fn rollback(&mut self) -> Result<()> {
        self.0.call(|connection| connection.call_method0("rollback").map(drop))
    }

    fn read_partition(&self, _partition: impl AsRef<[u8]>) -> Result<Batches> {
        Err(not_implemented("partitions"))
    }
}

impl Drop for AdbcConnection {
    fn drop(&mut self) {
        // In a destructor a failure cannot be reported.
        drop(self.0.call(|connection| connection.call_method0("close").map(drop)));
    }
}

pub(super) fn not_implemented(what: &str) -> Error {
    Error::with_message_and_status(
        format!("Colonnade has no {what} for ADBC"),
        Status::NotImplemented,
    )
}
