//! What can be wrong with connection options. No text here ever shows a password, nor a piece of
//! input that may be a part of one.

use std::error::Error;
use std::fmt;

/// Connection options that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnInfoError {
    /// The text is neither a URI nor keyword=value pairs.
    NotADsn,
    /// A URI of another scheme.
    UnsupportedScheme {
        /// The scheme as written.
        scheme: String,
    },
    /// User name or password hold a character that ends that part of a URI.
    UnescapedCredentials,
    /// A `%` without two hexadecimal digits, or `%00`.
    PercentEncoding {
        /// The part of the URI.
        part: &'static str,
    },
    /// Percent-encoded bytes that are not UTF-8.
    NotUtf8 {
        /// The part of the URI.
        part: &'static str,
    },
    /// Brackets around an IPv6 address that do not match, or have something behind them.
    Brackets,
    /// A host with several colons and no brackets.
    UnbracketedAddress,
    /// A query parameter without `=`.
    QueryWithoutValue,
    /// A keyword that no `=` follows.
    MissingEquals {
        /// Where the keyword stands: a 1-based index in characters.
        position: usize,
    },
    /// A quoted value without its end.
    UnterminatedQuote {
        /// Where the value begins: a 1-based index in characters.
        position: usize,
    },
    /// A backslash with nothing behind it.
    TrailingBackslash,
    /// A name that is nearly an option's.
    UnknownOption {
        /// The name as written.
        name: String,
        /// The option.
        suggestion: &'static str,
    },
    /// An unknown name directly behind a password that may reach into it.
    UnknownOptionAfterPassword,
    /// An argument of `connect()` inside a DSN.
    ArgumentInDsn {
        /// The argument.
        name: &'static str,
    },
    /// A value outside of what its option takes.
    InvalidValue {
        /// The option.
        option: &'static str,
        /// The value as written.
        value: String,
        /// What it takes.
        expected: &'static str,
    },
    /// As many ports as hosts are needed, or one.
    PortCount {
        /// Number of hosts.
        hosts: usize,
        /// Number of ports.
        ports: usize,
    },
    /// As many `hostaddr` as `host` are needed.
    HostAddressCount {
        /// Number of hosts.
        hosts: usize,
        /// Number of addresses.
        addresses: usize,
    },
    /// An option that needs a stricter `sslmode`.
    WeakSslMode {
        /// The mode in effect.
        mode: &'static str,
        /// The option that needs more, with its value.
        with: &'static str,
        /// The modes it takes.
        needs: &'static str,
    },
    /// The lowest TLS version is above the highest.
    TlsVersions {
        /// `ssl_min_protocol_version`.
        lowest: &'static str,
        /// `ssl_max_protocol_version`.
        highest: &'static str,
    },
    /// An option of libpq that would be silently without effect.
    Unsupported {
        /// The option, with its value where only that is unsupported.
        option: String,
        /// Why, or what to do instead.
        reason: &'static str,
    },
    /// A server setting that is an option of its own.
    ReservedSetting {
        /// The setting.
        name: String,
    },
    /// No user name given, and none known from the operating system.
    NoUser,
    /// No service file defines the service.
    ServiceNotFound {
        /// The service.
        name: String,
        /// The files looked into.
        files: Vec<String>,
    },
    /// A line of a service file that cannot be used.
    ServiceLine {
        /// The file.
        file: String,
        /// The 1-based line.
        line: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A setting of a service that cannot be used.
    ServiceOption {
        /// The file.
        file: String,
        /// What is wrong.
        error: Box<Self>,
    },
}

