//! Encoded bytes in pieces of a limited size.

use std::collections::VecDeque;

use arrow_buffer::Buffer;
use arrow_schema::ArrowError;

use crate::Ending;

/// The rest of a file's bytes: buffers, and then an ending.
pub struct Pieces {
    buffers: VecDeque<Buffer>,
    ending: Option<Ending>,
}

impl Pieces {
    /// These bytes.
    pub fn new(buffers: Vec<Buffer>, ending: Option<Ending>) -> Self {
        Self { buffers: buffers.into(), ending }
    }

    /// The next buffers, of at most this many bytes; none at the end.
    ///
    /// # Errors
    /// Those of the ending.
    pub fn next_piece(&mut self, bytes_most: usize) -> Result<Vec<Buffer>, ArrowError> {
        let mut left = bytes_most;
        let mut parts = Vec::new();
        while left > 0
            && let Some(mut buffer) = self.next_buffer()?
        {
            if buffer.len() > left {
                let rest = buffer.slice(left);
                buffer = buffer.slice_with_length(0, left);
                self.buffers.push_front(rest);
            }
            left -= buffer.len();
            parts.push(buffer);
        }
        Ok(parts)
    }

    fn next_buffer(&mut self) -> Result<Option<Buffer>, ArrowError> {
        if let Some(buffer) = self.buffers.pop_front() {
            return Ok(Some(buffer));
        }
        self.ending.as_mut().and_then(Iterator::next).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(text: &str) -> Buffer {
        Buffer::from(text.as_bytes())
    }

    fn pieces(buffers: &[&str], ending: &'static [&str]) -> Pieces {
        let ending = ending.iter().map(|text| Ok(buffer(text)));
        Pieces::new(buffers.iter().map(|text| buffer(text)).collect(), Some(Box::new(ending)))
    }

    /// The pieces as texts.
    fn all(mut pieces: Pieces, bytes_most: usize) -> Vec<String> {
        let mut texts = Vec::new();
        loop {
            let parts = pieces.next_piece(bytes_most).unwrap();
            if parts.is_empty() {
                return texts;
            }
            let bytes: Vec<u8> = parts.iter().flat_map(|part| part.as_slice()).copied().collect();
            texts.push(String::from_utf8(bytes).unwrap());
        }
    }

    #[test]
    fn small_buffers_are_put_together() {
        assert_eq!(all(pieces(&["ab", "c"], &["d", "ef"]), 4), ["abcd", "ef"]);
    }

    #[test]
    fn a_large_buffer_is_cut() {
        assert_eq!(all(pieces(&["abcdefg"], &["hij"]), 3), ["abc", "def", "ghi", "j"]);
    }

    #[test]
    fn there_may_be_nothing() {
        assert!(all(Pieces::new(Vec::new(), None), 3).is_empty());
        assert_eq!(all(pieces(&[], &["a"]), 3), ["a"]);
    }

    #[test]
    fn the_error_of_an_ending_is_passed_on() {
        let failed = || ArrowError::ComputeError("no".to_owned());
        let ending = std::iter::once_with(move || Err(failed()));
        let mut pieces = Pieces::new(vec![buffer("ab")], Some(Box::new(ending)));
        assert_eq!(pieces.next_piece(2).unwrap().len(), 1);
        assert!(pieces.next_piece(2).is_err());
    }
}
