//! The keyword=value form: `host=localhost dbname='a b'`, with a backslash before quotes and
//! backslashes.

use std::iter::Peekable;
use std::str::Chars;

use super::error::ConnInfoError;

/// The options that the text sets, in order.
pub(super) fn parse(text: &str) -> Result<Vec<(String, String)>, ConnInfoError> {
    let mut reader = Reader { chars: text.chars().peekable(), position: 1 };
    let mut options = Vec::new();
    loop {
        reader.skip_spaces();
        if reader.chars.peek().is_none() {
            return Ok(options);
        }
        let position = reader.position;
        let keyword = reader.keyword();
        reader.skip_spaces();
        if keyword.is_empty() || reader.next() != Some('=') {
            // The word is not shown: it may be the second half of a password with a space.
            return Err(ConnInfoError::MissingEquals { position });
        }
        reader.skip_spaces();
        options.push((keyword, reader.value()?));
    }
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    /// 1-based index of the next character.
    position: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        self.position += 1;
        self.chars.next()
    }

    fn skip_spaces(&mut self) {
        while self.chars.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            self.next();
        }
    }

    fn keyword(&mut self) -> String {
        let mut keyword = String::new();
        while let Some(&c) = self.chars.peek()
            && c != '='
            && !c.is_ascii_whitespace()
        {
            keyword.push(c);
            self.next();
        }
        keyword
    }

    fn value(&mut self) -> Result<String, ConnInfoError> {
        let begin = self.position;
        let is_quoted = self.chars.peek() == Some(&'\'');
        if is_quoted {
            self.next();
        }
        let mut value = String::new();
        while let Some(&c) = self.chars.peek() {
            if !is_quoted && c.is_ascii_whitespace() {
                return Ok(value);
            }
            self.next();
            match c {
                '\'' if is_quoted => return Ok(value),
                '\\' => value.push(self.next().ok_or(ConnInfoError::TrailingBackslash)?),
                _ => value.push(c),
            }
        }
        if is_quoted {
            return Err(ConnInfoError::UnterminatedQuote { position: begin });
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_options(text: &str, expected: &[(&str, &str)]) {
        let found = parse(text).unwrap();
        let found: Vec<_> = found.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn pairs() {
        assert_options("", &[]);
        assert_options(" \t\n", &[]);
        assert_options("host=localhost port=5432", &[("host", "localhost"), ("port", "5432")]);
        assert_options("host = localhost\nport= 1", &[("host", "localhost"), ("port", "1")]);
        assert_options("dbname='a b' user=''", &[("dbname", "a b"), ("user", "")]);
        assert_options(
            r"password='it\'s \\' user=a\ b",
            &[("password", r"it's \"), ("user", "a b")],
        );
        assert_options("user=", &[("user", "")]);
        assert_options("user=a port=", &[("user", "a"), ("port", "")]);
        assert_options("user='a'host=b", &[("user", "a"), ("host", "b")]);
        assert_options("options=-cx=1", &[("options", "-cx=1")]);
    }

    #[test]
    fn errors() {
        for (text, expected) in [
            ("host", ConnInfoError::MissingEquals { position: 1 }),
            ("password=two words", ConnInfoError::MissingEquals { position: 14 }),
            ("=x", ConnInfoError::MissingEquals { position: 1 }),
            ("user='a", ConnInfoError::UnterminatedQuote { position: 6 }),
            ("user=a\\", ConnInfoError::TrailingBackslash),
        ] {
            assert_eq!(parse(text).unwrap_err(), expected, "{text}");
        }
    }
}
