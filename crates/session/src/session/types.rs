//! A session's knowledge of the database's types, and the owner's replacements for them.

use colonnade_columnar::{Catalog, CodecFormat, Type, Types};
use colonnade_protocol::{Oid, frontend};

use super::Session;
use crate::exchange::{Introspect, Then};
use crate::{Error, Sink, Statement};

/// The lowest OID that a server gives to objects created by users.
const FIRST_NORMAL_OID: Oid = 16_384;

impl<S: Sink> Session<S> {
    /// The types, with this connection's codecs and aliases.
    pub fn types(&self) -> &Types {
        &self.talk.link.types
    }

    /// Uses a catalog shared with other sessions; codecs stay as they are.
    pub fn share_catalog(&mut self, catalog: Catalog) {
        self.talk.link.types.share(catalog);
    }

    /// From the next preparation on, rows get values of extension types as their own classes
    /// instead of their text.
    pub fn show_extension_values(&mut self) {
        self.talk.link.types.show_extension_values();
    }

    /// Begins to look up those of the types that are not known yet; completes when they are.
    /// Returns false, and begins nothing, if all are known.
    ///
    /// # Errors
    /// A closed session.
    pub fn introspect(&mut self, oids: &[Oid]) -> Result<bool, Error> {
        let missing = self.talk.link.types.missing(oids.iter().copied());
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
        self.talk.link.types.set_codec(oid, codec, format);
        self.forget_statements()
    }

    /// Reads and writes a type as another type.
    ///
    /// # Errors
    /// A closed session.
    pub fn set_alias(&mut self, oid: Oid, other: &Type) -> Result<(), Error> {
        self.talk.link.types.set_alias(oid, other);
        self.forget_statements()
    }

    /// Reads and writes a type by its own conversions again.
    ///
    /// # Errors
    /// A closed session.
    pub fn reset_type(&mut self, oid: Oid) -> Result<(), Error> {
        self.talk.link.types.reset_type(oid);
        self.forget_statements()
    }

    /// Forgets the database's types for all sessions that share the catalog, and this session's
    /// statements, which were made with them.
    ///
    /// # Errors
    /// A closed session.
    pub fn forget_types(&mut self) -> Result<(), Error> {
        self.talk.link.types.catalog().clear();
        self.talk.link.types.tell_outdated();
        self.forget_statements()
    }

    /// Forgets the statements if another session with the same catalog has found types out of date.
    ///
    /// # Errors
    /// A closed session.
    pub fn follow_catalog(&mut self) -> Result<(), Error> {
        if self.talk.link.types.is_outdated() { self.forget_statements() } else { Ok(()) }
    }

    /// Forgets a statement that must be prepared again, and the types of its parameters in the
    /// shared catalog, because one may have been altered. Returns false if none can have been.
    ///
    /// # Errors
    /// A closed session.
    pub fn forget_parameters(&mut self, statement: &Statement) -> Result<bool, Error> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        let link = &mut self.talk.link;
        let mut can_alter = false;
        for pg_type in statement.parameters.iter().filter(|it| it.oid >= FIRST_NORMAL_OID) {
            link.types.catalog().forget(pg_type);
            can_alter = true;
        }
        if can_alter {
            link.types.tell_outdated();
        }
        if can_alter && let Some(gone) = link.statements.remove(statement) {
            frontend::close_statement(&mut self.talk.out, &gone.name)?;
        }
        Ok(can_alter)
    }

    fn forget_statements(&mut self) -> Result<(), Error> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        for statement in self.talk.link.statements.drain() {
            // Travels with the next exchange's messages; its answer may come at any time.
            frontend::close_statement(&mut self.talk.out, &statement.name)?;
        }
        Ok(())
    }
}
