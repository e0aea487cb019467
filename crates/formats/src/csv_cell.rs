//! Cells of CSV, with the quotes of RFC 4180.

use crate::text::short;

/// How a value is told from its neighbours and from NULL.
pub(crate) struct Cells {
    pub(crate) delimiter: u8,
    null: Vec<u8>,
}

impl Default for Cells {
    fn default() -> Self {
        Self::new(b',', "")
    }
}

impl Cells {
    pub(crate) fn new(delimiter: u8, null: &str) -> Self {
        Self { delimiter, null: null.as_bytes().to_vec() }
    }

    /// Appends the cell of NULL.
    pub(crate) fn null(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.null);
    }

    /// Appends text as a cell, in quotes if it has a delimiter, a quote or a line break, or if it
    /// would be taken for NULL. `\.` is in quotes, too: alone on a line, it ends the data for COPY
    /// of PostgreSQL before 18.
    pub(crate) fn text(&self, text: &[u8], out: &mut Vec<u8>) {
        let delimiter = self.delimiter;
        let is_special = |byte: u8| byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r');
        // Without an early end, the compiler compares many bytes at once. Quotes are rare.
        let needs_quotes = text.iter().fold(false, |found, byte| found | is_special(*byte));
        if !needs_quotes && text != self.null && text != b"\\." {
            short::push(text, out);
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

    /// Makes a cell of the bytes appended since `start`.
    pub(crate) fn enclose(&self, start: usize, out: &mut Vec<u8>) {
        let text = out.split_off(start);
        self.text(&text, out);
    }

    /// Makes a cell of a number or of a word that was appended since `start`. With the usual
    /// delimiter and NULL it is one already.
    pub(crate) fn enclose_word(&self, start: usize, out: &mut Vec<u8>) {
        if self.delimiter != b',' || !self.null.is_empty() {
            self.enclose(start, out);
        }
    }
}
