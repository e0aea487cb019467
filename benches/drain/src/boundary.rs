//! Finds where one frame ends and the next begins.
//!
//! The end of a result is the `ReadyForQuery` frame. Its bytes may also occur inside a value, so
//! the only safe way to find it is to follow the frame lengths. This module reads one tag and one
//! length per frame and skips the bodies of rows. It keeps the bodies of the few frames that the
//! drain has to understand: the end, the row count, and errors.

/// A frame header: one tag byte and a big-endian length that counts itself.
const HEADER_BYTES: usize = 5;
const LENGTH_FIELD_BYTES: usize = 4;
/// A longer body is cut: only its beginning is needed.
const KEPT_BYTES_MAX: usize = 64 * 1024;

/// The outcome of an exchange.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The last command tag, such as `SELECT 1000`.
    pub(crate) command_tag: Option<String>,
    /// The last error of the server, as `SQLSTATE: message`.
    pub(crate) error: Option<String>,
    /// The method code of the last authentication request; 0 is "accepted".
    pub(crate) authentication: Option<u32>,
    /// `ReadyForQuery` was seen.
    pub(crate) ready: bool,
}

impl Outcome {
    /// The row count that closes a `SELECT` tag.
    pub(crate) fn rows(&self) -> Option<u64> {
        self.command_tag.as_deref()?.rsplit(' ').next()?.parse().ok()
    }
}

/// Follows frame lengths through a stream that arrives in pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct Boundaries {
    /// The beginning of a header that a read cut in two; always shorter than a header.
    header: Vec<u8>,
    /// Bytes of the current frame that have not arrived yet.
    remaining: usize,
    /// The tag of the current frame while its body is being kept.
    kept_tag: Option<u8>,
    kept: Vec<u8>,
    outcome: Outcome,
}

impl Boundaries {
    /// Steps over `bytes`; the outcome is complete once `ready` is set.
    pub(crate) fn advance(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        loop {
            let step = self.remaining.min(bytes.len());
            let (body, rest) = bytes.split_at(step);
            self.remaining -= step;
            bytes = rest;
            if self.kept_tag.is_some() {
                self.keep(body);
            }
            if bytes.is_empty() {
                return Ok(());
            }
            bytes = self.header(bytes)?;
        }
    }

    /// The outcome so far.
    pub(crate) fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Returns the outcome and forgets it, ready for the next exchange.
    pub(crate) fn take_outcome(&mut self) -> Outcome {
        std::mem::take(&mut self.outcome)
    }

    /// Takes one header off the front and returns the bytes after it.
    fn header<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        if self.header.is_empty()
            && let Some((&[tag, a, b, c, d], rest)) = bytes.split_first_chunk::<HEADER_BYTES>()
        {
            self.begin(tag, u32::from_be_bytes([a, b, c, d]))?;
            return Ok(rest);
        }
        let missing = HEADER_BYTES.saturating_sub(self.header.len()).min(bytes.len());
        let (piece, rest) = bytes.split_at(missing);
        self.header.extend_from_slice(piece);
        if let Ok([tag, a, b, c, d]) = <[u8; HEADER_BYTES]>::try_from(self.header.as_slice()) {
            self.header.clear();
            self.begin(tag, u32::from_be_bytes([a, b, c, d]))?;
        }
        Ok(rest)
    }

    #[inline]
    fn begin(&mut self, tag: u8, length: u32) -> Result<(), String> {
        let Some(body) = (length as usize).checked_sub(LENGTH_FIELD_BYTES) else {
            return Err(format!("frame {:?} claims a length of {length}", char::from(tag)));
        };
        self.remaining = body;
        if matches!(tag, b'C' | b'E' | b'R' | b'Z') {
            self.kept_tag = Some(tag);
            self.kept.clear();
            self.keep(&[]);
        }
        Ok(())
    }

    fn keep(&mut self, body: &[u8]) {
        let room = KEPT_BYTES_MAX.saturating_sub(self.kept.len()).min(body.len());
        self.kept.extend(body.iter().take(room));
        if self.remaining > 0 {
            return;
        }
        match self.kept_tag.take() {
            Some(b'C') => self.outcome.command_tag = self.kept.split(|b| *b == 0).next().map(text),
            Some(b'E') => self.outcome.error = Some(error_text(&self.kept)),
            Some(b'R') => {
                self.outcome.authentication =
                    self.kept.first_chunk::<4>().map(|code| u32::from_be_bytes(*code));
            }
            Some(b'Z') => self.outcome.ready = true,
            _ => {}
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `SQLSTATE: message` out of the fields of an `ErrorResponse`.
fn error_text(body: &[u8]) -> String {
    let field = |code: u8| {
        body.split(|byte| *byte == 0)
            .find_map(|field| field.split_first().filter(|(first, _)| **first == code))
            .map_or_else(String::new, |(_, value)| text(value))
    };
    format!("{}: {}", field(b'C'), field(b'M'))
}

#[cfg(test)]
mod tests {
    use super::{Boundaries, Outcome};

    fn frame(tag: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    fn result() -> Vec<u8> {
        // The row's value is a whole ReadyForQuery frame: a search for its bytes would stop here.
        [
            frame(b'D', b"Z\0\0\0\x05I"),
            frame(b'n', b""),
            frame(b'C', b"SELECT 1\0"),
            frame(b'Z', b"I"),
        ]
        .concat()
    }

    #[test]
    fn follows_lengths_whatever_the_pieces() {
        let stream = result();
        for size in 1..=stream.len() {
            let mut boundaries = Boundaries::default();
            let mut fed = 0;
            for piece in stream.chunks(size) {
                assert!(
                    !boundaries.outcome().ready,
                    "ready before byte {fed} of {size}-byte pieces"
                );
                boundaries.advance(piece).unwrap();
                fed += piece.len();
            }
            let outcome = boundaries.take_outcome();
            assert!(outcome.ready);
            assert_eq!(outcome.rows(), Some(1));
            assert_eq!(*boundaries.outcome(), Outcome::default());
        }
    }

    #[test]
    fn tells_the_error_of_the_server() {
        let mut boundaries = Boundaries::default();
        let body = b"SERROR\0C42P01\0Mrelation \"t\" does not exist\0\0";
        boundaries.advance(&[frame(b'E', body), frame(b'Z', b"I")].concat()).unwrap();
        let outcome = boundaries.take_outcome();
        assert_eq!(outcome.error.as_deref(), Some("42P01: relation \"t\" does not exist"));
        assert_eq!(outcome.rows(), None);
        assert!(outcome.ready);
    }

    #[test]
    fn refuses_a_length_that_cannot_be() {
        let mut boundaries = Boundaries::default();
        assert!(boundaries.advance(b"D\0\0\0\x03").unwrap_err().contains("length of 3"));
    }
}
