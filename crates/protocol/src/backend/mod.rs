//! The server's messages: one message body becomes one [`Message`].
//!
//! Each family of messages has its file; this one holds the list and the dispatch.

mod authentication;
mod copy;
mod error_fields;
mod negotiation;
mod parameter;
mod query;
mod row_description;

pub use authentication::SaslMechanisms;
pub use copy::CopyFormat;
pub use error_fields::ErrorFields;
pub use query::TransactionStatus;
pub use row_description::Field;

use std::fmt;

use crate::Oid;
use crate::error::{Error, RemoteError};
use crate::reader::Reader;
use crate::tag;
use crate::trace;

/// One message of the server, borrowed from its frame where that saves a copy.
///
/// A `DataRow` is not among them: rows stay in their run, see [`DataRows`](crate::DataRows).
#[derive(Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// The client is let in.
    AuthenticationOk,
    /// The server wants the password in clear text.
    AuthenticationCleartextPassword,
    /// The server wants the password hashed with MD5.
    AuthenticationMd5Password {
        /// Random bytes that go into the hash.
        salt: [u8; 4],
    },
    /// The server wants a GSSAPI exchange, which the client begins.
    AuthenticationGss,
    /// The next token of the GSSAPI exchange.
    AuthenticationGssContinue(&'a [u8]),
    /// The server wants a SASL exchange and lists the mechanisms it offers.
    AuthenticationSasl(SaslMechanisms<'a>),
    /// The next step of the SASL exchange.
    AuthenticationSaslContinue(&'a [u8]),
    /// The last step of the SASL exchange, with the server's proof.
    AuthenticationSaslFinal(&'a [u8]),
    /// A method that this crate does not support, by its code: Kerberos, SSPI and others.
    AuthenticationUnsupported(i32),
    /// The key with which a cancel request identifies this connection.
    BackendKeyData {
        /// The server process of this connection.
        process_id: i32,
        /// Proof that the cancel request comes from this connection's owner: 4 bytes in protocol
        /// 3.0, up to 256 in 3.2. `Debug` does not print it.
        secret_key: &'a [u8],
    },
    /// The value of a setting, at startup and whenever it changes.
    ParameterStatus {
        /// The setting.
        name: &'a str,
        /// Its current value.
        value: &'a str,
    },
    /// The server does not know the requested minor version, or some protocol options.
    NegotiateProtocolVersion {
        /// The newest minor version of protocol 3 that the server speaks.
        newest_minor: i32,
        /// The options it did not recognise.
        unrecognized: Vec<String>,
    },
    /// The server waits for the next query.
    ReadyForQuery(TransactionStatus),
    /// A statement is parsed.
    ParseComplete,
    /// A portal is bound.
    BindComplete,
    /// A statement or portal is closed.
    CloseComplete,
    /// The described statement or portal returns no rows.
    NoData,
    /// The row limit of an execute was reached; the portal has more.
    PortalSuspended,
    /// The query text was empty.
    EmptyQueryResponse,
    /// The types of a statement's parameters.
    ParameterDescription(Vec<Oid>),
    /// The columns of the rows that follow.
    RowDescription(Vec<Field>),
    /// A statement is done; the text is the command tag, such as `SELECT 5`.
    CommandComplete(&'a str),
    /// The statement failed, or the connection did.
    ErrorResponse(ErrorFields),
    /// A warning or another notice.
    NoticeResponse(ErrorFields),
    /// A `NOTIFY` on a channel that this connection listens to.
    NotificationResponse {
        /// The server process that notified.
        process_id: i32,
        /// The channel.
        channel: &'a str,
        /// The text sent with it, often empty.
        payload: &'a str,
    },
    /// The server waits for COPY data.
    CopyInResponse(CopyFormat),
    /// COPY data follows.
    CopyOutResponse(CopyFormat),
    /// COPY data goes both ways; replication connections only.
    CopyBothResponse(CopyFormat),
    /// A piece of COPY data.
    CopyData(&'a [u8]),
    /// The end of COPY data.
    CopyDone,
    /// The result of a function call; `None` is NULL.
    FunctionCallResponse(Option<&'a [u8]>),
}

impl<'a> Message<'a> {
    /// Parses the body of one frame.
    ///
    /// ```
    /// use colonnade_protocol::Message;
    ///
    /// assert_eq!(Message::parse(b'C', b"SELECT 5\0")?, Message::CommandComplete("SELECT 5"));
    /// # Ok::<(), colonnade_protocol::Error>(())
    /// ```
    pub fn parse(tag: u8, body: &'a [u8]) -> Result<Self, Error> {
        let name = tag::name(tag).ok_or(RemoteError::UnknownTag { tag })?;
        let reader = Reader::new(name, body);
        let message = match tag {
            tag::AUTHENTICATION => authentication::parse(reader),
            tag::BACKEND_KEY_DATA => negotiation::backend_key_data(reader),
            tag::NEGOTIATE_PROTOCOL_VERSION => negotiation::negotiate_protocol_version(reader),
            tag::PARAMETER_STATUS => parameter::parameter_status(reader),
            tag::PARAMETER_DESCRIPTION => parameter::parameter_description(reader),
            tag::ROW_DESCRIPTION => row_description::parse(reader),
            tag::READY_FOR_QUERY => query::ready_for_query(reader),
            tag::COMMAND_COMPLETE => query::command_complete(reader),
            tag::NOTIFICATION_RESPONSE => query::notification(reader),
            tag::FUNCTION_CALL_RESPONSE => query::function_call(reader),
            tag::ERROR_RESPONSE => ErrorFields::parse(reader).map(Self::ErrorResponse),
            tag::NOTICE_RESPONSE => ErrorFields::parse(reader).map(Self::NoticeResponse),
            tag::COPY_IN_RESPONSE => CopyFormat::parse(reader).map(Self::CopyInResponse),
            tag::COPY_OUT_RESPONSE => CopyFormat::parse(reader).map(Self::CopyOutResponse),
            tag::COPY_BOTH_RESPONSE => CopyFormat::parse(reader).map(Self::CopyBothResponse),
            tag::COPY_DATA => Ok(Self::CopyData(body)),
            tag::COPY_DONE => reader.finish().map(|()| Self::CopyDone),
            tag::PARSE_COMPLETE => reader.finish().map(|()| Self::ParseComplete),
            tag::BIND_COMPLETE => reader.finish().map(|()| Self::BindComplete),
            tag::CLOSE_COMPLETE => reader.finish().map(|()| Self::CloseComplete),
            tag::NO_DATA => reader.finish().map(|()| Self::NoData),
            tag::PORTAL_SUSPENDED => reader.finish().map(|()| Self::PortalSuspended),
            tag::EMPTY_QUERY_RESPONSE => reader.finish().map(|()| Self::EmptyQueryResponse),
            tag::DATA_ROW => Err(RemoteError::RowAsMessage),
            _ => Err(RemoteError::UnknownTag { tag }),
        };
        message.map_err(Error::Remote)
    }
}

impl Message<'_> {
    /// The protocol's name of this message.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::AuthenticationOk => "AuthenticationOk",
            Self::AuthenticationCleartextPassword => "AuthenticationCleartextPassword",
            Self::AuthenticationMd5Password { .. } => "AuthenticationMD5Password",
            Self::AuthenticationSasl(_) => "AuthenticationSASL",
            Self::AuthenticationGss => "AuthenticationGSS",
            Self::AuthenticationGssContinue(_) => "AuthenticationGSSContinue",
            Self::AuthenticationSaslContinue(_) => "AuthenticationSASLContinue",
            Self::AuthenticationSaslFinal(_) => "AuthenticationSASLFinal",
            Self::AuthenticationUnsupported(_) => "AuthenticationUnsupported",
            Self::BackendKeyData { .. } => "BackendKeyData",
            Self::ParameterStatus { .. } => "ParameterStatus",
            Self::NegotiateProtocolVersion { .. } => "NegotiateProtocolVersion",
            Self::ReadyForQuery(_) => "ReadyForQuery",
            Self::ParseComplete => "ParseComplete",
            Self::BindComplete => "BindComplete",
            Self::CloseComplete => "CloseComplete",
            Self::NoData => "NoData",
            Self::PortalSuspended => "PortalSuspended",
            Self::EmptyQueryResponse => "EmptyQueryResponse",
            Self::ParameterDescription(_) => "ParameterDescription",
            Self::RowDescription(_) => "RowDescription",
            Self::CommandComplete(_) => "CommandComplete",
            Self::ErrorResponse(_) => "ErrorResponse",
            Self::NoticeResponse(_) => "NoticeResponse",
            Self::NotificationResponse { .. } => "NotificationResponse",
            Self::CopyInResponse(_) => "CopyInResponse",
            Self::CopyOutResponse(_) => "CopyOutResponse",
            Self::CopyBothResponse(_) => "CopyBothResponse",
            Self::CopyData(_) => "CopyData",
            Self::CopyDone => "CopyDone",
            Self::FunctionCallResponse(_) => "FunctionCallResponse",
        }
    }
}

impl fmt::Debug for Message<'_> {
    /// The line of this message in a [`trace`]: readable, shortened if it is long, and without
    /// secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        trace::describe(self, f)
    }
}
