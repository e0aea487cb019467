//! Every message of the client: the call, its bytes, and its line in a trace.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the helpers of a test fail like the test itself"
)]

use colonnade_protocol::frontend::*;
use colonnade_protocol::trace::trace_frontend;
use colonnade_protocol::{Format, LocalError};

type Write = Box<dyn Fn(&mut Vec<u8>) -> Result<(), LocalError>>;

fn sure(write: fn(&mut Vec<u8>)) -> Write {
    Box::new(move |out| {
        write(out);
        Ok(())
    })
}

fn params(values: &[(Format, Option<&[u8]>)]) -> EncodedParams {
    let mut params = EncodedParams::new();
    for (format, value) in values {
        match value {
            None => params.push_null(*format),
            Some(value) => params
                .push(*format, |out| {
                    out.extend_from_slice(value);
                    Ok::<_, LocalError>(())
                })
                .unwrap(),
        }
    }
    params
}

fn connection_cases() -> Vec<(Write, &'static [u8], &'static str)> {
    vec![
        (
            Box::new(|out| startup(out, [("user", "ada"), ("application_name", "")])),
            b"\0\0\0\x24\0\x03\0\0user\0ada\0application_name\0\0\0",
            "StartupMessage 3.0 user=\"ada\" application_name=\"\"",
        ),
        (sure(ssl_request), b"\0\0\0\x08\x04\xd2\x16\x2f", "SSLRequest"),
        (sure(gssenc_request), b"\0\0\0\x08\x04\xd2\x16\x30", "GSSENCRequest"),
        (
            sure(|out| cancel_request(out, 1234, b"\xde\xad\xbe\xef")),
            b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\x04\xd2\xde\xad\xbe\xef",
            "CancelRequest process=1234 key=(4 bytes, not shown)",
        ),
        (
            Box::new(|out| password(out, b"hush")),
            b"p\0\0\0\x09hush\0",
            "PasswordMessage (5 bytes, not shown)",
        ),
        (
            Box::new(|out| sasl_initial_response(out, "SCRAM-SHA-256", b"n,,n=,r=x")),
            b"p\0\0\0\x1fSCRAM-SHA-256\0\0\0\0\x09n,,n=,r=x",
            "PasswordMessage (27 bytes, not shown)",
        ),
        (
            Box::new(|out| sasl_response(out, b"c=biws")),
            b"p\0\0\0\x0ac=biws",
            "PasswordMessage (6 bytes, not shown)",
        ),
        (
            Box::new(|out| gss_response(out, b"token")),
            b"p\0\0\0\x09token",
            "PasswordMessage (5 bytes, not shown)",
        ),
        (sure(terminate), b"X\0\0\0\x04", "Terminate"),
    ]
}

fn query_cases() -> Vec<(Write, &'static [u8], &'static str)> {
    vec![
        (Box::new(|out| query(out, "SELECT 'ü'")), b"Q\0\0\0\x10SELECT '\xc3\xbc'\0", {
            "Query \"SELECT \\'ü\\'\""
        }),
        (
            Box::new(|out| parse(out, "s1", "SELECT $1", &[23, 0])),
            b"P\0\0\0\x1bs1\0SELECT $1\0\0\x02\0\0\0\x17\0\0\0\0",
            "Parse statement=\"s1\" \"SELECT $1\" types=[23,0]",
        ),
        (
            Box::new(|out| describe_statement(out, "s1")),
            b"D\0\0\0\x08Ss1\0",
            "Describe statement=\"s1\"",
        ),
        (Box::new(|out| describe_portal(out, "")), b"D\0\0\0\x06P\0", "Describe portal=\"\""),
        (
            Box::new(|out| execute(out, "p", 100)),
            b"E\0\0\0\x0ap\0\0\0\0\x64",
            "Execute portal=\"p\" max_rows=100",
        ),
        (Box::new(|out| close_statement(out, "s1")), b"C\0\0\0\x08Ss1\0", "Close statement=\"s1\""),
        (Box::new(|out| close_portal(out, "p")), b"C\0\0\0\x07Pp\0", "Close portal=\"p\""),
        (sure(sync), b"S\0\0\0\x04", "Sync"),
        (sure(flush), b"H\0\0\0\x04", "Flush"),
        (
            Box::new(|out| copy_data(out, b"1\t\xff\n")),
            b"d\0\0\0\x081\t\xff\n",
            "CopyData \"1\\t\\xff\\n\"",
        ),
        (sure(copy_done), b"c\0\0\0\x04", "CopyDone"),
        (Box::new(|out| copy_fail(out, "no")), b"f\0\0\0\x07no\0", "CopyFail \"no\""),
    ]
}

