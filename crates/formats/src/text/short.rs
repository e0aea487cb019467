//! Short texts, appended without a call.

/// Appends a text. Up to 32 bytes it is two copies of fixed size, which overlap: a copy whose
/// length is only known when it runs is a call, which takes longer than formatting a number.
pub(crate) fn push(text: &[u8], out: &mut Vec<u8>) {
    match text.len() {
        1..=2 => push_halves::<1>(text, out),
        3..=4 => push_halves::<2>(text, out),
        5..=8 => push_halves::<4>(text, out),
        9..=16 => push_halves::<8>(text, out),
        17..=32 => push_halves::<16>(text, out),
        _ => out.extend_from_slice(text),
    }
}

/// Appends a text of `HALF` to twice as many bytes.
fn push_halves<const HALF: usize>(text: &[u8], out: &mut Vec<u8>) {
    if let (Some(first), Some(last)) = (text.first_chunk::<HALF>(), text.last_chunk::<HALF>()) {
        out.reserve(2 * HALF);
        let last_from = out.len() + (text.len() - HALF);
        out.extend_from_slice(first);
        out.truncate(last_from);
        out.extend_from_slice(last);
    }
}
