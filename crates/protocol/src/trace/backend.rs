//! The server's side of a trace.

use std::fmt::{self, Write as _};

use super::{Shown, ShownValue, format_list, format_name};
use crate::backend::{CopyFormat, ErrorFields, Field, Message, TransactionStatus};
use crate::error::{Error, RemoteError};
use crate::frame::{HEADER_LEN, claimed_len};
use crate::reader::Reader;
use crate::tag;

/// One line for each message that the server sent, each starting with `B`. The first bytes that are
/// not a whole message end the trace with a line that says so.
///
/// ```
/// use colonnade_protocol::trace::trace_backend;
///
/// let bytes = b"D\0\0\0\x0b\0\x01\0\0\0\x017C\0\0\0\x0dSELECT 1\0";
/// assert_eq!(trace_backend(bytes), "B DataRow \"7\"\nB CommandComplete \"SELECT 1\"\n");
/// ```
pub fn trace_backend(bytes: &[u8]) -> String {
    let mut lines = String::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let line = match one_frame(rest) {
            Ok(Some((line, total))) => {
                rest = rest.get(total..).unwrap_or(&[]);
                line
            }
            Ok(None) => {
                let line = format!("(incomplete: {} bytes)", rest.len());
                rest = &[];
                line
            }
            Err(error) => {
                rest = &[];
                format!("(error: {error})")
            }
        };
        lines.push_str("B ");
        lines.push_str(&line);
        lines.push('\n');
    }
    lines
}

fn one_frame(bytes: &[u8]) -> Result<Option<(String, usize)>, Error> {
    let Some(total) = claimed_len(bytes)? else { return Ok(None) };
    let Some(body) = bytes.get(HEADER_LEN..total) else { return Ok(None) };
    let line = match bytes.first().copied() {
        Some(tag::DATA_ROW) => data_row(body)?,
        first => format!("{:?}", Message::parse(first.unwrap_or_default(), body)?),
    };
    Ok(Some((line, total)))
}

fn data_row(body: &[u8]) -> Result<String, RemoteError> {
    let mut line = "DataRow".to_owned();
    let mut reader = Reader::new("DataRow", body);
    for _ in 0..reader.u16("column count")? {
        // Writing to a String does not fail.
        let _ = write!(line, " {}", ShownValue(reader.value("value")?));
    }
    reader.finish()?;
    Ok(line)
}

/// Prints a message as its trace line, without secrets.
pub(crate) fn describe(message: &Message<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(message.name())?;
    match message {
        Message::AuthenticationSasl(mechanisms) => {
            mechanisms.iter().try_for_each(|name| write!(f, " {}", name.escape_debug()))
        }
        Message::AuthenticationGssContinue(data)
        | Message::AuthenticationSaslContinue(data)
        | Message::AuthenticationSaslFinal(data) => {
            write!(f, " ({} bytes, not shown)", data.len())
        }
        Message::AuthenticationUnsupported(code) => write!(f, " code={code}"),
        Message::BackendKeyData { process_id, secret_key } => {
            write!(f, " process={process_id} key=({} bytes, not shown)", secret_key.len())
        }
        Message::ParameterStatus { name, value } => {
            write!(f, " {}={}", name.escape_debug(), Shown(value.as_bytes()))
        }
        Message::NegotiateProtocolVersion { newest_minor, unrecognized } => {
            write!(f, " newest=3.{newest_minor} unrecognized={unrecognized:?}")
        }
        Message::ReadyForQuery(status) => f.write_str(match status {
            TransactionStatus::Idle => " idle",
            TransactionStatus::InTransaction => " in transaction",
            TransactionStatus::Failed => " in failed transaction",
        }),
        Message::ParameterDescription(types) => write!(f, " {types:?}"),
        Message::RowDescription(fields) => fields.iter().try_for_each(|field| column(field, f)),
        Message::CommandComplete(tag) => write!(f, " {}", Shown(tag.as_bytes())),
        Message::ErrorResponse(fields) | Message::NoticeResponse(fields) => error_fields(fields, f),
        Message::NotificationResponse { process_id, channel, payload } => {
            let (channel, payload) = (Shown(channel.as_bytes()), Shown(payload.as_bytes()));
            write!(f, " process={process_id} channel={channel} payload={payload}")
        }
        Message::CopyInResponse(format)
        | Message::CopyOutResponse(format)
        | Message::CopyBothResponse(format) => copy_format(format, f),
        Message::CopyData(data) => write!(f, " {}", Shown(data)),
        Message::FunctionCallResponse(value) => write!(f, " {}", ShownValue(*value)),
        Message::AuthenticationOk
        | Message::AuthenticationGss
        | Message::AuthenticationCleartextPassword
        | Message::AuthenticationMd5Password { .. }
        | Message::ParseComplete
        | Message::BindComplete
        | Message::CloseComplete
        | Message::NoData
        | Message::PortalSuspended
        | Message::EmptyQueryResponse
        | Message::CopyDone => Ok(()),
    }
}

fn column(field: &Field, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        f,
        " {}(type={} size={} modifier={} table={}.{} {})",
        Shown(field.name.as_bytes()),
        field.type_oid,
        field.type_size,
        field.type_modifier,
        field.table_oid,
        field.column_number,
        format_name(field.format)
    )
}

fn error_fields(fields: &ErrorFields, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    fields.iter().try_for_each(|(code, text)| {
        let text = Shown(text.as_bytes());
        match ErrorFields::field_name(code) {
            Some(name) => write!(f, " {name}={text}"),
            None => write!(f, " {}={text}", code.escape_ascii()),
        }
    })
}

fn copy_format(format: &CopyFormat, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, " {} [{}]", format_name(format.overall), format_list(&format.columns))
}