fn bind_cases() -> Vec<(Write, &'static [u8], &'static str)> {
    const TEXT: Format = Format::Text;
    const BINARY: Format = Format::Binary;
    vec![
        (
            Box::new(|out| bind(out, "", "", &EncodedParams::new(), &[])),
            b"B\0\0\0\x0c\0\0\0\0\0\0\0\0",
            "Bind portal=\"\" statement=\"\" formats=[] values=[] results=[]",
        ),
        // Equal formats are written once, or not at all if they are all text.
        (
            Box::new(|out| {
                let params = params(&[(BINARY, Some(b"\x07")), (BINARY, None)]);
                bind(out, "p", "s", &params, &[TEXT, TEXT])
            }),
            b"B\0\0\0\x19p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01\x07\xff\xff\xff\xff\0\0",
            "Bind portal=\"p\" statement=\"s\" formats=[binary] \
             values=[\"\\u{7}\", NULL] results=[]",
        ),
        (
            Box::new(|out| {
                let params = params(&[(BINARY, Some(b"")), (TEXT, Some(b"x"))]);
                bind(out, "", "s", &params, &[TEXT, BINARY])
            }),
            b"B\0\0\0\x1e\0s\0\0\x02\0\x01\0\0\0\x02\0\0\0\0\0\0\0\x01x\0\x02\0\0\0\x01",
            "Bind portal=\"\" statement=\"s\" formats=[binary,text] values=[\"\", \"x\"] \
             results=[text,binary]",
        ),
    ]
}

#[test]
fn messages_have_the_bytes_and_the_trace_that_are_expected() {
    let mut all = Vec::new();
    let mut lines = String::new();
    for (write, bytes, line) in
        connection_cases().into_iter().chain(query_cases()).chain(bind_cases())
    {
        let mut out = b"before".to_vec();
        write(&mut out).unwrap();
        assert_eq!(out[6..].escape_ascii().to_string(), bytes.escape_ascii().to_string());
        assert_eq!(trace_frontend(bytes), format!("F {line}\n"));
        all.extend_from_slice(bytes);
        lines.push_str(&format!("F {line}\n"));
    }
    assert_eq!(trace_frontend(&all), lines);
}

#[test]
fn a_trace_of_part_of_a_message_says_so() {
    for (_, bytes, _) in connection_cases().into_iter().chain(query_cases()).chain(bind_cases()) {
        for end in 1..bytes.len() {
            assert_eq!(trace_frontend(&bytes[..end]), format!("F (incomplete: {end} bytes)\n"));
        }
    }
    assert_eq!(trace_frontend(b"?\0\0\0\x04"), "F (unknown message 63)\n");
    assert_eq!(trace_frontend(b"S\0\0\0\x05x"), "F (malformed Sync: 1 bytes follow its end)\n");
    assert_eq!(trace_frontend(b"S\0\0\0\0"), "F (incomplete: 5 bytes)\n");
}

