//! The tag bytes that a server may send: their names, and the maximum length of each message.
//!
//! This is the only table of backend tags. Any other byte is refused before its length is trusted.

/// Bound on the length field of messages that carry user data or text.
///
/// PostgreSQL itself never builds a value or a message above 1 GiB; the additional 64 KiB leave
/// room for the data around one such value.
pub(crate) const LONG_LENGTH_MAX: usize = 0x4000_0000 + 0x1_0000;

/// Bound on the length field of all other messages.
///
/// The longest legitimate ones are a COPY response (2 bytes per column, at most 1664 columns, 3.3
/// KiB) and the authentication exchange (a few hundred bytes); libpq's limit is 30 000. Without
/// this bound a server could announce a gigabyte of `ReadyForQuery` and have the client buffer it.
pub(crate) const SHORT_LENGTH_MAX: usize = 0x1_0000;

pub(crate) const AUTHENTICATION: u8 = b'R';
pub(crate) const BACKEND_KEY_DATA: u8 = b'K';
pub(crate) const BIND_COMPLETE: u8 = b'2';
pub(crate) const CLOSE_COMPLETE: u8 = b'3';
pub(crate) const COMMAND_COMPLETE: u8 = b'C';
pub(crate) const COPY_BOTH_RESPONSE: u8 = b'W';
pub(crate) const COPY_DATA: u8 = b'd';
pub(crate) const COPY_DONE: u8 = b'c';
pub(crate) const COPY_IN_RESPONSE: u8 = b'G';
pub(crate) const COPY_OUT_RESPONSE: u8 = b'H';
pub(crate) const DATA_ROW: u8 = b'D';
pub(crate) const EMPTY_QUERY_RESPONSE: u8 = b'I';
pub(crate) const ERROR_RESPONSE: u8 = b'E';
pub(crate) const FUNCTION_CALL_RESPONSE: u8 = b'V';
pub(crate) const NEGOTIATE_PROTOCOL_VERSION: u8 = b'v';
pub(crate) const NO_DATA: u8 = b'n';
pub(crate) const NOTICE_RESPONSE: u8 = b'N';
pub(crate) const NOTIFICATION_RESPONSE: u8 = b'A';
pub(crate) const PARAMETER_DESCRIPTION: u8 = b't';
pub(crate) const PARAMETER_STATUS: u8 = b'S';
pub(crate) const PARSE_COMPLETE: u8 = b'1';
pub(crate) const PORTAL_SUSPENDED: u8 = b's';
pub(crate) const READY_FOR_QUERY: u8 = b'Z';
pub(crate) const ROW_DESCRIPTION: u8 = b'T';

/// The protocol's name of the message with `tag`; `None` if no server message has this tag.
pub(crate) const fn name(tag: u8) -> Option<&'static str> {
    Some(match tag {
        AUTHENTICATION => "Authentication",
        BACKEND_KEY_DATA => "BackendKeyData",
        BIND_COMPLETE => "BindComplete",
        CLOSE_COMPLETE => "CloseComplete",
        COMMAND_COMPLETE => "CommandComplete",
        COPY_BOTH_RESPONSE => "CopyBothResponse",
        COPY_DATA => "CopyData",
        COPY_DONE => "CopyDone",
        COPY_IN_RESPONSE => "CopyInResponse",
        COPY_OUT_RESPONSE => "CopyOutResponse",
        DATA_ROW => "DataRow",
        EMPTY_QUERY_RESPONSE => "EmptyQueryResponse",
        ERROR_RESPONSE => "ErrorResponse",
        FUNCTION_CALL_RESPONSE => "FunctionCallResponse",
        NEGOTIATE_PROTOCOL_VERSION => "NegotiateProtocolVersion",
        NO_DATA => "NoData",
        NOTICE_RESPONSE => "NoticeResponse",
        NOTIFICATION_RESPONSE => "NotificationResponse",
        PARAMETER_DESCRIPTION => "ParameterDescription",
        PARAMETER_STATUS => "ParameterStatus",
        PARSE_COMPLETE => "ParseComplete",
        PORTAL_SUSPENDED => "PortalSuspended",
        READY_FOR_QUERY => "ReadyForQuery",
        ROW_DESCRIPTION => "RowDescription",
        _ => return None,
    })
}

/// The largest length field a message with this tag may carry; `None` for unknown tags.
pub(crate) const fn length_max(tag: u8) -> Option<usize> {
    match tag {
        DATA_ROW
        | COPY_DATA
        | ROW_DESCRIPTION
        | ERROR_RESPONSE
        | NOTICE_RESPONSE
        | NOTIFICATION_RESPONSE
        | PARAMETER_STATUS
        | PARAMETER_DESCRIPTION
        | FUNCTION_CALL_RESPONSE => Some(LONG_LENGTH_MAX),
        _ if name(tag).is_some() => Some(SHORT_LENGTH_MAX),
        _ => None,
    }
}
