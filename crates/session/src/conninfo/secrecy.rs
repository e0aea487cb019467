//! Texts that may hold a password where none belongs: refuses them, and hides them in errors.
//!
//! The rules are for mistakes: a URI behind a variable's name, without its slashes, or given as a
//! host or database. Each source of options obeys them, and no error repeats such a text.

use std::net::IpAddr;

use super::error::ConnInfoError;
use super::options::names_option;

/// Characters in which credentials, paths and queries are written; no host name has them.
const NOT_IN_A_HOST: &[char] = &['@', '/', '\\', '?', '#', '=', '&', '\'', '"', '<', '>'];
const SHOWN_CHARACTERS_MAX: usize = 64;

/// Whether a name can be that of an option or setting: `sslmode`, `TimeZone`, `myapp.user_id`.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.$".contains(c))
}

/// Refuses a value that is a URI or credentials; `option` is None for a server setting.
pub(super) fn check_value(
    option: Option<&'static str>,
    is_known: bool,
    value: &str,
) -> Result<(), ConnInfoError> {
    if value.contains('\0') {
        return Err(ConnInfoError::NulInValue { option });
    }
    let is_refused = match option {
        Some("password" | "sslpassword") => false,
        _ if has_pair(value, |name| names_option(name).is_some_and(is_secret)) => true,
        Some("user" | "dbname" | "service") => value.contains("://") || has_credentials(value),
        // Its parts are checked as hosts.
        Some("host" | "hostaddr") => value.contains("://"),
        Some(_) => has_uri(value),
        None if is_known => has_uri(value),
        None => {
            if value.contains(['@', ':', '/', '?', '&', '=', '\\']) {
                return Err(ConnInfoError::ValueOfUnknownOption);
            }
            false
        }
    };
    if is_refused { Err(ConnInfoError::UriAsValue { option }) } else { Ok(()) }
}

/// Refuses a host that cannot be one, before it is looked up.
pub(super) fn check_host(host: &str) -> Result<(), ConnInfoError> {
    let is_host = match host.strip_prefix(['/', '@']) {
        Some(socket) => !has_credentials(socket),
        None if host.contains(':') => is_ip_address(host),
        // "%" stands before the zone of an address, and in a text that a URI would decode.
        None => !host.contains(|c: char| {
            NOT_IN_A_HOST.contains(&c) || c == '%' || c.is_whitespace() || c.is_control()
        }),
    };
    if is_host { Ok(()) } else { Err(ConnInfoError::Host) }
}

/// Refuses a `hostaddr` that is no IP address.
pub(super) fn check_address(address: &str) -> Result<(), ConnInfoError> {
    if is_ip_address(address) { Ok(()) } else { Err(ConnInfoError::Address) }
}

/// Whether an error may show a name that was sent to the server, whose own errors repeat it.
pub fn is_shown(value: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.,!+".contains(c);
    value.chars().all(is_plain) && value.chars().count() <= SHOWN_CHARACTERS_MAX
}

/// The name of a file that is not there, for an error, if it is a path: a word may be a secret.
pub(super) fn shown_path(path: &str) -> &str {
    if path.contains(['/', '\\']) { path } else { "(not shown: it may hold a secret)" }
}

fn is_ip_address(text: &str) -> bool {
    let address = text.split_once('%').map_or(text, |(address, _zone)| address);
    address.parse::<IpAddr>().is_ok() && !text.contains(NOT_IN_A_HOST)
}

/// `user:password@`, or pairs of an option's name and a value, somewhere in a text.
fn has_credentials(value: &str) -> bool {
    has_pair(value, |name| names_option(name).is_some())
        || value.split_once(':').is_some_and(|(_, rest)| rest.contains('@'))
}

fn is_secret(option: &str) -> bool {
    matches!(option, "password" | "sslpassword")
}

/// Whether a name that is meant stands before a `=`, in letters of either case.
fn has_pair(value: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    value.match_indices('=').any(|(at, _)| {
        let before = value.get(..at).unwrap_or_default().trim_end();
        let mut words = before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c)));
        words.next().is_some_and(|word| is_meant(&word.to_ascii_lowercase()))
    })
}

/// A URI of PostgreSQL, of any of its drivers, somewhere in a text.
fn has_uri(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    lower.match_indices("://").any(|(at, _)| {
        let before = lower.get(..at).unwrap_or_default();
        let scheme = before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || "+-._".contains(c)));
        scheme.take(1).any(|scheme| scheme.starts_with("postgres"))
    })
}
