//! A server's side of whole sessions, fed in pieces of every size, and garbage of every kind.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the helpers of a test fail like the test itself"
)]

mod support;

use colonnade_protocol::trace::{trace_backend, trace_frontend};
use colonnade_protocol::{Error, Frame, Message, Spans, claimed_len, next_frame};
use proptest::prelude::*;
use support::{data_row, frame};

/// A reader's output for a session: a line for each message, a line for each row, and the error
/// that ends it. `columns` follows the last row description.
#[derive(Default)]
struct Transcript {
    lines: Vec<String>,
    columns: usize,
    spans: Spans,
}

impl Transcript {
    /// Takes the whole frames from the front of `buffer`.
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<(), Error> {
        loop {
            let consumed = match next_frame(buffer)? {
                None => return Ok(()),
                Some((Frame::DataRows(mut rows), consumed)) => {
                    while rows.scan(self.columns, 3, &mut self.spans)? > 0 {
                        for row in 0..self.spans.rows() {
                            let values: Vec<_> = (0..self.columns)
                                .map(|column| self.spans.column(column)[row].slice(rows.bytes()))
                                .collect();
                            self.lines.push(format!("{values:?}"));
                        }
                    }
                    consumed
                }
                Some((Frame::CopyData(mut run), consumed)) => {
                    while let Some(body) = run.next_body() {
                        self.lines.push(format!("{:?}", Message::CopyData(body)));
                    }
                    consumed
                }
                Some((Frame::Message { tag, body }, consumed)) => {
                    let message = Message::parse(tag, body)?;
                    if let Message::RowDescription(fields) = &message {
                        self.columns = fields.len();
                    }
                    self.lines.push(format!("{message:?}"));
                    consumed
                }
            };
            assert!(claimed_len(buffer).is_ok_and(|claimed| claimed.is_some()));
            buffer.drain(..consumed);
        }
    }
}

/// Feeds the session in pieces and returns the output, including errors.
fn transcript(bytes: &[u8], piece: usize) -> Vec<String> {
    let mut transcript = Transcript::default();
    let mut buffer = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        buffer.extend_from_slice(piece);
        if let Err(error) = transcript.read(&mut buffer) {
            // The index of a faulty row in its run depends on the start of the run.
            let text = error.to_string();
            let text = text.split(" (index").next().unwrap_or_default().to_owned();
            transcript.lines.push(text);
            break;
        }
    }
    transcript.lines
}

fn row_description(names: &[&str]) -> Vec<u8> {
    let mut body = u16::try_from(names.len()).unwrap().to_be_bytes().to_vec();
    for name in names {
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01");
    }
    frame(b'T', &body)
}

