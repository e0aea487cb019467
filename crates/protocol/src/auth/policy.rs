//! The caller's demands on authentication: the connection parameters `require_auth` and
//! `channel_binding`, with libpq's words and meanings.

use std::str::FromStr;

use crate::error::LocalError;

/// The methods and proofs that a client demands of a server before it trusts it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AuthPolicy {
    /// The methods that the server may ask for.
    pub require_auth: RequireAuth,
    /// Whether SCRAM must be bound to the TLS connection.
    pub channel_binding: ChannelBindingPolicy,
}

/// Whether authentication is bound to the TLS connection, so that an attacker in the middle cannot
/// relay it over another connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ChannelBindingPolicy {
    /// Never.
    Disable,
    /// If both sides support it.
    #[default]
    Prefer,
    /// Always: refuse servers that do not support or offer it.
    Require,
}

impl FromStr for ChannelBindingPolicy {
    type Err = LocalError;

    fn from_str(value: &str) -> Result<Self, LocalError> {
        match value {
            "disable" => Ok(Self::Disable),
            "prefer" => Ok(Self::Prefer),
            "require" => Ok(Self::Require),
            _ => Err(LocalError::UnknownChannelBinding { value: value.to_owned() }),
        }
    }
}

/// An authentication method, with its name in `require_auth`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthMethod {
    /// The password in clear text.
    Password,
    /// The password's MD5 digest.
    Md5,
    /// Kerberos through GSSAPI, whose tokens the caller makes.
    Gss,
    /// Windows authentication; can be named, but is not supported.
    Sspi,
    /// SCRAM-SHA-256, with or without channel binding.
    ScramSha256,
    /// OAuth bearer tokens; can be named, but are not supported.
    Oauth,
    /// The server requests nothing.
    None,
}

impl AuthMethod {
    const ALL: [Self; 7] = [
        Self::Password,
        Self::Md5,
        Self::Gss,
        Self::Sspi,
        Self::ScramSha256,
        Self::Oauth,
        Self::None,
    ];

    /// The word for this method.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Md5 => "md5",
            Self::Gss => "gss",
            Self::Sspi => "sspi",
            Self::ScramSha256 => "scram-sha-256",
            Self::Oauth => "oauth",
            Self::None => "none",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The methods that a server may ask for; all of them by default.
///
/// Written as a list of methods to allow (`"scram-sha-256,md5"`) or of methods to forbid
/// (`"!password,!md5"`), never both; the empty list allows all.
///
/// ```
/// use colonnade_protocol::auth::{AuthMethod, RequireAuth};
///
/// let encrypted: RequireAuth = "!password,!none".parse()?;
/// assert!(encrypted.allows(AuthMethod::ScramSha256));
/// assert!(!encrypted.allows(AuthMethod::Password));
/// # Ok::<(), colonnade_protocol::LocalError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequireAuth {
    /// One bit for each allowed method.
    allowed: u8,
}

impl RequireAuth {
    /// Whether the server may ask for this method.
    pub const fn allows(self, method: AuthMethod) -> bool {
        self.allowed & method.bit() != 0
    }
}

impl Default for RequireAuth {
    fn default() -> Self {
        Self { allowed: u8::MAX }
    }
}

impl FromStr for RequireAuth {
    type Err = LocalError;

    fn from_str(list: &str) -> Result<Self, LocalError> {
        if list.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut named = 0;
        let mut forbids = None;
        for word in list.split(',').map(str::trim) {
            let (word_forbids, name) = match word.strip_prefix('!') {
                Some(name) => (true, name),
                None => (false, word),
            };
            let method = AuthMethod::ALL
                .into_iter()
                .find(|method| method.name() == name)
                .ok_or_else(|| LocalError::UnknownAuthMethod { name: word.to_owned() })?;
            if *forbids.get_or_insert(word_forbids) != word_forbids {
                return Err(LocalError::MixedAuthMethods);
            }
            if named & method.bit() != 0 {
                return Err(LocalError::RepeatedAuthMethod { name: word.to_owned() });
            }
            named |= method.bit();
        }
        Ok(Self { allowed: if forbids == Some(true) { !named } else { named } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(list: &str) -> Vec<&'static str> {
        let policy: RequireAuth = list.parse().unwrap();
        AuthMethod::ALL.iter().filter(|m| policy.allows(**m)).map(|m| m.name()).collect()
    }

    #[test]
    fn lists_allow_or_forbid() {
        assert_eq!(allowed("").len(), AuthMethod::ALL.len());
        assert_eq!(allowed("scram-sha-256"), ["scram-sha-256"]);
        assert_eq!(allowed("md5, none"), ["md5", "none"]);
        assert_eq!(allowed("!password,!md5"), ["gss", "sspi", "scram-sha-256", "oauth", "none"]);
        assert_eq!(allowed("!none").len(), AuthMethod::ALL.len() - 1);
    }

    #[test]
    fn bad_lists_are_refused() {
        let error = |list: &str| list.parse::<RequireAuth>().unwrap_err();
        assert_eq!(error("md5,!none"), LocalError::MixedAuthMethods);
        assert_eq!(error("md5,md5"), LocalError::RepeatedAuthMethod { name: "md5".into() });
        assert_eq!(error("!md5,!md5"), LocalError::RepeatedAuthMethod { name: "!md5".into() });
        for word in ["MD5", "!", "scram", "!!md5"] {
            assert_eq!(error(word), LocalError::UnknownAuthMethod { name: word.into() });
        }
        assert_eq!(error("md5,"), LocalError::UnknownAuthMethod { name: String::new() });
    }

    #[test]
    fn channel_binding_has_three_words() {
        assert_eq!("disable".parse(), Ok(ChannelBindingPolicy::Disable));
        assert_eq!("prefer".parse(), Ok(ChannelBindingPolicy::Prefer));
        assert_eq!("require".parse(), Ok(ChannelBindingPolicy::Require));
        assert!("Require".parse::<ChannelBindingPolicy>().is_err());
    }
}
