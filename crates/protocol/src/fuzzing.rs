//! What a fuzzer calls: bytes that no server would send, and what must hold of them all the same.

use crate::{Frame, Message, Spans, next_frame};

/// Cuts frames off arbitrary bytes until there are none, and reads each of them. The first byte
/// says how many columns rows are to have, the second how many are scanned at a time.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames(data in prop::collection::vec(any::<u8>(), 0..200)) {
            super::frames(&data);
        }
    }
}