fn startup() -> Vec<u8> {
    [
        frame(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"),
        frame(b'R', b"\0\0\0\x0br=nonce,s=c2FsdA==,i=4096"),
        frame(b'R', b"\0\0\0\x0cv=cHJvb2Y="),
        frame(b'R', b"\0\0\0\0"),
        frame(b'S', b"server_version\x0018.1\0"),
        frame(b'S', b"client_encoding\0UTF8\0"),
        frame(b'K', b"\0\0\x30\x39hush"),
        frame(b'Z', b"I"),
    ]
    .concat()
}

fn extended_query() -> Vec<u8> {
    let mut bytes = [
        frame(b'1', b""),
        frame(b't', b"\0\x01\0\0\0\x17"),
        row_description(&["id", "note"]),
        frame(b'2', b""),
    ]
    .concat();
    for row in 0..10_i32 {
        let note = (row % 3 != 0).then_some(&b"note"[..]);
        bytes.extend(data_row(&[Some(&row.to_be_bytes()), note]));
    }
    // Notices and notifications may come between rows.
    bytes.extend(frame(b'N', b"SNOTICE\0VNOTICE\0C00000\0Mhalf way\0\0"));
    bytes.extend(data_row(&[None, None]));
    bytes.extend(frame(b's', b""));
    bytes.extend(frame(b'A', b"\0\0\0\x07jobs\0new\0"));
    bytes.extend(frame(b'C', b"SELECT 11\0"));
    bytes.extend(frame(b'Z', b"T"));
    bytes
}

fn copies_and_errors() -> Vec<u8> {
    [
        frame(b'H', b"\0\0\x02\0\0\0\0"),
        frame(b'd', b"1\tone\n"),
        frame(b'd', b"2\t\\N\n"),
        frame(b'c', b""),
        frame(b'C', b"COPY 2\0"),
        frame(b'G', b"\x01\0\x01\0\x01"),
        frame(b'E', b"SERROR\0VERROR\0C57014\0Mcanceling statement due to user request\0\0"),
        frame(b'Z', b"E"),
        frame(b'I', b""),
        frame(b'n', b""),
        frame(b'3', b""),
        frame(b'V', b"\xff\xff\xff\xff"),
        frame(b'Z', b"I"),
    ]
    .concat()
}

/// Sessions that fail in the middle, after valid messages.
fn broken() -> Vec<Vec<u8>> {
    let rows = [row_description(&["a"]), data_row(&[Some(b"1")]).repeat(3)].concat();
    [
        b"HTTP/1.1 400 Bad Request".to_vec(),
        frame(b'Z', b"?"),
        frame(b'D', b"\0\x02"),
        b"D\0\0\0\x03".to_vec(),
        b"Z\x7f\xff\xff\xff".to_vec(),
        b"D\x7f\xff\xff\xff".to_vec(),
    ]
    .into_iter()
    .map(|tail| [rows.clone(), tail].concat())
    .collect()
}

#[test]
fn pieces_of_any_size_read_the_same() {
    let mut scripts = vec![startup(), extended_query(), copies_and_errors()];
    scripts.extend(broken());
    for script in scripts {
        let whole = transcript(&script, script.len());
        for piece in 1..40 {
            assert_eq!(transcript(&script, piece), whole, "pieces of {piece}");
        }
    }
}

#[test]
fn rows_before_a_fault_are_read() {
    for script in broken() {
        let lines = transcript(&script, script.len());
        assert_eq!(lines.iter().filter(|line| line.starts_with('[')).count(), 3);
        let last = lines.last().unwrap();
        assert!(last.starts_with("the server sent a "), "{last}");
    }
}

#[test]
fn conversations_have_readable_traces() {
    assert_eq!(
        trace_backend(&startup()),
        "\
B AuthenticationSASL SCRAM-SHA-256-PLUS SCRAM-SHA-256
B AuthenticationSASLContinue (25 bytes, not shown)
B AuthenticationSASLFinal (10 bytes, not shown)
B AuthenticationOk
B ParameterStatus server_version=\"18.1\"
B ParameterStatus client_encoding=\"UTF8\"
B BackendKeyData process=12345 key=(4 bytes, not shown)
B ReadyForQuery idle
"
    );
    let query = trace_backend(&extended_query());
    assert!(query.starts_with(
        "\
B ParseComplete
B ParameterDescription [23]
B RowDescription \"id\"(type=23 size=4 modifier=-1 table=0.0 binary) \
\"note\"(type=23 size=4 modifier=-1 table=0.0 binary)
B BindComplete
B DataRow \"\\0\\0\\0\\0\" NULL
B DataRow \"\\0\\0\\0\\u{1}\" \"note\"
"
    ));
    assert!(query.ends_with(
        "\
B NoticeResponse severity_localized=\"NOTICE\" severity_unlocalized=\"NOTICE\" code=\"00000\" \
message=\"half way\"
B DataRow NULL NULL
B PortalSuspended
B NotificationResponse process=7 channel=\"jobs\" payload=\"new\"
B CommandComplete \"SELECT 11\"
B ReadyForQuery in transaction
"
    ));
    assert_eq!(
        trace_backend(&copies_and_errors()),
        "\
B CopyOutResponse text [text,text]
B CopyData \"1\\tone\\n\"
B CopyData \"2\\t\\\\N\\n\"
B CopyDone
B CommandComplete \"COPY 2\"
B CopyInResponse binary [binary]
B ErrorResponse severity_localized=\"ERROR\" severity_unlocalized=\"ERROR\" code=\"57014\" \
message=\"canceling statement due to user request\"
B ReadyForQuery in failed transaction
B EmptyQueryResponse
B NoData
B CloseComplete
B FunctionCallResponse NULL
B ReadyForQuery idle
"
    );
}

#[test]
fn traces_end_at_what_is_no_message_and_cut_what_is_long() {
    assert_eq!(trace_backend(b"Z\0\0\0\x05"), "B (incomplete: 5 bytes)\n");
    let trace = trace_backend(b"!");
    assert!(trace.starts_with("B (error: the server sent a message with the unknown tag '!'"));
    let lines = frame(b'R', b"\0\0\0\x0aSCRAM\nB ReadyForQuery idle\0\0");
    assert_eq!(
        trace_backend(&lines),
        "B AuthenticationSASL SCRAM\\nB ReadyForQuery idle\n",
        "a server cannot make up lines"
    );
    let long = frame(b'd', &[b'x'; 100]);
    assert_eq!(trace_backend(&long), format!("B CopyData \"{}\"+36 bytes\n", "x".repeat(64)));
}

/// Bytes that look like frames often enough to get past the header.
fn almost_frames() -> impl Strategy<Value = Vec<u8>> {
    let body = proptest::collection::vec(prop_oneof![0..8_u8, any::<u8>()], 0..40);
    let tag = prop_oneof![
        prop::sample::select(b"RKSvZ123nsItTCENAGHWdcVD".to_vec()),
        Just(b'D'),
        any::<u8>()
    ];
    let one = (tag, body, proptest::option::weighted(0.1, any::<u32>())).prop_map(
        |(tag, body, claim)| {
            let mut bytes = frame(tag, &body);
            if let Some(claim) = claim {
                bytes[1..5].copy_from_slice(&claim.to_be_bytes());
            }
            bytes
        },
    );
    proptest::collection::vec(one, 1..10).prop_map(|frames| frames.concat())
}

proptest! {
    /// Garbage is read or refused, in the same way for every split, and never causes a panic.
    #[test]
    fn garbage_is_read_or_refused(bytes in almost_frames(), piece in 1..30_usize) {
        prop_assert_eq!(transcript(&bytes, piece), transcript(&bytes, bytes.len()));
        trace_backend(&bytes);
        trace_frontend(&bytes);
    }

    #[test]
    fn noise_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        transcript(&bytes, 7);
        trace_backend(&bytes);
        trace_frontend(&bytes);
        for tag in 0..=u8::MAX {
            let _ = Message::parse(tag, &bytes);
        }
    }
}
