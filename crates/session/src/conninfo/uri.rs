//! The URI form: `postgresql://user:password@host:port,host:port/database?option=value`.
//!
//! libpq's rules, with two extensions that asyncpg has as well: the last `@` before the path ends
//! the credentials (so a password may contain a plain `@`, but no `,` after it, as between hosts
//! with credentials each), and a value in the query may contain `=`. A `+` is a plus, not a space.

use super::error::ConnInfoError;

/// The options that a URI sets, in order; None if the text is not a URI.
pub(super) fn parse(text: &str) -> Option<Result<Vec<(String, String)>, ConnInfoError>> {
    let (scheme, rest) = text.split_once("://")?;
    // "options=-c x=a://b" is not a URI.
    if scheme.contains(|c: char| c == '=' || c.is_whitespace()) {
        return None;
    }
    if !scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-._".contains(c)) {
        return Some(Err(ConnInfoError::NotADsn));
    }
    if !matches!(scheme, "postgres" | "postgresql") {
        // Only SQLAlchemy's form is recognized: anything else may contain a password.
        let driver = match scheme.split_once('+') {
            Some(("postgresql" | "postgres", driver)) => Some(driver.to_owned()),
            _ => None,
        };
        return Some(Err(ConnInfoError::UnsupportedScheme { driver }));
    }
    Some(parse_rest(rest))
}

fn parse_rest(rest: &str) -> Result<Vec<(String, String)>, ConnInfoError> {
    let (before_query, query) = match rest.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (rest, None),
    };
    let (authority, database) = match before_query.split_once('/') {
        Some((authority, database)) => (authority, Some(database)),
        None => (before_query, None),
    };
    let (credentials, host_list) = match authority.rsplit_once('@') {
        Some((credentials, host_list)) => (Some(credentials), host_list),
        None => (None, authority),
    };
    // "u1:p1@h1,u2:p2@h2" gives each host its own, and the last "@" would send the first to "h2".
    let behind_first_at = credentials.and_then(|text| text.split_once('@'));
    if behind_first_at.is_some_and(|(_, rest)| rest.contains(',')) {
        return Err(ConnInfoError::SeveralCredentials);
    }
    let mut options = Vec::new();
    if let Some(credentials) = credentials {
        parse_credentials(credentials, &mut options)?;
    }
    let has_at = |text: Option<&str>| text.is_some_and(|text| text.contains('@'));
    // The text taken for host and port may be the first part of a password, and a part of it
    // would be the database's or an option's name. libpq takes "a?b@c" for user "a?b", host "c".
    let is_password_cut_off = database.is_none() && !authority.is_empty() && credentials.is_none();
    // "u:p@h@/d": the host would be a part of the password, which would go to the default host.
    let is_default = |host: &str| host.trim().is_empty() || host.trim().starts_with(':');
    let has_no_host = has_at(credentials) && host_list.split(',').any(is_default);
    if has_at(database) || has_no_host || is_password_cut_off && has_at(query) {
        return Err(ConnInfoError::UnescapedCredentials);
    }
    parse_hosts(host_list, &mut options)
        .map_err(|error| if has_at(query) { ConnInfoError::UnescapedCredentials } else { error })?;
    if let Some(database) = database.filter(|database| !database.is_empty()) {
        // The "?" may be missing, a keyword may follow the URI, or a "/" stands before the host.
        if database.contains(|c: char| c.is_whitespace() || "=&/".contains(c)) {
            return Err(ConnInfoError::UriDatabase);
        }
        options.push(("dbname".to_owned(), decode(database, "database")?));
    }
    if let Some(query) = query {
        parse_query(query, &mut options)?;
    }
    Ok(options)
}

fn parse_credentials(
    credentials: &str,
    options: &mut Vec<(String, String)>,
) -> Result<(), ConnInfoError> {
    let (user, password) = match credentials.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (credentials, None),
    };
    if !user.is_empty() {
        options.push(("user".to_owned(), decode(user, "user name")?));
    }
    if let Some(password) = password {
        options.push(("password".to_owned(), decode(password, "password")?));
    }
    Ok(())
}

