//! Errors in connection options. No message ever shows a password, or a piece of input that may be
//! part of one.

use std::error::Error;
use std::fmt;

use super::secrecy::shown_path;

/// An error in the connection options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnInfoError {
    /// The text is neither a URI nor keyword=value pairs.
    NotADsn,
    /// A URI with another scheme.
    UnsupportedScheme {
        /// The driver that SQLAlchemy's form of the scheme names.
        driver: Option<String>,
    },
    /// The user name or password contains a character that ends that part of a URI.
    UnescapedCredentials,
    /// A `,` between two `@`, as if each host had a user and a password of its own.
    SeveralCredentials,
    /// White space, `/`, `=` or `&` inside the database's name of a URI.
    UriDatabase,
    /// A port in a URI that is no number of a port.
    UriPort,
    /// A host that is neither a name nor an IP address nor a path.
    Host,
    /// A `hostaddr` that is no IP address.
    Address,
    /// A URI or credentials as the value of an option.
    UriAsValue {
        /// The option; None for a server setting.
        option: Option<&'static str>,
    },
    /// A value with a NUL character.
    NulInValue {
        /// The option; None for a server setting.
        option: Option<&'static str>,
    },
    /// A keyword that cannot be the name of an option.
    NotAName,
    /// A value like an address or credentials, of a name that is no option.
    ValueOfUnknownOption,
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
    /// An environment variable that is not UTF-8.
    VariableNotUtf8 {
        /// The variable.
        variable: String,
    },
    /// Unbalanced brackets around an IPv6 address, or text after them.
    Brackets,
    /// A host with several colons and no brackets.
    UnbracketedAddress,
    /// A query parameter without `=`.
    QueryWithoutValue,
    /// A name in a query with a second `=`.
    QueryEquals,
    /// A keyword without `=` after it.
    MissingEquals {
        /// The position of the keyword: a 1-based index in characters.
        position: usize,
    },
    /// A quoted value without a closing quote.
    UnterminatedQuote {
        /// The position of the value: a 1-based index in characters.
        position: usize,
    },
    /// A backslash at the end.
    TrailingBackslash,
    /// A name that is nearly an option's.
    UnknownOption {
        /// The name as written.
        name: String,
        /// The option.
        suggestion: &'static str,
    },
    /// An unknown name directly after a password that may reach into it.
    UnknownOptionAfterPassword,
    /// An argument of `connect()` inside a DSN.
    ArgumentInDsn {
        /// The argument.
        name: &'static str,
    },
    /// A value that its option does not accept.
    InvalidValue {
        /// The option.
        option: &'static str,
        /// The value, if it is a number: a word may be a secret.
        number: Option<i64>,
        /// The accepted values.
        expected: &'static str,
    },
    /// The number of ports is neither one nor the number of hosts.
    PortCount {
        /// Number of hosts.
        hosts: usize,
        /// Number of ports.
        ports: usize,
    },
    /// The number of `hostaddr` differs from that of `host`.
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
        /// The option that needs a stricter mode, with its value.
        with: &'static str,
        /// The modes that it accepts.
        needs: &'static str,
    },
    /// The lowest TLS version is above the highest.
    TlsVersions {
        /// `ssl_min_protocol_version`.
        lowest: &'static str,
        /// `ssl_max_protocol_version`.
        highest: &'static str,
    },
    /// A libpq option that would silently have no effect.
    Unsupported {
        /// The option, with its value if only that value is unsupported.
        option: String,
        /// Why, or what to do instead.
        reason: &'static str,
    },
    /// A server setting that is an option of its own.
    ReservedSetting {
        /// The setting.
        name: String,
    },
    /// No user name is given, and the operating system provides none.
    NoUser,
    /// No service file defines the service.
    ServiceNotFound {
        /// The files searched.
        files: Vec<String>,
        /// The services that they define.
        defined: Vec<String>,
    },
    /// None of the service files exists.
    NoServiceFile {
        /// The files looked for.
        files: Vec<String>,
    },
    /// A line of a service file that cannot be used.
    ServiceLine {
        /// The file.
        file: String,
        /// The 1-based line.
        line: usize,
        /// The mistake.
        reason: &'static str,
    },
    /// A setting of a service that cannot be used.
    ServiceOption {
        /// The file.
        file: String,
        /// The mistake.
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
            Self::UnsupportedScheme { driver } => unsupported_scheme(out, driver.as_deref()),
            Self::UnescapedCredentials => out.write_str(
                "the URI has an \"@\" behind a \"/\" or \"?\": inside a user name, password or \
                 database these three must be written %40, %2F and %3F",
            ),
            Self::SeveralCredentials => out.write_str(
                "the URI has a \",\" between two \"@\": it has one user and one password, before \
                 all hosts (postgresql://user:password@host1,host2/database); inside them, \"@\" \
                 and \",\" must be written %40 and %2C",
            ),
            Self::UriDatabase => out.write_str(
                "the database of the URI has white space, \"/\", \"=\" or \"&\": options begin \
                 with \"?\", and in a name these are written %20, %2F, %3D and %26",
            ),
            Self::UriPort => out.write_str(
                "a port of the URI must be a number from 1 to 65535 (what stands there is not \
                 shown: it may be a password without \"@\" and host behind it)",
            ),
            Self::PercentEncoding { part } => write!(
                out,
                "the {part} of the URI has a \"%\" without two hexadecimal digits (not 00) \
                 after it; a plain \"%\" is written %25"
            ),
            Self::NotUtf8 { part } => {
                write!(out, "the {part} of the URI is not UTF-8 once percent-decoded")
            }
            Self::VariableNotUtf8 { variable } => {
                write!(out, "the environment variable {variable} is not UTF-8")
            }
            Self::Brackets => out.write_str(
                "an IPv6 address in the URI must be in brackets, with nothing but :port after \
                 them: [::1]:5432",
            ),
            Self::UnbracketedAddress => out.write_str(
                "a host of the URI has several colons: an IPv6 address must be in brackets, as \
                 in [::1]:5432, and a \":\" in a password must be written %3A",
            ),
            Self::QueryWithoutValue => out.write_str(
                "each parameter of the URI's query needs a \"=\"; a \"&\" inside a value is \
                 written %26",
            ),
            Self::QueryEquals => out.write_str(
                "a user, database, host or service in the URI's query has a \"=\": a \"&\" is \
                 missing before the next option, or it is written %3D",
            ),
            Self::MissingEquals { position } => write!(
                out,
                "the DSN lacks \"=\" after the word at character {position}; a value with spaces \
                 must be in quotes: password='two words'"
            ),
            Self::UnterminatedQuote { position } => write!(
                out,
                "the quoted value at character {position} of the DSN is not closed; a quote inside \
                 it is written \\'"
            ),
            Self::TrailingBackslash => {
                out.write_str("the DSN ends with a backslash; a plain one is written \\\\")
            }
            Self::UnknownOption { name, suggestion } => {
                write!(out, "unknown connection option \"{name}\", did you mean \"{suggestion}\"?")
            }
            Self::UnknownOptionAfterPassword => out.write_str(
                "unknown connection option directly after a password (not shown: it may be a part \
                 of it); quote a password with spaces, or write \"&\" as %26 in a URI",
            ),
            Self::ArgumentInDsn { name } => {
                write!(out, "\"{name}\" is an argument of connect() and cannot be part of the DSN")
            }
            Self::NotAName => out.write_str(
                "a keyword of the DSN is not a name like host or sslmode (it is not shown: it may \
                 hold a secret); a URI begins with postgresql://",
            ),
            Self::UriAsValue { option } => write!(
                out,
                "the value of {} is a URI or has credentials (it is not shown): a URI is the \
                 whole DSN by itself, without a name before it",
                option.unwrap_or("a server setting"),
            ),
            Self::NulInValue { option } => write!(
                out,
                "{} has a NUL character, which PostgreSQL cannot hold",
                option.unwrap_or("a server setting"),
            ),
            Self::ValueOfUnknownOption => out.write_str(
                "the DSN has an unknown option whose value looks like an address or credentials \
                 (neither is shown): a URI is the whole DSN by itself, without a name before it; \
                 such a value of a server setting is given by server_settings=",
            ),
            _ => self.fmt_meaning(out),
        }
    }
}

