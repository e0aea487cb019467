//! Entry points for a fuzzer: bytes that no server would send, and what must hold even for them.
//! They stand here and not in `fuzz/`, so that the crate's tests call them too.

mod authentication;
mod input;
mod requests;
mod seeds;

pub use authentication::authentication;
pub use input::Input;
pub use requests::requests;
pub use seeds::{authentication_seeds, frame_seeds, message_seeds};

use crate::trace::trace_backend;
use crate::{Frame, Message, Spans, next_frame, tag};

/// Cuts frames from arbitrary bytes until there are none, and reads each of them. The first byte
/// gives the number of columns in rows, the second the number of rows to scan at a time.
pub fn frames(data: &[u8]) {
    let Some(([columns, most], mut rest)) = data.split_first_chunk() else { return };
    let (columns, most) = (usize::from(*columns % 8), usize::from(*most) + 1);
    let mut spans = Spans::new();
    while let Ok(Some((frame, consumed))) = next_frame(rest) {
        assert!((1..=rest.len()).contains(&consumed), "{consumed} of {} bytes", rest.len());
        match frame {
            Frame::Message { tag, body } => drop(Message::parse(tag, body)),
            Frame::DataRows(mut rows) | Frame::CopyData(mut rows) => {
                while let Ok(scanned @ 1..) = rows.scan(columns, most, &mut spans) {
                    assert!(scanned <= most && spans.rows() == scanned);
                    assert_eq!(spans.columns(), columns);
                    for span in (0..columns).flat_map(|column| spans.column(column)) {
                        assert!(span.range().end <= rows.bytes().len());
                    }
                }
            }
        }
        rest = rest.get(consumed..).unwrap_or_default();
    }
}

/// One message of any kind: the first byte chooses the kind, the rest is its body. A message is
/// complete: with one byte less or more it must be refused.
pub fn messages(data: &[u8]) {
    let Some((choice, body)) = data.split_first() else { return };
    let tags = tags();
    let Some(&tag) = tags.get(usize::from(*choice) % tags.len()) else { return };
    let parsed = Message::parse(tag, body);
    if let Ok(message) = &parsed
        && !takes_what_is_left(message)
    {
        let longer = [body, &[0]].concat();
        assert!(Message::parse(tag, &longer).is_err(), "{message:?} and a byte more");
        if let Some((_, shorter)) = body.split_last() {
            assert!(Message::parse(tag, shorter).is_err(), "{message:?} and a byte less");
        }
    }
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    let framed = [&[tag], &length.to_be_bytes()[..], body].concat();
    let lines = trace_backend(&framed);
    // A malformed row of a binary COPY is refused by the scan of rows only.
    let is_read = parsed.is_ok() || matches!(tag, tag::DATA_ROW | tag::COPY_DATA);
    assert_eq!(lines.lines().count(), 1, "{lines}");
    assert!(is_read || lines.contains('('), "{parsed:?}: {lines}");
}

fn tags() -> Vec<u8> {
    (0..=u8::MAX).filter(|tag| tag::name(*tag).is_some()).collect()
}

/// Whether a message ends with bytes of any number.
fn takes_what_is_left(message: &Message<'_>) -> bool {
    matches!(
        message,
        Message::AuthenticationGssContinue(_)
            | Message::AuthenticationSaslContinue(_)
            | Message::AuthenticationSaslFinal(_)
            | Message::AuthenticationUnsupported(_)
            | Message::BackendKeyData { .. }
            | Message::CopyData(_)
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// Bytes that are more often meaningful than arbitrary ones.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let few = prop_oneof![Just(0), 0..9_u8, Just(0xff), any::<u8>()];
        prop_oneof![prop::collection::vec(any::<u8>(), 0..200), prop::collection::vec(few, 0..200)]
    }

    #[test]
    fn a_fuzzer_begins_with_what_is_right() {
        super::frame_seeds().iter().for_each(|seed| super::frames(seed));
        super::message_seeds().iter().for_each(|seed| super::messages(seed));
        super::authentication_seeds().iter().for_each(|seed| super::authentication(seed));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn frames(data in bytes()) {
            super::frames(&data);
        }

        #[test]
        fn messages(data in bytes()) {
            super::messages(&data);
        }

        #[test]
        fn requests(data in bytes()) {
            super::requests(&data);
        }

        #[test]
        fn authentication(data in bytes()) {
            super::authentication(&data);
        }
    }
}