fn parse_hosts(list: &str, options: &mut Vec<(String, String)>) -> Result<(), ConnInfoError> {
    let mut hosts = Vec::new();
    let mut ports = Vec::new();
    for entry in list.split(',') {
        let (host, port) = parse_host(entry)?;
        hosts.push(decode(host, "host")?);
        let port = decode(port, "port")?;
        if !port.is_empty() && port.parse::<u16>().is_err() {
            // Not shown: it is the password if the "@" and the host are missing.
            return Err(ConnInfoError::UriPort);
        }
        ports.push(port);
    }
    let any_given = |list: &[String]| list.iter().any(|entry| !entry.is_empty());
    if any_given(&hosts) {
        options.push(("host".to_owned(), hosts.join(",")));
    }
    if any_given(&ports) {
        options.push(("port".to_owned(), ports.join(",")));
    }
    Ok(())
}

fn parse_host(entry: &str) -> Result<(&str, &str), ConnInfoError> {
    if let Some(bracketed) = entry.strip_prefix('[') {
        let (address, rest) = bracketed.split_once(']').ok_or(ConnInfoError::Brackets)?;
        return match (address.is_empty(), rest.is_empty(), rest.strip_prefix(':')) {
            (true, _, _) => Err(ConnInfoError::Brackets),
            (false, true, _) => Ok((address, "")),
            (false, false, Some(port)) => Ok((address, port)),
            (false, false, None) => Err(ConnInfoError::Brackets),
        };
    }
    if entry.contains([']', '[']) {
        return Err(ConnInfoError::Brackets);
    }
    match entry.split_once(':') {
        None => Ok((entry, "")),
        Some((_, port)) if port.contains(':') => Err(ConnInfoError::UnbracketedAddress),
        Some((host, port)) => Ok((host, port)),
    }
}

fn parse_query(query: &str, options: &mut Vec<(String, String)>) -> Result<(), ConnInfoError> {
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').ok_or(ConnInfoError::QueryWithoutValue)?;
        let name = decode(name, "query")?;
        // A "&" may be missing, and a password would be a part of a name.
        if matches!(name.as_str(), "user" | "dbname" | "host" | "service") && value.contains('=') {
            return Err(ConnInfoError::QueryEquals);
        }
        let value = decode(value, "query")?;
        // JDBC's spelling, which libpq accepts in URIs as well.
        if name == "ssl" && value == "true" {
            options.push(("sslmode".to_owned(), "require".to_owned()));
        } else {
            options.push((name, value));
        }
    }
    Ok(())
}

fn decode(text: &str, part: &'static str) -> Result<String, ConnInfoError> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let byte = match (hex_digit(bytes.next()), hex_digit(bytes.next())) {
            (Some(high), Some(low)) => high << 4 | low,
            _ => return Err(ConnInfoError::PercentEncoding { part }),
        };
        if byte == 0 {
            return Err(ConnInfoError::PercentEncoding { part });
        }
        decoded.push(byte);
    }
    String::from_utf8(decoded).map_err(|_| ConnInfoError::NotUtf8 { part })
}

