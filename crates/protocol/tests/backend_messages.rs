//! Every message of the server: its bytes, its meaning, and every way to truncate it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the helpers of a test fail like the test itself"
)]

mod support;

use colonnade_protocol::error::Fault;
use colonnade_protocol::{
    CopyFormat, Error, ErrorFields, Field, Format, Message, RemoteError, TransactionStatus,
};

/// A message, its bytes, and the number of bytes that it needs. The rest is data up to the end of
/// the frame, of any length.
struct Case {
    tag: u8,
    body: &'static [u8],
    message: Message<'static>,
    needed: Option<usize>,
}

fn whole(tag: u8, body: &'static [u8], message: Message<'static>) -> Case {
    Case { tag, body, message, needed: None }
}

fn open(tag: u8, needed: usize, body: &'static [u8], message: Message<'static>) -> Case {
    Case { tag, body, message, needed: Some(needed) }
}

fn error_fields(fields: &[(u8, &str)]) -> ErrorFields {
    fields.iter().map(|(code, text)| (*code, (*text).to_owned())).collect()
}

fn cases() -> Vec<Case> {
    let mut cases = connection_cases();
    cases.extend(query_cases());
    cases.extend(copy_cases());
    cases
}

fn connection_cases() -> Vec<Case> {
    vec![
        whole(b'R', b"\0\0\0\0", Message::AuthenticationOk),
        whole(b'R', b"\0\0\0\x03", Message::AuthenticationCleartextPassword),
        whole(
            b'R',
            b"\0\0\0\x05\x01\x02\x03\x04",
            Message::AuthenticationMd5Password { salt: [1, 2, 3, 4] },
        ),
        open(
            b'R',
            4,
            b"\0\0\0\x0br=n,s=c,i=1",
            Message::AuthenticationSaslContinue(b"r=n,s=c,i=1"),
        ),
        open(b'R', 4, b"\0\0\0\x0cv=proof", Message::AuthenticationSaslFinal(b"v=proof")),
        whole(b'R', b"\0\0\0\x07", Message::AuthenticationGss),
        open(b'R', 4, b"\0\0\0\x08token", Message::AuthenticationGssContinue(b"token")),
        open(b'R', 4, b"\0\0\0\x09", Message::AuthenticationUnsupported(9)),
        open(
            b'K',
            8,
            b"\0\0\x04\xd2\xde\xad\xbe\xef",
            Message::BackendKeyData { process_id: 1234, secret_key: b"\xde\xad\xbe\xef" },
        ),
        whole(
            b'S',
            b"TimeZone\0Europe/London\0",
            Message::ParameterStatus { name: "TimeZone", value: "Europe/London" },
        ),
        whole(
            b'v',
            b"\0\x03\0\x02\0\0\0\x02_pq_.a\0_pq_.b\0",
            Message::NegotiateProtocolVersion {
                newest_minor: 2,
                unrecognized: vec!["_pq_.a".into(), "_pq_.b".into()],
            },
        ),
        whole(
            b'v',
            b"\0\0\0\0\0\0\0\0",
            Message::NegotiateProtocolVersion { newest_minor: 0, unrecognized: vec![] },
        ),
    ]
}

fn query_cases() -> Vec<Case> {
    let field = Field {
        name: "größe".into(),
        table_oid: 16_384,
        column_number: 2,
        type_oid: 1700,
        type_size: -1,
        type_modifier: 655_366,
        format: Format::Binary,
    };
    vec![
        whole(b'Z', b"I", Message::ReadyForQuery(TransactionStatus::Idle)),
        whole(b'Z', b"T", Message::ReadyForQuery(TransactionStatus::InTransaction)),
        whole(b'Z', b"E", Message::ReadyForQuery(TransactionStatus::Failed)),
        whole(b'1', b"", Message::ParseComplete),
        whole(b'2', b"", Message::BindComplete),
        whole(b'3', b"", Message::CloseComplete),
        whole(b'n', b"", Message::NoData),
        whole(b's', b"", Message::PortalSuspended),
        whole(b'I', b"", Message::EmptyQueryResponse),
        whole(b't', b"\0\0", Message::ParameterDescription(vec![])),
        whole(b't', b"\0\x02\0\0\0\x17\0\0\x06\xa4", Message::ParameterDescription(vec![23, 1700])),
        whole(b'T', b"\0\0", Message::RowDescription(vec![])),
        whole(
            b'T',
            b"\0\x01gr\xc3\xb6\xc3\x9fe\0\0\0\x40\0\0\x02\0\0\x06\xa4\xff\xff\0\x0a\0\x06\0\x01",
            Message::RowDescription(vec![field]),
        ),
        whole(b'C', b"INSERT 0 7\0", Message::CommandComplete("INSERT 0 7")),
        whole(b'E', b"\0", Message::ErrorResponse(error_fields(&[]))),
        whole(
            b'E',
            b"SFEHLER\0VERROR\0C42601\0Msyntax error\0P8\0zfuture\0\0",
            Message::ErrorResponse(error_fields(&[
                (b'S', "FEHLER"),
                (b'V', "ERROR"),
                (b'C', "42601"),
                (b'M', "syntax error"),
                (b'P', "8"),
                (b'z', "future"),
            ])),
        ),
        whole(
            b'N',
            b"SHINWEIS\0Mnot \xff UTF-8\0\0",
            Message::NoticeResponse(error_fields(&[
                (b'S', "HINWEIS"),
                (b'M', "not \u{fffd} UTF-8"),
            ])),
        ),
        whole(
            b'A',
            b"\0\0\0\x09jobs\0{\"id\":1}\0",
            Message::NotificationResponse { process_id: 9, channel: "jobs", payload: "{\"id\":1}" },
        ),
        whole(b'V', b"\xff\xff\xff\xff", Message::FunctionCallResponse(None)),
        whole(b'V', b"\0\0\0\0", Message::FunctionCallResponse(Some(b""))),
        whole(b'V', b"\0\0\0\x03abc", Message::FunctionCallResponse(Some(b"abc"))),
    ]
}