fn unsupported_scheme(out: &mut fmt::Formatter<'_>, driver: Option<&str>) -> fmt::Result {
    out.write_str("the scheme of the URI must be \"postgresql\" or \"postgres\"")?;
    match driver {
        Some(driver) => {
            write!(out, "; \"+{driver}\" is SQLAlchemy's way to name a driver: leave it out")
        }
        None => Ok(()),
    }
}

impl ConnInfoError {
    /// Writes the errors in well-formed options.
    fn fmt_meaning(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidValue { option, number, expected } => {
                write!(out, "{option} must be {expected}")?;
                match number {
                    Some(number) => write!(out, ", not {number}"),
                    None => out.write_str(" (the value given is not shown: it may hold a secret)"),
                }
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
                "no user name is given, and the operating system has none for this process",
            ),
            Self::Host => out.write_str(
                "a host must be a name, an IP address, or the absolute path of a socket's \
                 directory (what was given is not shown: it may hold a secret)",
            ),
            Self::Address => out.write_str("hostaddr must be IP addresses, separated by commas"),
            Self::NoServiceFile { files } => write!(
                out,
                "the service cannot be looked up: there is no file {}",
                files.iter().map(|file| shown_path(file)).collect::<Vec<_>>().join(" or ")
            ),
            Self::ServiceNotFound { files, defined } => {
                let defined =
                    if defined.is_empty() { "nothing".into() } else { defined.join(", ") };
                write!(
                    out,
                    "the service is not defined in {} (what was given is not shown: it may hold a \
                     secret); defined there: {defined}",
                    files.join(" or "),
                )
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
