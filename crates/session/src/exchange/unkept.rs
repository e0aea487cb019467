//! Queries with statements that the server does not keep. The text is sent in one flight with the
//! arguments, so nothing depends on the server remembering an earlier query, which behind a pooler
//! may have run on another server.
//!
//! The types of the parameters are known from an earlier description and are declared. The columns
//! are described again; if they have changed, the rows are read as the new columns.

use std::sync::Arc;

use colonnade_columnar::ResultColumn;
use colonnade_protocol::backend::{Field, Message};
use colonnade_protocol::{Oid, frontend};

use super::Context;
use crate::{Error, Sink, Statement};

/// Sends the text unless the server keeps the statement. Returns the name to bind.
pub(crate) fn bring<'a>(statement: &'a Statement, out: &mut Vec<u8>) -> Result<&'a str, Error> {
    if let Some(name) = statement.server_name() {
        return Ok(name);
    }
    let declared: Vec<Oid> = statement.parameters.iter().map(|pg_type| pg_type.oid).collect();
    frontend::parse(out, "", &statement.sql, &declared)?;
    frontend::describe_statement(out, "")?;
    Ok("")
}

/// Adopts the server's new description if it differs from the remembered one.
pub(crate) fn follow<S: Sink>(
    described: Message<'_>,
    statement: &mut Arc<Statement>,
    sink: &mut S,
    context: &mut Context<'_, S>,
) -> Result<(), Error> {
    let fields = match described {
        Message::RowDescription(fields) => fields,
        _ => Vec::new(),
    };
    if is_same(&statement.columns, &fields) {
        return Ok(());
    }
    let (types, conversions) = (&context.link.types, statement.conversions);
    let column = |field: &Field| {
        let pg_type = conversions.find(types, field.type_oid)?;
        Some(ResultColumn::new(field.name.as_str(), pg_type, field.type_modifier))
    };
    let columns: Option<Arc<[ResultColumn]>> = fields.iter().map(column).collect();
    let Some(columns) = columns else { return Err(Error::ResultChanged) };
    let asked = sink.formats().unwrap_or_else(|| statement.formats());
    let described = statement.with_columns(Arc::clone(&columns));
    let renewed = sink.renewed(&columns)?;
    if asked != renewed.formats().unwrap_or_else(|| described.formats()) {
        return Err(Error::ResultChanged);
    }
    context.link.statements.renew(&described);
    *sink = renewed;
    *statement = described;
    Ok(())
}

fn is_same(columns: &[ResultColumn], fields: &[Field]) -> bool {
    columns.len() == fields.len()
        && columns.iter().zip(fields).all(|(column, field)| {
            *column.name == *field.name
                && column.pg_type.oid == field.type_oid
                && column.type_modifier == field.type_modifier
        })
}