fn copy_cases() -> Vec<Case> {
    let binary = CopyFormat { overall: Format::Binary, columns: vec![Format::Binary; 2] };
    let text = CopyFormat { overall: Format::Text, columns: vec![Format::Text] };
    let none = CopyFormat { overall: Format::Text, columns: vec![] };
    vec![
        whole(b'G', b"\0\0\x01\0\0", Message::CopyInResponse(text)),
        whole(b'H', b"\x01\0\x02\0\x01\0\x01", Message::CopyOutResponse(binary)),
        whole(b'W', b"\0\0\0", Message::CopyBothResponse(none)),
        open(b'd', 0, b"1\ttwo\n", Message::CopyData(b"1\ttwo\n")),
        whole(b'c', b"", Message::CopyDone),
    ]
}

#[test]
fn bytes_mean_what_the_protocol_says() {
    for case in cases() {
        assert_eq!(Message::parse(case.tag, case.body), Ok(case.message));
    }
}

#[test]
fn the_sasl_list_is_read_to_its_end() {
    let body = b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
    let Ok(Message::AuthenticationSasl(offered)) = Message::parse(b'R', body) else { panic!() };
    assert_eq!(offered.iter().collect::<Vec<_>>(), ["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"]);
    for end in 0..body.len() {
        assert!(Message::parse(b'R', &body[..end]).is_err(), "{end}");
    }
    for bad in
        [&b"\0\0\0\x0a\0"[..], b"\0\0\0\x0a\xff\0\0", b"\0\0\0\x0aA\0\0\0", b"\0\0\0\x0aA\0\0B"]
    {
        assert!(Message::parse(b'R', bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_body_cut_anywhere_is_an_error() {
    for case in cases() {
        for end in 0..case.needed.unwrap_or(case.body.len()) {
            let result = Message::parse(case.tag, &case.body[..end]);
            assert!(
                matches!(result, Err(Error::Remote(RemoteError::Malformed { .. }))),
                "{:?} cut at {end} gave {result:?}",
                case.message
            );
        }
    }
}

#[test]
fn bytes_behind_the_end_are_an_error() {
    for case in cases().iter().filter(|case| case.needed.is_none()) {
        let longer = [case.body, b"\0"].concat();
        let result = Message::parse(case.tag, &longer);
        let Err(Error::Remote(RemoteError::Malformed { fault, .. })) = result else {
            panic!("{:?} with a byte behind it gave {result:?}", case.message);
        };
        assert_eq!(fault, Fault::Trailing { count: 1 });
    }
}

#[test]
fn impossible_contents_are_named() {
    let fault = |tag, body: &[u8]| match Message::parse(tag, body) {
        Err(Error::Remote(RemoteError::Malformed { fault, .. })) => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault(b'Z', b"X"), Fault::TransactionStatus { status: b'X' });
    assert_eq!(fault(b'G', b"\x02\0\0"), Fault::FormatCode { code: 2 });
    assert_eq!(fault(b'G', b"\0\0\x01\0\x07"), Fault::FormatCode { code: 7 });
    assert_eq!(fault(b'C', b"SELECT \xff\0"), Fault::NotUtf8 { part: "command tag" });
    assert_eq!(fault(b'T', b"\xff\xff"), Fault::Negative { part: "column count", value: -1 });
    assert_eq!(
        fault(b'V', b"\xff\xff\xff\xfe"),
        Fault::Negative { part: "function result", value: -2 }
    );
    assert_eq!(fault(b'v', b"\0\x04\0\0\0\0\0\0"), Fault::ProtocolVersion { version: 0x4_0000 });
    let many = [b"a\0".repeat(256), vec![0]].concat();
    assert_eq!(fault(b'E', &many), Fault::TooManyFields { limit: 255 });
    assert_eq!(Message::parse(b'D', b"\0\0"), Err(RemoteError::RowAsMessage.into()));
    assert_eq!(Message::parse(b'!', b""), Err(RemoteError::UnknownTag { tag: b'!' }.into()));
}

#[test]
fn error_fields_have_names() {
    let fields =
        error_fields(&[(b'S', "FATAL"), (b'C', "57P01"), (b'H', "wait"), (b'C', "second")]);
    assert_eq!(fields.severity(), Some("FATAL"));
    assert_eq!(fields.code(), Some("57P01"));
    assert_eq!(fields.hint(), Some("wait"));
    assert_eq!(fields.detail(), None);
    assert_eq!(fields.iter().count(), 4);
    let both = error_fields(&[(b'S', "FEHLER"), (b'V', "ERROR")]);
    assert_eq!((both.severity(), both.severity_localized()), (Some("ERROR"), Some("FEHLER")));
    let known: Vec<_> = (0..=255).filter_map(ErrorFields::field_name).collect();
    assert_eq!(known.len(), 18);
    assert_eq!(ErrorFields::field_name(b'n'), Some("constraint_name"));
}

#[test]
fn cancel_keys_are_not_printed() {
    let message = Message::BackendKeyData { process_id: 7, secret_key: b"hush" };
    assert_eq!(format!("{message:?}"), "BackendKeyData process=7 key=(4 bytes, not shown)");
}
