//! One statement run repeatedly: a Bind and an Execute for each set of values.

use super::LocalError;
use super::extended::execute;
use super::params::EncodedParams;
use super::writer::{formats, message, message_length, text};
use crate::format::Format;

/// Writes a Bind and an Execute of one statement for each set of values, with the unnamed portal.
/// The parts that do not change are made once.
///
/// ```
/// use colonnade_protocol::EncodedParams;
/// use colonnade_protocol::frontend::BindExecute;
///
/// let mut series = BindExecute::new("s", &[], 0)?;
/// let mut out = Vec::new();
/// series.push(&mut out, &EncodedParams::new())?;
/// assert_eq!(out, b"B\0\0\0\x0d\0s\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0");
/// # Ok::<(), colonnade_protocol::LocalError>(())
/// ```
#[derive(Debug)]
pub struct BindExecute {
    /// The names of portal and statement.
    names: Vec<u8>,
    /// The formats of the previous values, and their encoding in a Bind.
    formats: Vec<Format>,
    described: Vec<u8>,
    /// The formats of the results.
    results: Vec<u8>,
    /// The complete Execute message.
    execute: Vec<u8>,
}

impl BindExecute {
    /// `result_formats` and `max_rows` are as in [`bind`](super::bind) and [`execute`].
    ///
    /// # Errors
    /// A name that cannot be sent, or too many formats.
    pub fn new(
        statement: &str,
        result_formats: &[Format],
        max_rows: i32,
    ) -> Result<Self, LocalError> {
        let mut names = vec![0];
        text(&mut names, "statement name", statement)?;
        let mut results = Vec::new();
        formats(&mut results, result_formats)?;
        let mut executed = Vec::new();
        execute(&mut executed, "", max_rows)?;
        let described = vec![0; 4];
        Ok(Self { names, formats: Vec::new(), described, results, execute: executed })
    }

    /// Appends both messages; nothing if these values cannot be sent.
    ///
    /// # Errors
    /// Too many values, a value that is too large, or values that are too large together.
    pub fn push(&mut self, out: &mut Vec<u8>, params: &EncodedParams) -> Result<(), LocalError> {
        if let Some((index, length)) = params.oversized() {
            return Err(LocalError::ValueTooLarge { index, length });
        }
        message_length("Bind", params.bytes().len())?;
        if self.formats != params.formats() {
            self.describe(params.formats())?;
        }
        message(out, b'B', "Bind", |out| {
            out.extend_from_slice(&self.names);
            out.extend_from_slice(&self.described);
            out.extend_from_slice(params.bytes());
            out.extend_from_slice(&self.results);
            Ok(())
        })?;
        out.extend_from_slice(&self.execute);
        Ok(())
    }

    fn describe(&mut self, given: &[Format]) -> Result<(), LocalError> {
        let count = given.len();
        let counted = u16::try_from(count).map_err(|_| LocalError::TooManyParameters { count })?;
        self.described.clear();
        formats(&mut self.described, given)?;
        self.described.extend_from_slice(&counted.to_be_bytes());
        self.formats.clear();
        self.formats.extend_from_slice(given);
        Ok(())
    }
}

/// The number of executions in messages that [`BindExecute`] has written.
///
/// ```
/// use colonnade_protocol::frontend::executions;
///
/// assert_eq!(executions(b"B\0\0\0\x0d\0s\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0"), 1);
/// ```
pub fn executions(mut messages: &[u8]) -> u64 {
    let mut count = 0;
    while let Some(&[tag, a, b, c, d]) = messages.first_chunk() {
        count += u64::from(tag == b'E');
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        messages = messages.get(1 + length..).unwrap_or_default();
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::{bind, execute};
    use super::*;

    #[test]
    fn the_same_bytes_as_message_by_message() {
        let results = [Format::Binary, Format::Text];
        let mut series = BindExecute::new("s1", &results, 0).unwrap();
        for formats in [&[][..], &[Format::Binary; 2], &[Format::Text, Format::Binary], &[]] {
            let mut params = EncodedParams::new();
            for format in formats {
                params.push_null(*format);
            }
            let (mut seen, mut expected) = (b"x".to_vec(), b"x".to_vec());
            series.push(&mut seen, &params).unwrap();
            bind(&mut expected, "", "s1", &params, &results).unwrap();
            execute(&mut expected, "", 0).unwrap();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn too_many_values_are_refused_and_leave_nothing() {
        let mut series = BindExecute::new("s1", &[], 0).unwrap();
        let mut params = EncodedParams::new();
        (0..=u16::MAX).for_each(|_| params.push_null(Format::Binary));
        let mut out = Vec::new();
        assert!(series.push(&mut out, &params).is_err());
        assert!(out.is_empty());
        assert!(BindExecute::new("a\0b", &[], 0).is_err());
    }
}