#[test]
fn nul_is_refused_and_leaves_the_buffer_alone() {
    let none = EncodedParams::new;
    let writes: Vec<Write> = vec![
        Box::new(|out| startup(out, [("user", "a\0b")])),
        Box::new(|out| startup(out, [("us\0er", "a")])),
        Box::new(|out| password(out, b"a\0b")),
        Box::new(|out| sasl_initial_response(out, "a\0b", b"")),
        Box::new(|out| query(out, "SELECT '\0'")),
        Box::new(|out| parse(out, "a\0b", "", &[])),
        Box::new(|out| parse(out, "", "a\0b", &[])),
        Box::new(move |out| bind(out, "a\0b", "", &none(), &[])),
        Box::new(move |out| bind(out, "", "a\0b", &none(), &[])),
        Box::new(|out| describe_statement(out, "a\0b")),
        Box::new(|out| describe_portal(out, "a\0b")),
        Box::new(|out| execute(out, "a\0b", 0)),
        Box::new(|out| close_statement(out, "a\0b")),
        Box::new(|out| close_portal(out, "a\0b")),
        Box::new(|out| copy_fail(out, "a\0b")),
    ];
    for write in writes {
        let mut out = b"before".to_vec();
        assert!(matches!(write(&mut out), Err(LocalError::NulInText { .. })));
        assert_eq!(out, b"before");
    }
}

#[test]
fn what_the_protocol_cannot_count_is_refused() {
    let mut out = Vec::new();
    let mut params = EncodedParams::new();
    for _ in 0..65_535 {
        params.push_null(Format::Binary);
    }
    bind(&mut out, "", "", &params, &[]).unwrap();
    parse(&mut out, "", "", &vec![23; 65_535]).unwrap();
    out.clear();
    params.push_null(Format::Binary);
    let error = LocalError::TooManyParameters { count: 65_536 };
    assert_eq!(bind(&mut out, "", "", &params, &[]), Err(error.clone()));
    assert_eq!(parse(&mut out, "", "", &vec![23; 65_536]), Err(error));
    let mut formats = vec![Format::Binary; 65_536];
    formats.push(Format::Text);
    let error = LocalError::TooManyResultFormats { count: 65_537 };
    assert_eq!(bind(&mut out, "", "", &EncodedParams::new(), &formats), Err(error));
    assert!(out.is_empty());
}

#[test]
fn startup_parameters_are_bounded_and_named() {
    let mut out = Vec::new();
    assert_eq!(startup(&mut out, [("", "x")]), Err(LocalError::EmptyParameterName));
    let long = "x".repeat(10_000);
    let error = startup(&mut out, [("options", long.as_str())]).unwrap_err();
    assert_eq!(error, LocalError::StartupTooLong { length: 10_018 });
    assert!(out.is_empty());
}

#[test]
fn a_value_that_fails_to_encode_leaves_no_trace() {
    let mut params = params(&[(Format::Text, Some(b"kept"))]);
    let failed = params.push(Format::Binary, |out| {
        out.extend_from_slice(b"half");
        Err("no")
    });
    assert_eq!(failed, Err("no"));
    assert_eq!((params.count(), params.formats()), (1, &[Format::Text][..]));
    assert_eq!(params.bytes(), b"\0\0\0\x04kept");
    assert!(!format!("{params:?}").contains("kept"));
    params.clear();
    assert_eq!((params.count(), params.bytes()), (0, &b""[..]));
}

/// Needs 1 GiB of memory that is never read: the kernel gives it lazily, but not everywhere.
#[test]
#[ignore = "allocates more than 1 GiB"]
fn values_and_messages_of_a_gigabyte_are_refused() {
    const GIB: usize = 1 << 30;
    let mut params = EncodedParams::new();
    params
        .push(Format::Binary, |out| {
            out.resize(out.len() + GIB, 0);
            Ok::<_, LocalError>(())
        })
        .unwrap();
    let mut out = Vec::new();
    let error = LocalError::ValueTooLarge { index: 0, length: GIB };
    assert_eq!(bind(&mut out, "", "", &params, &[]), Err(error));
    let error = LocalError::MessageTooLarge { message: "CopyData", length: GIB + 8 };
    assert_eq!(copy_data(&mut out, params.bytes()), Err(error));
    assert!(out.is_empty());
}
