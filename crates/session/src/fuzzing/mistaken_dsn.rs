//! DSNs with a password, and mistakes around it: the password stays here, or reaches the text's own
//! host.

use colonnade_protocol::fuzzing::Input;

use super::conninfo::resolved;
use crate::conninfo::HostAddress;

/// In every password below, and found in everything that shows a part of one.
const MARK: &str = "s3cret";
const HOST: &str = "db.example.org";
/// The text before the password, between it and the host, and after the host.
const FORMS: &[[&str; 3]] = &[
    ["postgresql://app:", "@", "/prod?sslmode=require"],
    ["postgres://app:", "@", ":6432/prod"],
    ["postgresql://app:", "@", ""],
    ["postgresql://app:", "@", ":6432,replica.example.org:6432/prod"],
    ["postgresql:///prod?user=app&password=", "&host=", "&sslmode=require"],
    ["user=app password=", " host=", " dbname=prod"],
    ["user=app password='", "' host='", "' search_path=shop"],
];
const PASSWORDS: &[&str] =
    &["s3cret", "s3cret/1", "12/s3cret", "12?s3cret", "a@s3cret", "a b s3cret", "1&s3cret=2"];
/// The ends of a variable's name, a command or a quotation, and all that ends a part of a DSN, but
/// no comma: an empty place in a list names the default hosts.
const PIECES: &[&str] = &[
    " ",
    "\n",
    "=",
    "/",
    "//",
    "?",
    "@",
    ":",
    "&",
    "#",
    "%",
    "%40",
    "'",
    "\"",
    "\\",
    "[",
    "x=",
    "url=",
    "DATABASE_URL=",
    "export DATABASE_URL=",
    "psql ",
    "jdbc:",
    "+asyncpg",
    "postgresql://",
    "dbname=",
    "host=",
];
/// Behind the first host: another one with a user and a password, or with either.
const FURTHER_HOSTS: &[&str] = &[
    ",app:other@replica.example.org",
    ",app@replica.example.org:6432",
    ",:other@replica.example.org",
];

/// Reads a DSN with a few mistakes. An error does not repeat the password, and if a result holds
/// it anywhere, the text's own host is the only one that would receive it.
pub(super) fn mistaken_dsn(data: &[u8]) {
    let mut input = Input::new(data);
    let Some([before, between, after]) = input.choose(FORMS).copied() else { return };
    let Some(password) = input.choose(PASSWORDS).copied() else { return };
    let has_credentials = before.ends_with(':');
    let mut parts = [before, between, after].map(str::to_owned);
    for mistake in 0..=input.below(2) {
        let piece = input.choose(PIECES).copied().unwrap_or_default();
        let place = input.byte().into();
        let removes = input.flag() && mistake == 0;
        if let Some(part) = parts.get_mut([0, 0, 0, 1, 2].get(input.below(5)).map_or(0, |at| *at)) {
            edit(part, place, (!removes).then_some(piece));
        }
    }
    let [before, between, mut after] = parts;
    if input.flag() && has_credentials {
        after.insert_str(0, input.choose(FURTHER_HOSTS).copied().unwrap_or_default());
    }
    let dsn = format!("{before}{password}{between}{HOST}{after}");
    let is_right = password != MARK || !before.ends_with(':');
    if has_credentials && (between.ends_with('/') || !between.contains('@') && is_right) {
        // "app:s3cret@/db" has no host, and "app:12/s3cret" and "apps3cret" are without "@" hosts.
        return;
    }
    match resolved(&dsn, "") {
        Err(error) => assert!(!error.to_string().contains(MARK), "{dsn}: {error}"),
        Ok(info) => {
            let kept = info.password.as_ref().map_or("", |password| password.expose());
            if let Some((_, rest)) = kept.split_once(HOST) {
                // The end of the password is missing, and the text names no host, unless a list of
                // hosts was taken for a password.
                assert!(!between.contains('@') || !rest.contains(','), "{dsn:?}");
                return;
            }
            let is_own = |address: &HostAddress| match address {
                HostAddress::Tcp(name) | HostAddress::Unix(name) => {
                    // "%40" is the sign of an abstract socket.
                    let name = name.trim_start_matches('@');
                    let own = format!("{between}{HOST}{after}");
                    own.contains(name) || decoded(&own).contains(name)
                }
            };
            if kept.contains(MARK) || format!("{info:?}").contains(MARK) {
                let names_own = info.hosts.iter().all(|host| is_own(&host.address));
                assert!(names_own, "{dsn:?}: {:?}", info.hosts);
            }
        }
    }
}

/// A part of a URI without percent-encoding.
fn decoded(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let byte = piece.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) if byte.is_ascii() => {
                plain.push(byte.into());
                plain.push_str(piece.get(2..).unwrap_or_default());
            }
            _ => {
                plain.push('%');
                plain.push_str(piece);
            }
        }
    }
    plain
}

/// Adds a piece, or removes a character.
fn edit(part: &mut String, place: usize, piece: Option<&str>) {
    // Beginnings are where most mistakes are made.
    let place = if place < 100 { 0 } else { place % (part.len() + 1) };
    match piece {
        Some(piece) => part.insert_str(place, piece),
        None if place < part.len() => drop(part.remove(place)),
        None => {}
    }
}
