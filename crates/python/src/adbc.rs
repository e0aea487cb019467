//! An ADBC driver, loaded from this module's own library by ADBC's driver manager.
//!
//! It is for programs that run Python: each call goes to an object of `colonnade.adbc`, over which
//! the sockets, TLS and everything else are what they are for the rest of the package. What passes
//! between the two are texts, numbers and Arrow's capsules.

mod connection;
mod object;
mod statement;

use adbc_core::error::Result;
use adbc_core::options::{OptionConnection, OptionDatabase, OptionValue};
use adbc_core::{Database, Driver, Optionable};
use pyo3::prelude::*;

use connection::AdbcConnection;
use object::{Object, options_of};

/// What the driver manager makes first.
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

/// Where to connect to.
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