fn hex_digit(byte: Option<u8>) -> Option<u8> {
    match byte? {
        digit @ b'0'..=b'9' => Some(digit - b'0'),
        digit @ b'a'..=b'f' => Some(digit - b'a' + 10),
        digit @ b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(uri: &str) -> Vec<(String, String)> {
        parse(uri).unwrap().unwrap()
    }

    fn error(uri: &str) -> ConnInfoError {
        parse(uri).unwrap().unwrap_err()
    }

    #[track_caller]
    fn assert_options(uri: &str, expected: &[(&str, &str)]) {
        let found = options(uri);
        let found: Vec<_> = found.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(found, expected, "{uri}");
    }

    #[test]
    fn parts() {
        assert_options("postgres://", &[]);
        assert_options("postgresql:///", &[]);
        assert_options("postgresql://localhost", &[("host", "localhost")]);
        assert_options(
            "postgresql:///mydb?host=localhost&port=5433",
            &[("dbname", "mydb"), ("host", "localhost"), ("port", "5433")],
        );
        assert_options(
            "postgres://u:p@h:1/d?sslmode=require",
            &[
                ("user", "u"),
                ("password", "p"),
                ("host", "h"),
                ("port", "1"),
                ("dbname", "d"),
                ("sslmode", "require"),
            ],
        );
        assert_options("postgres://u@", &[("user", "u")]);
        assert_options("postgres://:p@h", &[("password", "p"), ("host", "h")]);
        assert_options("postgres://:5433/d", &[("port", "5433"), ("dbname", "d")]);
    }

    #[test]
    fn percent_decoding() {
        assert_options(
            "postgres://a%40b:p%3A%2F%3f%C3%A9@h/d%20b?application_name=x%26y",
            &[
                ("user", "a@b"),
                ("password", "p:/?é"),
                ("host", "h"),
                ("dbname", "d b"),
                ("application_name", "x&y"),
            ],
        );
        assert_options(
            "postgres://%2Ftmp%2Fpg:5433/d",
            &[("host", "/tmp/pg"), ("port", "5433"), ("dbname", "d")],
        );
        assert_options("postgres:///?timezone=Etc/GMT+5", &[("timezone", "Etc/GMT+5")]);
    }

    #[test]
    fn several_hosts() {
        assert_options(
            "postgres://a:1,[::1]:2,c/d",
            &[("host", "a,::1,c"), ("port", "1,2,"), ("dbname", "d")],
        );
        assert_options("postgres://a,b", &[("host", "a,b")]);
        assert_options("postgres://[fe80::1%25eth0]", &[("host", "fe80::1%eth0")]);
    }

    #[test]
    fn wide_rules() {
        assert_options(
            "postgres://u:p@ss@h",
            &[("user", "u"), ("password", "p@ss"), ("host", "h")],
        );
        assert_options(
            "postgres://u:p,a@ss@h,i",
            &[("user", "u"), ("password", "p,a@ss"), ("host", "h,i")],
        );
        assert_options("postgres://u:a#b@h", &[("user", "u"), ("password", "a#b"), ("host", "h")]);
        assert_options("postgres:///?options=-c%20x=1", &[("options", "-c x=1")]);
        assert_options(
            "postgres:///?options=-cx=1&ssl=true&",
            &[("options", "-cx=1"), ("sslmode", "require")],
        );
    }

    #[test]
    fn not_a_uri() {
        assert!(parse("host=localhost").is_none());
        assert!(parse("application_name=a://b").is_none());
        assert!(parse("").is_none());
    }

    #[test]
    fn errors() {
        for (uri, expected) in [
            ("mysql://h", ConnInfoError::UnsupportedScheme { driver: None }),
            ("postgres://h:x/d", ConnInfoError::UriPort),
            ("postgres://h/a b", ConnInfoError::UriDatabase),
            ("postgres://h/a@b", ConnInfoError::UnescapedCredentials),
            ("postgres://u:p@h@/d", ConnInfoError::UnescapedCredentials),
            ("postgres://u:p@h@ /d", ConnInfoError::UnescapedCredentials),
            ("postgres://u:p@h@:5432/d", ConnInfoError::UnescapedCredentials),
            ("postgres://u1:p1@h1:1,u2:p2@h2:2/d", ConnInfoError::SeveralCredentials),
            ("postgres://u1:p1@h1,u2@h2", ConnInfoError::SeveralCredentials),
            ("postgres://u:p@s,s@h", ConnInfoError::SeveralCredentials),
            ("u:secret@mysql://h", ConnInfoError::NotADsn),
            ("postgres://h/%zz", ConnInfoError::PercentEncoding { part: "database" }),
            ("postgres://h/%00", ConnInfoError::PercentEncoding { part: "database" }),
            ("postgres://h/%4", ConnInfoError::PercentEncoding { part: "database" }),
            ("postgres://u:%ff@h", ConnInfoError::NotUtf8 { part: "password" }),
            ("postgres://[::1", ConnInfoError::Brackets),
            ("postgres://[]", ConnInfoError::Brackets),
            ("postgres://[::1]x", ConnInfoError::Brackets),
            ("postgres://x[::1]", ConnInfoError::Brackets),
            ("postgres://::1/d", ConnInfoError::UnbracketedAddress),
            ("postgres:///?sslmode", ConnInfoError::QueryWithoutValue),
            ("postgres:///?user=apassword=b", ConnInfoError::QueryEquals),
        ] {
            assert_eq!(error(uri), expected, "{uri}");
        }
        assert!(error("postgresql+asyncpg://h").to_string().contains("leave it out"));
    }

    #[test]
    fn a_cut_off_password_is_not_shown() {
        for uri in ["postgres://u:pa/ss@h/d", "postgres://u:pa?ss@h/d", "postgres://u:a:b/c@h"] {
            assert_eq!(error(uri), ConnInfoError::UnescapedCredentials, "{uri}");
        }
    }
}
