//! The types of connection options' values.

use std::fmt;

/// A text that never appears in `Debug`, and so not in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the code that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("***")
    }
}

/// Defines an enum whose variants are each written as one word.
macro_rules! words {
    (
        $(#[$doc:meta])* $name:ident, $expected:literal;
        $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// The accepted words, for error messages.
            pub(super) const EXPECTED: &'static str = $expected;

            /// The variant for a word, exactly as written.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }

            /// The word for the variant.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }
    };
}

words! {
    /// Whether to use TLS, and how much of the server's certificate to check; ordered by
    /// strictness.
    SslMode, "disable, allow, prefer, require, verify-ca or verify-full";
    /// Never TLS.
    Disable = "disable",
    /// TLS only if the server refuses a connection without it.
    Allow = "allow",
    /// TLS if the server offers it.
    Prefer = "prefer",
    /// TLS or nothing.
    Require = "require",
    /// The certificate must lead to a trusted root.
    VerifyCa = "verify-ca",
    /// The certificate must also be for this host.
    VerifyFull = "verify-full",
}

words! {
    /// How TLS begins.
    SslNegotiation, "postgres or direct";
    /// The server is asked first.
    Postgres = "postgres",
    /// The handshake begins at once (servers since PostgreSQL 17).
    Direct = "direct",
}

words! {
    /// The kind of server to choose among the hosts.
    TargetSessionAttrs, "any, read-write, read-only, primary, standby or prefer-standby";
    /// Any server.
    Any = "any",
    /// Sessions are read-write by default.
    ReadWrite = "read-write",
    /// Sessions are read-only by default.
    ReadOnly = "read-only",
    /// Not in recovery.
    Primary = "primary",
    /// In recovery.
    Standby = "standby",
    /// A standby, or any server if there is none.
    PreferStandby = "prefer-standby",
}

words! {
    /// The order in which hosts are tried.
    LoadBalanceHosts, "disable or random";
    /// As written.
    Disable = "disable",
    /// Shuffled for each connection.
    Random = "random",
}

words! {
    /// A version of TLS.
    TlsVersion, "TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3";
    /// 1.0
    V1_0 = "TLSv1",
    /// 1.1
    V1_1 = "TLSv1.1",
    /// 1.2
    V1_2 = "TLSv1.2",
    /// 1.3
    V1_3 = "TLSv1.3",
}

words! {
    /// A version of PostgreSQL's own protocol.
    ProtocolVersion, "3.0, 3.2 or latest";
    /// 3.0
    V3_0 = "3.0",
    /// 3.2, with longer cancel keys.
    V3_2 = "3.2",
    /// The newest that both sides speak.
    Latest = "latest",
}

/// The address of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostAddress {
    /// A name or an IP address.
    Tcp(String),
    /// The directory of a Unix socket, or the socket itself; a leading `@` means the abstract
    /// namespace.
    Unix(String),
}

/// One place to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its address.
    pub address: HostAddress,
    /// Its port; for a Unix socket a part of the socket's name.
    pub port: u16,
    /// `hostaddr`: the IP address to connect to, while `address` is the name to verify.
    pub numeric_address: Option<String>,
}

impl Host {
    /// The TCP host (None for a Unix socket), the port, and the numeric address or the path of the
    /// socket.
    #[must_use]
    pub fn place(&self) -> (Option<String>, u16, Option<String>) {
        match &self.address {
            HostAddress::Tcp(name) => (Some(name.clone()), self.port, self.numeric_address.clone()),
            HostAddress::Unix(_) => (None, self.port, self.socket_path()),
        }
    }

    /// The Unix socket to connect to; None for TCP.
    #[must_use]
    pub fn socket_path(&self) -> Option<String> {
        match &self.address {
            HostAddress::Tcp(_) => None,
            HostAddress::Unix(path) if path.contains("/.s.PGSQL.") => Some(path.clone()),
            HostAddress::Unix(directory) => {
                Some(format!("{}/.s.PGSQL.{}", directory.trim_end_matches('/'), self.port))
            }
        }
    }
}

/// TCP keepalive and related options; None leaves the value to the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalives {
    /// Whether to send keepalives.
    pub enabled: bool,
    /// Seconds of silence before the first.
    pub idle_s: Option<u32>,
    /// Seconds between two.
    pub interval_s: Option<u32>,
    /// How many may remain unanswered.
    pub count: Option<u32>,
    /// Milliseconds for which sent data may remain unacknowledged.
    pub user_timeout_ms: Option<u32>,
}
