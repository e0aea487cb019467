//! Messages that begin and end a connection, and the cancel request, which is the only message of
//! its connection. The first messages have no tag.

use super::LocalError;
use super::writer::{bare, bytes, counted, message, patch, text};

const PROTOCOL_3_0: u32 = 3 << 16;
const CANCEL_REQUEST: u32 = (1234 << 16) | 5678;
const SSL_REQUEST: u32 = (1234 << 16) | 5679;
const GSSENC_REQUEST: u32 = (1234 << 16) | 5680;

/// Servers close the connection on longer startup messages, without saying why.
const STARTUP_LEN_MAX: usize = 10_000;

/// Requests TLS. The server answers with one byte before any frames, `S` or `N`. Bytes received
/// together with an `S` came unencrypted, possibly from an attacker, and must be refused.
pub fn ssl_request(out: &mut Vec<u8>) {
    untagged(out, SSL_REQUEST, &[]);
}

/// Requests GSSAPI encryption; the server answers with one byte, `G` or `N`.
pub fn gssenc_request(out: &mut Vec<u8>) {
    untagged(out, GSSENC_REQUEST, &[]);
}

/// Requests to cancel the query of another connection, identified by its
/// [`BackendKeyData`](crate::Message::BackendKeyData). The server closes without an answer.
pub fn cancel_request(out: &mut Vec<u8>, process_id: i32, secret_key: &[u8]) {
    let mut body = Vec::with_capacity(4 + secret_key.len());
    body.extend_from_slice(&process_id.to_be_bytes());
    body.extend_from_slice(secret_key);
    untagged(out, CANCEL_REQUEST, &body);
}

fn untagged(out: &mut Vec<u8>, code: u32, body: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(body);
    // The body is a cancel key received in a message of at most 64 KiB.
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    patch(out, start, length);
}

/// Begins a session of protocol 3.0 with parameters such as `user`, `database` and
/// `client_encoding`.
///
/// ```
/// let mut out = Vec::new();
/// colonnade_protocol::frontend::startup(&mut out, [("user", "ada"), ("database", "engine")])?;
/// assert_eq!(out, b"\0\0\0\x22\0\x03\0\0user\0ada\0database\0engine\0\0");
/// # Ok::<(), colonnade_protocol::LocalError>(())
/// ```
pub fn startup<'a>(
    out: &mut Vec<u8>,
    params: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), LocalError> {
    counted(out, "StartupMessage", |out| {
        let start = out.len() - 4;
        out.extend_from_slice(&PROTOCOL_3_0.to_be_bytes());
        for (name, value) in params {
            if name.is_empty() {
                return Err(LocalError::EmptyParameterName);
            }
            text(out, "name of a startup parameter", name)?;
            text(out, "value of a startup parameter", value)?;
        }
        out.push(0);
        match out.len() - start {
            length if length > STARTUP_LEN_MAX => Err(LocalError::StartupTooLong { length }),
            _ => Ok(()),
        }
    })
}

/// Sends a password, in clear text or as its MD5 digest.
pub fn password(out: &mut Vec<u8>, password: &[u8]) -> Result<(), LocalError> {
    message(out, b'p', "PasswordMessage", |out| bytes(out, "password", password))
}

/// Chooses a SASL mechanism and sends the client's first message.
pub fn sasl_initial_response(
    out: &mut Vec<u8>,
    mechanism: &str,
    data: &[u8],
) -> Result<(), LocalError> {
    message(out, b'p', "SASLInitialResponse", |out| {
        text(out, "name of the SASL mechanism", mechanism)?;
        let length = u32::try_from(data.len()).map_err(|_| LocalError::MessageTooLarge {
            message: "SASLInitialResponse",
            length: data.len(),
        })?;
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(data);
        Ok(())
    })
}

/// Sends another message of the SASL exchange.
pub fn sasl_response(out: &mut Vec<u8>, data: &[u8]) -> Result<(), LocalError> {
    message(out, b'p', "SASLResponse", |out| {
        out.extend_from_slice(data);
        Ok(())
    })
}

/// Sends a token of the GSSAPI exchange.
pub fn gss_response(out: &mut Vec<u8>, token: &[u8]) -> Result<(), LocalError> {
    message(out, b'p', "GSSResponse", |out| {
        out.extend_from_slice(token);
        Ok(())
    })
}

/// Ends the session; the server closes the connection.
pub fn terminate(out: &mut Vec<u8>) {
    bare(out, b'X');
}
