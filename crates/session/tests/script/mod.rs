//! A scripted server, and the outcomes of the session that it plays to.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use colonnade_columnar::{Catalog, DecodeOptions, ResultColumn, Types};
use colonnade_protocol::DataRows;
use colonnade_protocol::auth::{AuthPolicy, Authenticator, ChannelBinding};
use colonnade_session::{CacheLimits, ColumnSink, Event, Session, Sink, SinkError, Startup};

#[derive(Debug)]
pub(crate) struct TestSink(ColumnSink);

impl TestSink {
    pub(crate) fn whole(columns: &[(&str, u32)]) -> Self {
        Self(
            ColumnSink::whole(&result_columns(columns), DecodeOptions::default()).expect("columns"),
        )
    }

    pub(crate) fn batched(columns: &[(&str, u32)], batch_rows: usize) -> Self {
        let (columns, options) = (result_columns(columns), DecodeOptions::default());
        Self(ColumnSink::batched(&columns, options, batch_rows).expect("columns"))
    }
}

fn result_columns(columns: &[(&str, u32)]) -> Vec<ResultColumn> {
    let types = Types::default();
    columns
        .iter()
        .map(|(name, oid)| ResultColumn::new(*name, types.find(*oid).expect("a built-in type"), -1))
        .collect()
}

impl Sink for TestSink {
    type Batch = RecordBatch;

    fn is_whole(&self) -> bool {
        self.0.is_whole()
    }

    fn renewed(&self, columns: &Arc<[ResultColumn]>) -> Result<Self, SinkError> {
        Ok(Self(self.0.renewed(columns).expect("columns")))
    }

    fn rows(
        &mut self,
        rows: DataRows<'_>,
        batches: &mut VecDeque<RecordBatch>,
    ) -> Result<(), SinkError> {
        self.0.rows(rows, batches)
    }

    fn finish(&mut self, batches: &mut VecDeque<RecordBatch>) -> Result<(), SinkError> {
        self.0.finish(batches)
    }
}

/// An event in a comparable form; batches by their one int4 column.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Batch(Vec<Option<i32>>),
    GssToken(Vec<u8>),
    CopyIn,
    CopyData(Vec<u8>),
    Complete { tag: Option<String> },
    Failed(String),
}

pub(crate) fn outcomes(session: &mut Session<TestSink>) -> Vec<Outcome> {
    std::iter::from_fn(|| session.next_event())
        .map(|event| match event {
            Event::Batch(batch) => {
                let column = batch.column(0).as_primitive::<Int32Type>();
                assert_eq!(column.len(), batch.num_rows());
                Outcome::Batch(column.iter().collect())
            }
            Event::GssToken(token) => Outcome::GssToken(token),
            Event::CopyIn => Outcome::CopyIn,
            Event::CopyData(bytes) => Outcome::CopyData(bytes),
            Event::Complete(completion) => Outcome::Complete { tag: completion.tag },
            Event::Failed(error) => Outcome::Failed(error.to_string()),
        })
        .collect()
}

/// Plays the server's bytes whole, and then to a fresh session one byte at a time; both must have
/// the same outcomes. COPY data may be split differently, so its pieces are compared joined.
pub(crate) fn play(begin: impl Fn() -> Session<TestSink>, bytes: &[u8]) -> Vec<Outcome> {
    let mut whole = begin();
    whole.receive_bytes(bytes);
    let expected = outcomes(&mut whole);
    let mut piecemeal = begin();
    let mut seen = Vec::new();
    for byte in bytes {
        piecemeal.receive_bytes(std::slice::from_ref(byte));
        seen.extend(outcomes(&mut piecemeal));
    }
    let expected = joined(expected);
    assert_eq!(joined(seen), expected, "one byte at a time");
    expected
}

fn joined(outcomes: Vec<Outcome>) -> Vec<Outcome> {
    outcomes.into_iter().fold(Vec::new(), |mut all, outcome| {
        match (all.last_mut(), outcome) {
            (Some(Outcome::CopyData(before)), Outcome::CopyData(bytes)) => before.extend(bytes),
            (_, outcome) => all.push(outcome),
        }
        all
    })
}

pub(crate) fn session() -> Session<TestSink> {
    session_with_cache(100)
}

pub(crate) fn session_with_cache(size: usize) -> Session<TestSink> {
    session_with(CacheLimits::of_capacity(size), Catalog::default())
}

pub(crate) fn session_with(limits: CacheLimits, catalog: Catalog) -> Session<TestSink> {
    let mut session = Session::new(limits, catalog);
    let authenticator =
        Authenticator::new("ada", None, ChannelBinding::NotUsed, AuthPolicy::default());
    let parameters = vec![("user".to_owned(), "ada".to_owned())];
    session.startup(Startup { parameters, authenticator }).expect("startup");
    session
}

pub(crate) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("length");
    [&[tag], length.to_be_bytes().as_slice(), body].concat()
}

pub(crate) fn text(tag: u8, text: &str) -> Vec<u8> {
    message(tag, &[text.as_bytes(), &[0]].concat())
}

pub(crate) fn ready(status: u8) -> Vec<u8> {
    message(b'Z', &[status])
}

pub(crate) fn parameter(name: &str, value: &str) -> Vec<u8> {
    message(b'S', format!("{name}\0{value}\0").as_bytes())
}

pub(crate) fn notification(process_id: i32, channel: &str, payload: &str) -> Vec<u8> {
    let texts = format!("{channel}\0{payload}\0");
    message(b'A', &[process_id.to_be_bytes().as_slice(), texts.as_bytes()].concat())
}

pub(crate) fn server_error(tag: u8, severity: &str, code: &str, text: &str) -> Vec<u8> {
    message(tag, format!("S{severity}\0V{severity}\0C{code}\0M{text}\0\0").as_bytes())
}

pub(crate) fn error(severity: &str, code: &str, text: &str) -> Vec<u8> {
    server_error(b'E', severity, code, text)
}

/// AuthenticationOk, parameters, key and the first ReadyForQuery.
pub(crate) fn welcome() -> Vec<u8> {
    [
        message(b'R', &0_i32.to_be_bytes()),
        parameter("server_version", "18.6"),
        parameter("client_encoding", "UTF8"),
        message(b'K', &[4711_i32.to_be_bytes(), [99; 4]].concat()),
        ready(b'I'),
    ]
    .concat()
}

pub(crate) fn field(name: &str, type_oid: u32) -> Vec<u8> {
    let mut body = [name.as_bytes(), &[0]].concat();
    body.extend([0; 6]);
    body.extend(type_oid.to_be_bytes());
    body.extend((-1_i16).to_be_bytes());
    body.extend((-1_i32).to_be_bytes());
    body.extend([0; 2]);
    body
}

pub(crate) fn row_description(fields: &[Vec<u8>]) -> Vec<u8> {
    let count = u16::try_from(fields.len()).expect("count");
    message(b'T', &[count.to_be_bytes().to_vec(), fields.concat()].concat())
}

pub(crate) fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = u16::try_from(values.len()).expect("count").to_be_bytes().to_vec();
    for value in values {
        match value {
            None => body.extend((-1_i32).to_be_bytes()),
            Some(bytes) => {
                body.extend(u32::try_from(bytes.len()).expect("length").to_be_bytes());
                body.extend(*bytes);
            }
        }
    }
    message(b'D', &body)
}
