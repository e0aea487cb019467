//! An ADBC driver, which ADBC's driver manager loads from this module's own library.
//!
//! It works in programs that run Python: each call goes to an object of `colonnade.adbc`, which
//! uses the package's ordinary sockets and TLS. Texts, numbers and Arrow capsules pass between the
//! two.

mod connection;
mod object;
mod statement;

use adbc_core::error::Result;
use adbc_core::options::{OptionConnection, OptionDatabase, OptionValue};
use adbc_core::{Database, Driver, Optionable};
use pyo3::prelude::*;

use connection::AdbcConnection;
use object::{Object, options_of};

/// The driver manager's entry point.
#[derive(Default)]
pub(crate) struct AdbcDriver;

adbc_ffi::export_driver!(ColonnadeAdbcInit, AdbcDriver);

impl Driver for AdbcDriver {
    type DatabaseType = AdbcDatabase;

    fn new_database(&mut self) -> Result<AdbcDatabase> {
        self.new_database_with_opts([])
    }

    fn new_database_with_opts(
        &mut self,
        options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<AdbcDatabase> {
        let options: Vec<_> = options.into_iter().collect();
        Object::made(|py| {
            let options = options_of(py, options)?;
            py.import("colonnade.adbc.driver")?.getattr("Database")?.call1((options,))
        })
        .map(AdbcDatabase)
    }
}

/// The options of a database to connect to.
pub(crate) struct AdbcDatabase(Object);

impl Database for AdbcDatabase {
    type ConnectionType = AdbcConnection;

    fn new_connection(&self) -> Result<AdbcConnection> {
        self.new_connection_with_opts([])
    }

    fn new_connection_with_opts(
        &self,
        options: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<AdbcConnection> {
        let options: Vec<_> = options.into_iter().collect();
        self.0
            .child(|py, database| {
                let options = options_of(py, options)?;
                database.call_method1("connect", (options,))
            })
            .map(AdbcConnection)
    }
}

object::optionable!(AdbcDatabase, OptionDatabase);
