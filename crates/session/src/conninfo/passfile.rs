//! The password file: lines of `host:port:database:user:password`; the first matching line counts.
//! `*` matches anything; a `:` or `\` inside a field is preceded by a backslash.

use super::value::{Host, HostAddress};

/// The password for one host, if a line of the text matches it: its bytes, in any encoding.
///
/// A Unix socket matches the name `localhost`, or its directory as written.
#[must_use]
pub fn password_for(text: &[u8], host: &Host, database: &str, user: &str) -> Option<Vec<u8>> {
    let (name, alias) = match &host.address {
        HostAddress::Tcp(name) => (name.as_str(), name.as_str()),
        HostAddress::Unix(directory) => ("localhost", directory.as_str()),
    };
    let port = host.port.to_string();
    let lines =
        text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.starts_with(b"#")).find_map(|line| {
        let mut fields = Fields(Some(line));
        let is_match = fields.next_matches(&[name, alias])
            && fields.next_matches(&[&port])
            && fields.next_matches(&[database])
            && fields.next_matches(&[user]);
        let password = if is_match { fields.next()? } else { return None };
        (!password.is_empty()).then(|| unescaped(password))
    })
}

/// The remaining fields of a line, still escaped; None after the last.
struct Fields<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.0?;
        let mut is_escaped = false;
        let end = line.iter().position(|byte| {
            let is_end = *byte == b':' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            is_end
        });
        let (field, rest) = match end.and_then(|end| line.split_at_checked(end)) {
            Some((field, rest)) => (field, rest.strip_prefix(b":")),
            None => (line, None),
        };
        self.0 = rest;
        Some(field)
    }
}

impl Fields<'_> {
    fn next_matches(&mut self, wanted: &[&str]) -> bool {
        self.next().is_some_and(|field| {
            field == b"*" || {
                let field = unescaped(field);
                wanted.iter().any(|wanted| wanted.as_bytes() == field)
            }
        })
    }
}

fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(field.len());
    let mut bytes = field.iter();
    while let Some(byte) = bytes.next() {
        text.push(if *byte == b'\\' { *bytes.next().unwrap_or(byte) } else { *byte });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(name: &str) -> Host {
        Host { address: HostAddress::Tcp(name.to_owned()), port: 5432, numeric_address: None }
    }

    fn unix(directory: &str) -> Host {
        Host { address: HostAddress::Unix(directory.to_owned()), port: 5432, numeric_address: None }
    }

    #[track_caller]
    fn assert_password(text: &str, host: &Host, expected: Option<&str>) {
        let found = password_for(text.as_bytes(), host, "d", "u");
        assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{text}");
    }

    #[test]
    fn first_match_counts() {
        let text = "# a comment\n\nother:5432:d:u:no\nh:5432:d:u:yes\n*:*:*:*:late\n";
        assert_password(text, &tcp("h"), Some("yes"));
        assert_password(text, &tcp("x"), Some("late"));
        assert_password("h:5433:d:u:no", &tcp("h"), None);
        assert_password("h:5432:e:u:no", &tcp("h"), None);
        assert_password("h:5432:d:v:no", &tcp("h"), None);
        assert_password("h:*:d:u:yes\r\n", &tcp("h"), Some("yes"));
    }

    #[test]
    fn escapes() {
        assert_password(r"h:5432:d:u:a\:b\\c", &tcp("h"), Some(r"a:b\c"));
        assert_password(r"\:\:1:5432:d:u:six", &tcp("::1"), Some("six"));
        assert_password("h:5432:d:u:a:rest is left out", &tcp("h"), Some("a"));
        assert_password("h:5432:d:u:a\\", &tcp("h"), Some("a\\"));
        // Only a field that is just a star matches everything.
        assert_password(r"\*:5432:d:u:no", &tcp("h"), None);
        assert_password("h*:5432:d:u:no", &tcp("h2"), None);
    }

    #[test]
    fn sockets_go_by_localhost_or_their_directory() {
        assert_password("localhost:5432:d:u:p", &unix("/tmp"), Some("p"));
        assert_password("/tmp:5432:d:u:p", &unix("/tmp"), Some("p"));
        assert_password("/var/run:5432:d:u:p", &unix("/tmp"), None);
    }

    #[test]
    fn any_encoding() {
        let found = password_for(b"caf\xe9:*:*:*:no\nh:*:*:*:caf\xe9\\:\n", &tcp("h"), "d", "u");
        assert_eq!(found.as_deref(), Some(&b"caf\xe9:"[..]));
    }

    #[test]
    fn lines_that_say_nothing() {
        for text in ["", ":", "h:5432:d:u", "h:5432:d:u:", "::::", "\\"] {
            assert_password(text, &tcp("h"), None);
        }
    }
}
