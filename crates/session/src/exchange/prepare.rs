//! Parse and Describe: a text becomes a statement with known parameters and columns.

use std::sync::Arc;

use colonnade_columnar::{ResultColumn, Type};
use colonnade_protocol::backend::{Field, Message};
use colonnade_protocol::{Oid, frontend};

use super::answer::{Answer, DESCRIBED};
use super::{Context, Exchange, Introspect, Step, Then};
use crate::knowledge::Place;
use crate::lease::Target;
use crate::session::Link;
use crate::statement::Conversions;
use crate::{Completion, Error, Sink, Statement};

pub(crate) struct Prepare {
    answer: Answer,
    described: Described,
}

/// The holder of a finished statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keeper {
    /// The cache, for later queries with the same text.
    Cache,
    /// The owner of the session.
    Owner,
}

/// The server's description of a statement.
pub(crate) struct Described {
    keeper: Keeper,
    conversions: Conversions,
    name: String,
    sql: String,
    declared: Vec<Oid>,
    place: Place,
    parameters: Vec<Oid>,
    fields: Vec<Field>,
}

impl Prepare {
    pub(crate) fn start(
        name: String,
        sql: &str,
        (declared, place): (&[Oid], Place),
        (keeper, conversions): (Keeper, Conversions),
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        frontend::parse(out, &name, sql, declared)?;
        frontend::describe_statement(out, &name)?;
        frontend::sync(out);
        let (sql, declared) = (sql.to_owned(), declared.to_owned());
        let (parameters, fields) = (Vec::new(), Vec::new());
        let answer = Answer::new(DESCRIBED, 0);
        Ok(Self {
            answer,
            described: Described {
                keeper,
                conversions,
                name,
                sql,
                declared,
                place,
                parameters,
                fields,
            },
        })
    }

    /// The description, once the answer is complete.
    pub(crate) fn whole(self) -> Result<Described, Error> {
        self.answer.check_whole()?;
        Ok(self.described)
    }
}

impl<S: Sink> Exchange<S> for Prepare {
    fn message(
        &mut self,
        message: Message<'_>,
        _context: &mut Context<'_, S>,
    ) -> Result<(), Error> {
        self.answer.take(&message)?;
        match message {
            Message::ParameterDescription(parameters) => self.described.parameters = parameters,
            Message::RowDescription(fields) => self.described.fields = fields,
            _ => {}
        }
        Ok(())
    }

    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        (*self).whole()?.finish(context)
    }
}

impl Described {
    /// The columns, as the server describes them.
    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn oids(&self) -> impl Iterator<Item = Oid> {
        let columns = self.fields.iter().map(|field| field.type_oid);
        self.parameters.iter().copied().chain(columns)
    }

    /// Ends the exchange with the statement, or goes on to look up those of its types that are not
    /// known.
    pub(crate) fn finish<S: Sink>(self, context: &mut Context<'_, S>) -> Result<Step<S>, Error> {
        let missing = context.link.known.types.missing(self.oids());
        if missing.is_empty() {
            let statement = Some(self.keep(context.link, context.out)?);
            return Ok(Step::Done(Completion { statement, ..Completion::default() }));
        }
        let then = Then::Keep(self);
        let next = Introspect::start(missing, then, context.link, context.out)?;
        Ok(Step::Then(Box::new(next)))
    }

    /// Closes an unwanted statement on the server.
    pub(crate) fn close(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            // The name has no NUL, as it was sent before, so encoding cannot fail.
            let _ = frontend::close_statement(out, &self.name);
        }
    }

    /// Makes the statement once all of its types are known.
    pub(crate) fn keep(self, link: &mut Link, out: &mut Vec<u8>) -> Result<Arc<Statement>, Error> {
        let count = self.parameters.len();
        if count > usize::from(u16::MAX) {
            self.close(out);
            return Err(Error::TooManyParameters { count });
        }
        let (types, conversions) = (&link.known.types, self.conversions);
        let since = types.known_since(self.oids());
        let columns = self.fields.into_iter().enumerate().map(|(index, field)| {
            let found = conversions.of_column(types, field.type_oid, index);
            let pg_type = found.unwrap_or_else(|| Arc::new(Type::opaque(field.type_oid)));
            ResultColumn::new(field.name, pg_type, field.type_modifier)
        });
        let columns: Arc<[ResultColumn]> = columns.collect();
        let parameters = self.parameters.into_iter().map(|oid| {
            let found = conversions.of_parameter(types, oid);
            found.unwrap_or_else(|| Arc::new(Type::opaque(oid)))
        });
        let parameters: Vec<Arc<Type>> = parameters.collect();
        let lease = (self.keeper == Keeper::Owner)
            .then(|| Arc::new(link.returned.lease(Target::Statement, self.name.clone())));
        let statement = Arc::new(Statement {
            fate: Arc::default(),
            lease,
            name: self.name,
            sql: self.sql,
            declared: self.declared,
            conversions,
            columns,
            parameters,
            epoch: self.place.epoch,
            since,
            namespace: self.place.namespace,
        });
        let columns = statement.columns.iter().map(|column| &column.pg_type);
        for pg_type in statement.parameters.iter().chain(columns) {
            if let Some(codec) = pg_type.text_codec_out_of_place() {
                let (type_name, codec) = (pg_type.name.clone(), codec.name.clone());
                if self.keeper == Keeper::Cache && !statement.name.is_empty() {
                    frontend::close_statement(out, &statement.name)?;
                }
                return Err(Error::TextCodec { type_name, codec });
            }
        }
        if self.keeper == Keeper::Owner {
            return Ok(statement);
        }
        for gone in link.known.statements.insert(Arc::clone(&statement)) {
            // Travels with the next exchange's messages; its answer is expected at any time.
            frontend::close_statement(out, &gone.name)?;
        }
        Ok(statement)
    }
}
