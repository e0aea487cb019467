//! Quotes of RFC 4180.

/// Appends text as a cell, in quotes if it has a comma, a quote or a line break. An empty text is a
/// pair of quotes, because an empty cell is NULL. `\.` is in quotes, too: alone on a line, it ends
/// the data for COPY of PostgreSQL before 18.
pub(crate) fn text(text: &[u8], out: &mut Vec<u8>) {
    // Without an early end, the compiler compares many bytes at once. Quotes are rare.
    let needs_quotes = text
        .iter()
        .fold(text.is_empty(), |found, byte| found | matches!(byte, b'"' | b',' | b'\n' | b'\r'));
    if !needs_quotes && text != b"\\." {
        out.extend_from_slice(text);
        return;
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    for (part, piece) in text.split(|byte| *byte == b'"').enumerate() {
        if part > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(piece);
    }
    out.push(b'"');
}
