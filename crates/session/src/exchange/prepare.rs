//! Parse and Describe: a text becomes a statement with known parameters and columns.

use std::sync::Arc;

use colonnade_protocol::backend::Message;
use colonnade_protocol::frontend;

use super::{Context, Exchange, unexpected};
use crate::{Completion, Error, Sink, Statement};

pub(crate) struct Prepare {
    statement: Statement,
}

impl Prepare {
    pub(crate) fn start(name: String, sql: &str, out: &mut Vec<u8>) -> Result<Self, Error> {
        frontend::parse(out, &name, sql, &[])?;
        frontend::describe_statement(out, &name)?;
        frontend::sync(out);
        Ok(Self { statement: Statement::new(name, sql.to_owned()) })
    }
}

impl<S: Sink> Exchange<S> for Prepare {
    fn message(
        &mut self,
        message: Message<'_>,
        _context: &mut Context<'_, S>,
    ) -> Result<(), Error> {
        match message {
            Message::ParseComplete | Message::NoData => {}
            Message::ParameterDescription(parameters) => self.statement.parameters = parameters,
            Message::RowDescription(fields) => self.statement.describe(fields),
            other => return Err(unexpected(other.name())),
        }
        Ok(())
    }

    fn complete(self: Box<Self>, context: &mut Context<'_, S>) -> Result<Completion<S>, Error> {
        let statement = Arc::new(self.statement);
        for gone in context.link.statements.insert(Arc::clone(&statement)) {
            // Travels with the next exchange's messages; its answer is expected at any time.
            frontend::close_statement(context.out, &gone.name)?;
        }
        Ok(Completion { statement: Some(statement), ..Completion::default() })
    }
}
