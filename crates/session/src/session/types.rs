//! A session's knowledge of the database's types, and the owner's replacements for them.

use std::sync::Arc;
use std::time::Duration;

use colonnade_columnar::{Catalogs, CodecFormat, Type, Types};
use colonnade_protocol::backend::TransactionStatus;
use colonnade_protocol::{Oid, frontend};

use super::Session;
use crate::exchange::{Identify, Introspect, Then};
use crate::{Error, Sink, Statement};

impl<S: Sink> Session<S> {
    /// The types, with this connection's codecs and aliases.
    pub fn types(&self) -> &Types {
        &self.talk.link.known.types
    }

    /// Takes note of the time since a moment that is the same for all sessions with this catalog.
    /// Types that were last asked for longer ago than the cache's limit are asked for again.
    pub const fn tell_time(&mut self, now: Duration) {
        self.talk.link.known.types.tell_time(now);
    }

    /// Shares the types with other sessions of the same cluster and database, once the server has
    /// told which that is; it is asked in the flight of the next exchange. Codecs stay as they are.
    /// Does nothing if an exchange is under way or a transaction is open.
    ///
    /// # Errors
    /// A closed session.
    pub fn share_catalogs(&mut self, catalogs: Arc<Catalogs>) -> Result<(), Error> {
        let talk = &mut self.talk;
        if !talk.running.is_empty() || talk.link.transaction_status != TransactionStatus::Idle {
            return Ok(());
        }
        let exchange = Identify::start(catalogs, &mut talk.out)?;
        talk.queue(exchange, true)
    }

    /// From the next preparation on, rows get values of extension types as their own classes
    /// instead of their text.
    pub fn show_extension_values(&mut self) {
        self.talk.link.known.types.show_extension_values();
    }

    /// Begins to look up those of the types that are not known yet; completes when they are.
    /// Returns false, and begins nothing, if all are known.
    ///
    /// # Errors
    /// A closed session.
    pub fn introspect(&mut self, oids: &[Oid]) -> Result<bool, Error> {
        let missing = self.talk.link.known.types.missing(oids.iter().copied());
        if missing.is_empty() {
            return Ok(false);
        }
        let talk = &mut self.talk;
        let exchange = Introspect::start(missing, Then::Nothing, &talk.link, &mut talk.out)?;
        self.talk.begin(exchange)?;
        Ok(true)
    }

    /// From the next preparation on, reads and writes a type by a codec of the owner's. Closes the
    /// kept statements, because they were made without the codec.
    ///
    /// # Errors
    /// A closed session.
    pub fn set_codec(&mut self, oid: Oid, codec: usize, format: CodecFormat) -> Result<(), Error> {
        self.talk.link.known.types.set_codec(oid, codec, format);
        self.forget_statements()
    }

    /// Reads and writes a type as another type.
    ///
    /// # Errors
    /// A closed session.
    pub fn set_alias(&mut self, oid: Oid, other: &Type) -> Result<(), Error> {
        self.talk.link.known.types.set_alias(oid, other);
        self.forget_statements()
    }

    /// Reads and writes a type by its own conversions again.
    ///
    /// # Errors
    /// A closed session.
    pub fn reset_type(&mut self, oid: Oid) -> Result<(), Error> {
        self.talk.link.known.types.reset_type(oid);
        self.forget_statements()
    }

    /// Forgets the database's types for all sessions that share the catalog, and this session's
    /// statements, which were made with them. Those of the owner are outdated.
    ///
    /// # Errors
    /// A closed session.
    pub fn forget_types(&mut self) -> Result<(), Error> {
        let known = &mut self.talk.link.known;
        known.types.catalog().clear();
        known.types.tell_outdated();
        known.end_epoch();
        self.forget_statements()
    }

    /// Forgets a statement that must be prepared again, and its types in the shared catalog,
    /// because something was altered. Returns whether there are such types.
    ///
    /// # Errors
    /// A closed session.
    pub fn forget_statement(&mut self, statement: &Statement) -> Result<bool, Error> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        let known = &mut self.talk.link.known;
        known.forget_types_of(statement);
        statement.doubt();
        if let Some(gone) = known.statements.remove(statement) {
            frontend::close_statement(&mut self.talk.out, &gone.name)?;
        }
        Ok(statement.user_types().next().is_some())
    }

    /// The epoch and the namespace for which things are known now.
    pub fn place(&mut self) -> (u64, u64) {
        let known = &mut self.talk.link.known;
        (known.epoch(), known.path.number())
    }

    fn forget_statements(&mut self) -> Result<(), Error> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        for statement in self.talk.link.known.statements.drain() {
            // Travels with the next exchange's messages; its answer may come at any time.
            frontend::close_statement(&mut self.talk.out, &statement.name)?;
        }
        Ok(())
    }
}
