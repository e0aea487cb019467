//! Queries with statements that the server does not keep. The text is sent in one flight with the
//! arguments, so nothing depends on the server remembering an earlier query, which behind a pooler
//! may have run on another server.
//!
//! The types of the parameters are known from an earlier description and are declared, because
//! values are encoded by them. A text, which the server reads, is not: its type is inferred each
//! time, because the column beside it may have been altered meanwhile. The columns are described
//! again; if they have changed, the rows are read as the new columns.

use std::sync::Arc;

use colonnade_columnar::ResultColumn;
use colonnade_protocol::backend::{Field, Message};
use colonnade_protocol::frontend::{self, EncodedParams};
use colonnade_protocol::{Format, Oid};

use super::Context;
use crate::statement::UNKNOWN;
use crate::{Error, Sink, Statement};

/// Sends the text unless the server keeps the statement. Returns the name to bind.
///
/// `values` are its arguments; `None` if they follow, all of them texts where text is declared.
pub(crate) fn bring<'a>(
    statement: &'a Statement,
    values: Option<&EncodedParams>,
    out: &mut Vec<u8>,
) -> Result<&'a str, Error> {
    if let Some(name) = statement.server_name() {
        return Ok(name);
    }
    let is_text = |index: usize| {
        let format = values.and_then(|values| values.formats().get(index));
        format.is_none_or(|format| *format == Format::Text)
    };
    let types = statement.parameters.iter().enumerate();
    let declared: Vec<Oid> = types
        .map(|(index, pg_type)| match statement.declared.get(index) {
            Some(&UNKNOWN) if is_text(index) => UNKNOWN,
            _ => pg_type.oid,
        })
        .collect();
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
    let (types, conversions) = (&context.link.known.types, statement.conversions);
    let column = |(index, field): (usize, &Field)| {
        let pg_type = conversions.of_column(types, field.type_oid, index)?;
        Some(ResultColumn::new(field.name.as_str(), pg_type, field.type_modifier))
    };
    let columns: Option<Arc<[ResultColumn]>> = fields.iter().enumerate().map(column).collect();
    let Some(columns) = columns else { return Err(Error::ResultChanged) };
    let asked = sink.formats().unwrap_or_else(|| statement.formats());
    let described = statement.with_columns(Arc::clone(&columns));
    let renewed = sink.renewed(&columns)?;
    if asked != renewed.formats().unwrap_or_else(|| described.formats()) {
        return Err(Error::ResultChanged);
    }
    context.link.known.statements.renew(&described);
    *sink = renewed;
    *statement = described;
    Ok(())
}

/// Whether the server describes the columns as they are known.
pub(super) fn is_same(columns: &[ResultColumn], fields: &[Field]) -> bool {
    columns.len() == fields.len()
        && columns.iter().zip(fields).all(|(column, field)| {
            *column.name == *field.name
                && column.pg_type.oid == field.type_oid
                && column.type_modifier == field.type_modifier
        })
}
