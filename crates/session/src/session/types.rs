//! What a session knows of the database's types, and what its owner has put in their place.

use colonnade_columnar::{Catalog, CodecFormat, Type, Types};
use colonnade_protocol::{Oid, frontend};

use super::Session;
use crate::exchange::{Introspect, Then};
use crate::{Error, Sink, Statement};

/// The least OID that a server gives to what its users make.
const FIRST_NORMAL_OID: Oid = 16_384;

impl<S: Sink> Session<S> {
    /// The types as this connection sees them.
    pub fn types(&self) -> &Types {
        &self.talk.link.types
    }

    /// Uses a catalog that other sessions have too; codecs stay as they are.
    pub fn share_catalog(&mut self, catalog: Catalog) {
        self.talk.link.types.share(catalog);
    }

    /// Lets rows have the own values of extensions' types from the next preparation on, and not
    /// their texts.
    pub fn show_extension_values(&mut self) {
        self.talk.link.types.show_extension_values();
    }

    /// Begins to look types up in the catalogs, those alone that are not known; completes when they
    /// are. Without any such type nothing is begun, and the answer is false.
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

    /// Lets a codec of the owner's read and write a type from the next preparation on. The kept
    /// statements are closed, for they were made without it.
    ///
    /// # Errors
    /// A closed session.
    pub fn set_codec(&mut self, oid: Oid, codec: usize, format: CodecFormat) -> Result<(), Error> {
        self.talk.link.types.set_codec(oid, codec, format);
        self.forget_statements()
    }

    /// Lets a type be read and written as another one.
    ///
    /// # Errors
    /// A closed session.
    pub fn set_alias(&mut self, oid: Oid, other: &Type) -> Result<(), Error> {
        self.talk.link.types.set_alias(oid, other);
        self.forget_statements()
    }

    /// Lets a type be read and written as it is.
    ///
    /// # Errors
    /// A closed session.
    pub fn reset_type(&mut self, oid: Oid) -> Result<(), Error> {
        self.talk.link.types.reset_type(oid);
        self.forget_statements()
    }

    /// Forgets what is known of the database's types, for all who share it, and this connection's
    /// statements, which were made with it.
    ///
    /// # Errors
    /// A closed session.
    pub fn forget_types(&mut self) -> Result<(), Error> {
        self.talk.link.types.catalog().clear();
        self.talk.link.types.tell_outdated();
        self.forget_statements()
    }

    /// Forgets the statements where another session, which has the same catalog, has found that
    /// something is out of date.
    ///
    /// # Errors
    /// A closed session.
    pub fn follow_catalog(&mut self) -> Result<(), Error> {
        if self.talk.link.types.is_outdated() { self.forget_statements() } else { Ok(()) }
    }

    /// Forgets a statement that is to be prepared anew, and for all who share them the types of its
    /// parameters: one may have been altered. False where there is none that can be.
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
            // Travels with the next exchange's messages; its answer is expected at any time.
            frontend::close_statement(&mut self.talk.out, &statement.name)?;
        }
        Ok(())
    }
}
