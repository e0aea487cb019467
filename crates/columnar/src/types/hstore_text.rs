//! The text of an `hstore`, as the server prints and reads it: `"key"=>"value", "other"=>NULL`.
//! Quotes may be omitted around a word without spaces, commas, quotes or `=>`; a backslash makes
//! the next character literal.

use std::borrow::Cow;

use super::hstore::Pair;
use super::notation::shown;
use crate::error::EncodeError;

/// Prints the pairs as the server does.
pub(super) fn print(pairs: &[Pair<'_>]) -> String {
    let mut text = String::new();
    for (key, value) in pairs {
        if !text.is_empty() {
            text.push_str(", ");
        }
        push_quoted(key, &mut text);
        text.push_str("=>");
        match value {
            Some(value) => push_quoted(value, &mut text),
            None => text.push_str("NULL"),
        }
    }
    text
}

fn push_quoted(part: &str, text: &mut String) {
    text.push('"');
    for character in part.chars() {
        if matches!(character, '"' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text.push('"');
}

/// The pairs of a text, read as the server reads it.
pub(super) fn parse(text: &str) -> Result<Vec<Pair<'static>>, EncodeError> {
    let mut reader = Reader { rest: text };
    reader.pairs().ok_or_else(|| EncodeError::Notation {
        type_name: "hstore",
        form: "'\"key\"=>\"value\", \"other\"=>NULL'",
        given: shown(text),
    })
}

/// The unread rest. Methods return None if the text is not a valid hstore.
struct Reader<'a> {
    rest: &'a str,
}

/// A key or a value, and whether it was quoted.
struct Word {
    text: String,
    is_quoted: bool,
}

impl Reader<'_> {
    fn pairs(&mut self) -> Option<Vec<Pair<'static>>> {
        let mut pairs = Vec::new();
        self.skip_blanks();
        while !self.rest.is_empty() {
            let key = self.word()?;
            self.skip_blanks();
            self.symbol("=>")?;
            self.skip_blanks();
            let value = self.word()?;
            let is_null = !value.is_quoted && value.text.eq_ignore_ascii_case("null");
            let value = (!is_null).then_some(Cow::Owned(value.text));
            pairs.push((Cow::Owned(key.text), value));
            self.skip_blanks();
            if !self.rest.is_empty() {
                // The server accepts a comma after the last pair, too.
                self.symbol(",")?;
                self.skip_blanks();
            }
        }
        Some(pairs)
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    }

    fn symbol(&mut self, symbol: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(symbol)?;
        Some(())
    }

    fn word(&mut self) -> Option<Word> {
        let is_quoted = self.rest.starts_with('"');
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(usize::from(is_quoted));
        let mut end = None;
        while let Some((place, character)) = characters.next() {
            match character {
                '"' if is_quoted => {
                    end = Some(place + 1);
                    break;
                }
                '\\' => text.push(characters.next()?.1),
                _ if !is_quoted && self.ends_word(place) => {
                    end = Some(place);
                    break;
                }
                other => text.push(other),
            }
        }
        // Only an unquoted word may extend to the end of the text.
        let end = match end {
            Some(end) => end,
            None if is_quoted => return None,
            None => self.rest.len(),
        };
        self.rest = self.rest.get(end..)?;
        (is_quoted || !text.is_empty()).then_some(Word { text, is_quoted })
    }

    /// Whether an unquoted word ends at a position.
    fn ends_word(&self, place: usize) -> bool {
        self.rest.get(place..).is_some_and(|rest| {
            rest.starts_with([' ', '\t', '\n', '\r', '\x0b', '\x0c', ',']) || rest.starts_with("=>")
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Vec<(String, Option<String>)> {
        let owned = |(key, value): Pair<'_>| (key.into_owned(), value.map(Cow::into_owned));
        parse(text).unwrap().into_iter().map(owned).collect()
    }

    /// The server's result for the texts: `SELECT each('...'::hstore)`.
    #[test]
    fn golden() {
        let pair = |key: &str, value: Option<&str>| (key.to_owned(), value.map(str::to_owned));
        assert_eq!(read(" "), []);
        assert_eq!(read("a=>1"), [pair("a", Some("1"))]);
        assert_eq!(read(" a => NULL,b=>\"NULL\" , "), [pair("a", None), pair("b", Some("NULL"))]);
        assert_eq!(
            read(r#""a\"b"=>"c\\d", \,x=>"""#),
            [pair("a\"b", Some("c\\d")), pair(",x", Some("")),]
        );
        for text in ["a", "a=>", "a=>1 b=>2", "\"a=>1", "=>1", ",", "a=>1,,b=>2", "a\\"] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains("\"key\"=>\"value\""), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_again(
            pairs in prop::collection::vec((".{0,5}", prop::option::of(".{0,5}")), 0..4)
        ) {
            let borrowed: Vec<Pair<'_>> = pairs
                .iter()
                .map(|(key, value)| (Cow::from(key), value.as_deref().map(Cow::from)))
                .collect();
            prop_assert_eq!(read(&print(&borrowed)), pairs);
        }

        #[test]
        fn any_text_ends(text in "[a=>\", \\\\N]{0,12}") {
            let _ = parse(&text);
        }
    }
}
