//! The client's side of a trace.

use std::fmt::Write as _;

use super::{Shown, ShownValue, format_list};
use crate::error::{Fault, RemoteError};
use crate::reader::Reader;

/// The reason why the bytes are not a message.
enum NoMessage {
    Incomplete,
    Unknown(u32),
    Malformed(&'static str, Fault),
}

impl From<RemoteError> for NoMessage {
    fn from(error: RemoteError) -> Self {
        match error {
            RemoteError::Malformed { message, fault } => Self::Malformed(message, fault),
            // The reader returns no other error.
            _ => Self::Incomplete,
        }
    }
}

/// One line for each message that the client sent, each starting with `F`. The first bytes that are
/// not a whole message end the trace with a line that says so.
///
/// ```
/// use colonnade_protocol::{frontend, trace::trace_frontend};
///
/// let mut out = Vec::new();
/// frontend::startup(&mut out, [("user", "ada")])?;
/// frontend::password(&mut out, b"lovelace")?;
/// frontend::query(&mut out, "SELECT 7")?;
/// assert_eq!(
///     trace_frontend(&out),
///     "F StartupMessage 3.0 user=\"ada\"\n\
///      F PasswordMessage (9 bytes, not shown)\n\
///      F Query \"SELECT 7\"\n"
/// );
/// # Ok::<(), colonnade_protocol::LocalError>(())
/// ```
pub fn trace_frontend(bytes: &[u8]) -> String {
    let mut lines = String::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let line = match one_message(rest) {
            Ok((line, total)) => {
                rest = rest.get(total..).unwrap_or(&[]);
                line
            }
            Err(fault) => {
                let left = std::mem::take(&mut rest).len();
                match fault {
                    NoMessage::Incomplete => format!("(incomplete: {left} bytes)"),
                    NoMessage::Unknown(tag) => format!("(unknown message {tag})"),
                    NoMessage::Malformed(name, fault) => format!("(malformed {name}: {fault})"),
                }
            }
        };
        lines.push_str("F ");
        lines.push_str(&line);
        lines.push('\n');
    }
    lines
}

/// The line of the first message and its size in bytes.
fn one_message(bytes: &[u8]) -> Result<(String, usize), NoMessage> {
    let (&tag, tail) = bytes.split_first().ok_or(NoMessage::Incomplete)?;
    // Messages without a tag start with their length, which is far below 2^24.
    let (counted, before) = if tag == 0 { (bytes, 0) } else { (tail, 1) };
    let length = counted.first_chunk::<4>().ok_or(NoMessage::Incomplete)?;
    let length = u32::from_be_bytes(*length) as usize;
    let body = counted.get(4..length).ok_or(NoMessage::Incomplete)?;
    let line = if tag == 0 { untagged(body)? } else { tagged(tag, body)? };
    Ok((line, length + before))
}

fn untagged(body: &[u8]) -> Result<String, NoMessage> {
    const CANCEL: u32 = (1234 << 16) | 5678;
    const SSL: u32 = (1234 << 16) | 5679;
    const GSSENC: u32 = (1234 << 16) | 5680;

    let mut reader = Reader::new("StartupMessage", body);
    let code = reader.u32("protocol version")?;
    Ok(match code {
        SSL => "SSLRequest".to_owned(),
        GSSENC => "GSSENCRequest".to_owned(),
        CANCEL => {
            let process_id = reader.i32("process id")?;
            format!("CancelRequest process={process_id} key=({} bytes, not shown)", reader.left())
        }
        _ if code >> 16 == 3 => {
            let mut line = format!("StartupMessage 3.{}", code & 0xffff);
            loop {
                let name = reader.terminated("parameter name")?;
                if name.is_empty() {
                    break;
                }
                let value = Shown(reader.terminated("parameter value")?);
                let _ = write!(line, " {}={value}", name.escape_ascii());
            }
            reader.finish()?;
            line
        }
        _ => return Err(NoMessage::Unknown(code)),
    })
}

fn tagged(tag: u8, body: &[u8]) -> Result<String, NoMessage> {
    let line = match tag {
        b'B' => return bind(Reader::new("Bind", body)),
        b'P' => return parse(Reader::new("Parse", body)),
        b'Q' => one_text("Query", body)?,
        b'f' => one_text("CopyFail", body)?,
        b'C' => target("Close", body)?,
        b'D' => target("Describe", body)?,
        b'E' => {
            let mut reader = Reader::new("Execute", body);
            let portal = Shown(reader.terminated("portal name")?);
            let line = format!("Execute portal={portal} max_rows={}", reader.i32("row limit")?);
            reader.finish()?;
            line
        }
        b'd' => format!("CopyData {}", Shown(body)),
        b'p' => format!("PasswordMessage ({} bytes, not shown)", body.len()),
        b'S' => bare("Sync", body)?,
        b'H' => bare("Flush", body)?,
        b'X' => bare("Terminate", body)?,
        b'c' => bare("CopyDone", body)?,
        _ => return Err(NoMessage::Unknown(u32::from(tag))),
    };
    Ok(line)
}

fn bare(name: &'static str, body: &[u8]) -> Result<String, RemoteError> {
    Reader::new(name, body).finish()?;
    Ok(name.to_owned())
}

fn one_text(name: &'static str, body: &[u8]) -> Result<String, RemoteError> {
    let mut reader = Reader::new(name, body);
    let line = format!("{name} {}", Shown(reader.terminated("text")?));
    reader.finish()?;
    Ok(line)
}

fn target(name: &'static str, body: &[u8]) -> Result<String, RemoteError> {
    let mut reader = Reader::new(name, body);
    let kind = match reader.u8("kind")? {
        b'P' => "portal",
        b'S' => "statement",
        _ => "unknown",
    };
    let line = format!("{name} {kind}={}", Shown(reader.terminated("name")?));
    reader.finish()?;
    Ok(line)
}

fn parse(mut reader: Reader<'_>) -> Result<String, NoMessage> {
    let statement = Shown(reader.terminated("statement name")?);
    let sql = Shown(reader.terminated("query text")?);
    let mut line = format!("Parse statement={statement} {sql} types=[");
    for index in 0..reader.u16("type count")? {
        let separator = if index == 0 { "" } else { "," };
        let _ = write!(line, "{separator}{}", reader.u32("type")?);
    }
    line.push(']');
    reader.finish()?;
    Ok(line)
}

fn bind(mut reader: Reader<'_>) -> Result<String, NoMessage> {
    let portal = Shown(reader.terminated("portal name")?);
    let statement = Shown(reader.terminated("statement name")?);
    let mut line = format!("Bind portal={portal} statement={statement}");
    let formats = formats(&mut reader)?;
    let _ = write!(line, " formats=[{formats}] values=[");
    for index in 0..reader.u16("parameter count")? {
        let separator = if index == 0 { "" } else { ", " };
        let _ = write!(line, "{separator}{}", ShownValue(reader.value("parameter")?));
    }
    let _ = write!(line, "] results=[{}]", self::formats(&mut reader)?);
    reader.finish()?;
    Ok(line)
}

fn formats(reader: &mut Reader<'_>) -> Result<String, RemoteError> {
    let mut formats = Vec::new();
    for _ in 0..reader.u16("format count")? {
        formats.push(reader.format("format")?);
    }
    Ok(format_list(&formats))
}