impl fmt::Display for ConnInfoError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotADsn => out.write_str(
                "the DSN is neither a URI (postgresql://user@host/database) nor pairs of \
                 keyword=value (host=localhost dbname=test)",
            ),
            Self::UnsupportedScheme { scheme } => unsupported_scheme(out, scheme),
            Self::UnescapedCredentials => out.write_str(
                "the host or port of the URI cannot be read: a \"/\", \"?\" or \"@\" inside a \
                 user name or password must be written %2F, %3F or %40",
            ),
            Self::PercentEncoding { part } => write!(
                out,
                "the {part} of the URI has a \"%\" that two hexadecimal digits (not 00) do not \
                 follow; a plain \"%\" is written %25"
            ),
            Self::NotUtf8 { part } => {
                write!(out, "the {part} of the URI is not UTF-8 once percent-decoded")
            }
            Self::Brackets => out.write_str(
                "an IPv6 address in the URI must stand in brackets, with nothing but :port behind \
                 them: [::1]:5432",
            ),
            Self::UnbracketedAddress => out.write_str(
                "a host of the URI has several colons: an IPv6 address must stand in brackets, as \
                 in [::1]:5432, and a \":\" in a password must be written %3A",
            ),
            Self::QueryWithoutValue => out.write_str(
                "each parameter of the URI's query needs a \"=\"; a \"&\" inside a value is \
                 written %26",
            ),
            Self::MissingEquals { position } => write!(
                out,
                "the DSN lacks \"=\" after the word at character {position}; a value with spaces \
                 must stand in quotes: password='two words'"
            ),
            Self::UnterminatedQuote { position } => write!(
                out,
                "the quoted value at character {position} of the DSN has no end; a quote inside \
                 it is written \\'"
            ),
            Self::TrailingBackslash => {
                out.write_str("the DSN ends in a backslash; a plain one is written \\\\")
            }
            Self::UnknownOption { name, suggestion } => {
                write!(out, "unknown connection option \"{name}\", did you mean \"{suggestion}\"?")
            }
            Self::UnknownOptionAfterPassword => out.write_str(
                "unknown connection option directly after a password (not shown: it may be a part \
                 of it); quote a password with spaces, or write \"&\" as %26 in a URI",
            ),
            Self::ArgumentInDsn { name } => {
                write!(out, "\"{name}\" is an argument of its own, it cannot be a part of the DSN")
            }
            _ => self.fmt_meaning(out),
        }
    }
}

fn unsupported_scheme(out: &mut fmt::Formatter<'_>, scheme: &str) -> fmt::Result {
    write!(out, "the scheme of the URI must be \"postgresql\" or \"postgres\", not \"{scheme}\"")?;
    match scheme.split_once('+') {
        Some(("postgresql" | "postgres", driver)) => {
            write!(out, "; \"+{driver}\" is SQLAlchemy's way to name a driver, leave it out")
        }
        _ => Ok(()),
    }
}

impl ConnInfoError {
    /// The errors in what well-formed options say.
    fn fmt_meaning(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidValue { option, value, expected } => {
                write!(out, "{option} must be {expected}, not \"{value}\"")
            }
            Self::PortCount { hosts, ports } => write!(
                out,
                "there are {ports} ports for {hosts} hosts: give one for all, or one for each"
            ),
            Self::HostAddressCount { hosts, addresses } => {
                write!(out, "there are {addresses} hostaddr for {hosts} host: give one for each")
            }
            Self::WeakSslMode { mode, with, needs } => {
                write!(out, "{with} needs sslmode={needs}, not {mode}")
            }
            Self::TlsVersions { lowest, highest } => write!(
                out,
                "ssl_min_protocol_version={lowest} is above ssl_max_protocol_version={highest}"
            ),
            Self::Unsupported { option, reason } => {
                write!(out, "the connection option {option} is not supported: {reason}")
            }
            Self::ReservedSetting { name } => write!(
                out,
                "\"{name}\" cannot be a server setting: it is an option of its own, or reserved \
                 by the protocol"
            ),
            Self::NoUser => out.write_str(
                "no user name is given, and the operating system knows none for this process",
            ),
            Self::ServiceNotFound { name, files } if files.is_empty() => {
                write!(out, "the service \"{name}\" cannot be looked up: there is no service file")
            }
            Self::ServiceNotFound { name, files } => {
                write!(out, "the service \"{name}\" is not defined in {}", files.join(" or "))
            }
            Self::ServiceLine { file, line, reason } => {
                write!(out, "{file}, line {line}: {reason}")
            }
            Self::ServiceOption { file, error } => write!(out, "{file}: {error}"),
            // Everything else is worded in `fmt`.
            _ => Ok(()),
        }
    }
}

impl Error for ConnInfoError {}
