//! The connection service file: `[name]` sections of `option=value` lines.

use super::error::ConnInfoError;
use super::options::Layer;

/// The options of a service, if the file's text defines it.
pub(super) fn find(file: &str, text: &str, name: &str) -> Result<Option<Layer>, ConnInfoError> {
    let mut pairs = None;
    for (index, line) in without_mark(text).lines().enumerate() {
        let line = line.trim();
        let failed = |reason| {
            Err(ConnInfoError::ServiceLine { file: file.to_owned(), line: index + 1, reason })
        };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            if pairs.is_some() {
                break;
            }
            match header.strip_suffix(']') {
                Some(section) if section == name => pairs = Some(Vec::new()),
                Some(_) => {}
                None => return failed("a section name must end in \"]\""),
            }
            continue;
        }
        let Some(pairs) = pairs.as_mut() else { continue };
        if line.starts_with("ldap://") {
            return failed("services in LDAP are not supported");
        }
        let Some((option, value)) = line.split_once('=') else {
            return failed("a line must be a [section] or option=value");
        };
        let option = option.trim();
        if matches!(option, "service" | "servicefile") {
            return failed("a service cannot refer to another service");
        }
        pairs.push((option.to_owned(), value.trim().to_owned()));
    }
    pairs.map(Layer::from_pairs).transpose().map_err(|error| ConnInfoError::ServiceOption {
        file: file.to_owned(),
        error: Box::new(error),
    })
}

/// The services that a file's text defines.
pub(super) fn names(text: &str) -> Vec<String> {
    let lines = without_mark(text).lines().map(str::trim);
    let headers = lines.filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    headers.map(str::to_owned).collect()
}

/// The text without the byte order mark that some editors write.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# services\n[one]\nhost=a\n port = 1 \n\n[two]\nhost=b\noptions=-c x=1\n";

    #[test]
    fn sections() {
        let one = find("f", TEXT, "one").unwrap().unwrap();
        assert_eq!((one.option("host"), one.option("port")), (Some("a"), Some("1")));
        let two = find("f", TEXT, "two").unwrap().unwrap();
        assert_eq!((two.option("host"), two.option("port")), (Some("b"), None));
        assert_eq!(two.option("options"), Some("-c x=1"));
        assert!(find("f", TEXT, "three").unwrap().is_none());
        assert_eq!(names(TEXT), ["one", "two"]);
    }

    #[test]
    fn the_first_definition_counts() {
        let found = find("f", "[a]\nhost=1\n[a]\nhost=2", "a").unwrap().unwrap();
        assert_eq!(found.option("host"), Some("1"));
    }

    #[test]
    fn errors_name_file_and_line() {
        for (text, message) in [
            ("[a", "f, line 1: a section name must end in \"]\""),
            ("[a]\nhost", "f, line 2: a line must be a [section] or option=value"),
            ("[a]\n\nservice=b", "f, line 3: a service cannot refer to another service"),
            ("[a]\nldap://x", "f, line 2: services in LDAP are not supported"),
            ("[a]\nhots=b", "f: unknown connection option \"hots\", did you mean \"host\"?"),
        ] {
            assert_eq!(find("f", text, "a").err().unwrap().to_string(), message, "{text}");
        }
        // Mistakes in other sections do not matter.
        assert!(find("f", "[b]\nnonsense\n[a]\nhost=x", "a").unwrap().is_some());
    }
}
