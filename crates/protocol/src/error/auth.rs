//! Authentication failures: the policy forbids a method, or the server could not prove itself.

use std::fmt;

/// Authentication cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AuthError {
    /// The server wants a password, but none was given.
    PasswordMissing {
        /// The method that needs it, by its `require_auth` name.
        method: &'static str,
    },
    /// `require_auth` does not allow the requested method.
    MethodForbidden {
        /// The method the server asked for, by its `require_auth` name.
        method: &'static str,
    },
    /// The server requests a method that this driver does not support.
    MethodUnsupported {
        /// The authentication request's code.
        code: i32,
    },
    /// The server offers SASL mechanisms, none of which is SCRAM-SHA-256.
    NoCommonMechanism {
        /// The mechanisms offered.
        offered: Vec<String>,
    },
    /// `channel_binding=require` cannot be met.
    ChannelBinding(BindingGap),
    /// The server offers to bind a TLS channel, but the client's side has none.
    TlsStripped,
    /// The server let the client in without the authentication that the policy demands.
    NotAuthenticated,
    /// The server said "authenticated" before it proved that it knows the password.
    ServerProofMissing,
    /// The server's proof is wrong: it does not know the password.
    ServerProofWrong,
    /// The server ended the SCRAM exchange with an error.
    ServerRefused {
        /// The error in the words of RFC 5802, such as "invalid-proof".
        reason: String,
    },
    /// The server's first SCRAM message is invalid.
    Scram(ScramFault),
    /// The server sent an authentication message out of turn.
    OutOfTurn {
        /// The protocol's name of the message.
        message: &'static str,
    },
}

/// The reason why channel binding is impossible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BindingGap {
    /// The connection is not encrypted.
    NoTls,
    /// The connection is encrypted, but the server certificate provides no binding data.
    NoBindingData,
    /// The server does not offer SCRAM-SHA-256-PLUS.
    NotOffered,
    /// The server requests another method than SCRAM, or none.
    OtherMethod,
}

/// The error in the server's first SCRAM message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ScramFault {
    /// It is not of the form `r=...,s=...,i=...`.
    Shape,
    /// Its nonce does not continue the client's.
    Nonce,
    /// Its salt is not base64.
    Salt,
    /// It requests no iterations, or too many.
    Iterations {
        /// The requested number; `u64::MAX` also stands for anything larger.
        claimed: u64,
        /// The largest number accepted.
        limit: u32,
    },
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PasswordMissing { method } => write!(
                f,
                "the server asks for {method} authentication and no password was given: pass \
                 password=, set PGPASSWORD or add the server to the password file"
            ),
            Self::MethodForbidden { method } => write!(
                f,
                "the server asks for {method} authentication, which require_auth does not allow: \
                 change the server's pg_hba.conf or require_auth"
            ),
            Self::MethodUnsupported { code } => write!(
                f,
                "the server asks for {} authentication, which is not supported: let pg_hba.conf \
                 offer scram-sha-256 to this client",
                request_name(*code)
            ),
            Self::NoCommonMechanism { offered } => write!(
                f,
                "the server offers the SASL mechanisms {}, none of which is SCRAM-SHA-256",
                offered.join(", ")
            ),
            Self::ChannelBinding(gap) => {
                write!(f, "channel_binding is \"require\", but {gap}")
            }
            Self::TlsStripped => f.write_str(
                "the server offers SCRAM-SHA-256-PLUS, so it speaks TLS with someone, but the \
                 connection is not encrypted here: someone may have removed the encryption; \
                 connect with sslmode=require, or set channel_binding=disable if that is meant",
            ),
            Self::NotAuthenticated => f.write_str(
                "the server did not ask for any authentication, but require_auth demands it: add \
                 \"none\" to require_auth if that is meant",
            ),
            Self::ServerProofMissing => f.write_str(
                "the server ended SCRAM authentication without proving that it knows the \
                 password: it may be an impostor",
            ),
            Self::ServerProofWrong => f.write_str(
                "the server's SCRAM proof is wrong: it does not know the password and may be an \
                 impostor",
            ),
            Self::ServerRefused { reason } => {
                write!(f, "the server ended SCRAM authentication with the error {reason:?}")
            }
            Self::Scram(fault) => write!(f, "the server's first SCRAM message {fault}"),
            Self::OutOfTurn { message } => {
                write!(f, "the server sent {message} out of turn during authentication")
            }
        }
    }
}

impl std::error::Error for AuthError {}

impl fmt::Display for BindingGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoTls => "the connection is not encrypted: connect with TLS (sslmode=require)",
            Self::NoBindingData => {
                "the server certificate gives no binding data: use a certificate whose signature \
                 has a hash, or set channel_binding=prefer"
            }
            Self::NotOffered => {
                "the server does not offer SCRAM-SHA-256-PLUS: if no one stands between client \
                 and server, the server was built without it; set channel_binding=prefer"
            }
            Self::OtherMethod => {
                "the server does not ask for SCRAM authentication: let pg_hba.conf ask for \
                 scram-sha-256, or set channel_binding=prefer"
            }
        })
    }
}

impl fmt::Display for ScramFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape => f.write_str("is not of the form r=nonce,s=salt,i=count"),
            Self::Nonce => f.write_str("answers another client: its nonce does not continue ours"),
            Self::Salt => f.write_str("has a salt that is not base64"),
            Self::Iterations { claimed, limit } => write!(
                f,
                "asks for {claimed} iterations, between 1 and {limit} are accepted: lower \
                 scram_iterations on the server and set the password anew"
            ),
        }
    }
}

/// The method of an authentication request's code, for codes that this driver cannot answer.
pub(crate) fn request_name(code: i32) -> String {
    match code {
        2 => "Kerberos V5".to_owned(),
        4 => "crypt".to_owned(),
        6 => "SCM credential".to_owned(),
        9 => "SSPI".to_owned(),
        _ => format!("unknown (code {code})"),
    }
}
