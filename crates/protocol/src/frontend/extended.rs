//! Queries: the simple one, and the steps of the extended ones.

use super::LocalError;
use super::params::EncodedParams;
use super::writer::{bare, formats, message, message_length, text};
use crate::Oid;
use crate::format::Format;

/// Runs the statements in `sql`, which may not have parameters and whose results come as text.
pub fn query(out: &mut Vec<u8>, sql: &str) -> Result<(), LocalError> {
    message(out, b'Q', "Query", |out| text(out, "query text", sql))
}

/// Prepares `sql` as the statement `name`; the empty name is the unnamed statement. The server
/// infers the types of parameters beyond `param_types`, and of those with type 0.
pub fn parse(
    out: &mut Vec<u8>,
    name: &str,
    sql: &str,
    param_types: &[Oid],
) -> Result<(), LocalError> {
    let count = param_types.len();
    message(out, b'P', "Parse", |out| {
        text(out, "statement name", name)?;
        text(out, "query text", sql)?;
        let counted = u16::try_from(count).map_err(|_| LocalError::TooManyParameters { count })?;
        out.extend_from_slice(&counted.to_be_bytes());
        for oid in param_types {
            out.extend_from_slice(&oid.to_be_bytes());
        }
        Ok(())
    })
}

/// Binds parameters to a statement, creating the portal `portal`.
///
/// `result_formats` are the formats of the result's columns: none means text for all, one applies
/// to all, otherwise there must be one for each.
pub fn bind(
    out: &mut Vec<u8>,
    portal: &str,
    statement: &str,
    params: &EncodedParams,
    result_formats: &[Format],
) -> Result<(), LocalError> {
    let parameters = params.count();
    let count = u16::try_from(parameters)
        .map_err(|_| LocalError::TooManyParameters { count: parameters })?;
    if let Some((index, length)) = params.oversized() {
        return Err(LocalError::ValueTooLarge { index, length });
    }
    message_length("Bind", params.bytes().len())?;
    message(out, b'B', "Bind", |out| {
        text(out, "portal name", portal)?;
        text(out, "statement name", statement)?;
        formats(out, params.formats())?;
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(params.bytes());
        formats(out, result_formats)
    })
}

/// Requests the parameters and columns of a statement.
pub fn describe_statement(out: &mut Vec<u8>, name: &str) -> Result<(), LocalError> {
    message(out, b'D', "Describe", |out| statement_name(out, name))
}

/// Requests the columns of a portal.
pub fn describe_portal(out: &mut Vec<u8>, name: &str) -> Result<(), LocalError> {
    message(out, b'D', "Describe", |out| portal_name(out, name))
}

/// Fetches up to `max_rows` rows of a portal; 0 fetches all.
pub fn execute(out: &mut Vec<u8>, portal: &str, max_rows: i32) -> Result<(), LocalError> {
    message(out, b'E', "Execute", |out| {
        text(out, "portal name", portal)?;
        out.extend_from_slice(&max_rows.to_be_bytes());
        Ok(())
    })
}

/// Closes a statement; no error if there is none of this name.
pub fn close_statement(out: &mut Vec<u8>, name: &str) -> Result<(), LocalError> {
    message(out, b'C', "Close", |out| statement_name(out, name))
}

/// Closes a portal; no error if there is none of this name.
pub fn close_portal(out: &mut Vec<u8>, name: &str) -> Result<(), LocalError> {
    message(out, b'C', "Close", |out| portal_name(out, name))
}

fn statement_name(out: &mut Vec<u8>, name: &str) -> Result<(), LocalError> {
    out.push(b'S');
    text(out, "statement name", name)
}

fn portal_name(out: &mut Vec<u8>, name: &str) -> Result<(), LocalError> {
    out.push(b'P');
    text(out, "portal name", name)
}

/// Ends a series of extended messages: the server commits the implicit transaction, after an error
/// skips the messages up to here, and answers with `ReadyForQuery`.
pub fn sync(out: &mut Vec<u8>) {
    bare(out, b'S');
}

/// Asks the server to send its output so far.
pub fn flush(out: &mut Vec<u8>) {
    bare(out, b'H');
}
