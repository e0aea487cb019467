//! Answers the server's authentication requests, as far as the policy allows, and trusts the server
//! only when it has given the proof that the policy demands.

mod md5;
mod policy;
mod scram;

use std::fmt;

pub use policy::{AuthMethod, AuthPolicy, ChannelBindingPolicy, RequireAuth};
pub use scram::ITERATIONS_MAX;

use crate::backend::{Message, SaslMechanisms};
use crate::error::{AuthError, BindingGap, Error};
use crate::frontend;
use scram::{Binding, Scram};

/// The transport's knowledge about the TLS connection that carries the authentication.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChannelBinding {
    /// The `tls-server-end-point` data: the server certificate's hash, by the hash function of its
    /// signature, with SHA-256 in place of MD5 and SHA-1 (RFC 5929).
    TlsServerEndPoint(Vec<u8>),
    /// The connection is encrypted, but its certificate provides no such data.
    Unsupported,
    /// The connection is not encrypted.
    NotUsed,
}

/// The progress of authentication after a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthStep {
    /// The server's next message decides.
    Continue,
    /// The caller's GSSAPI library must make the next token, from the message's token if there is
    /// one. Send it with [`frontend::gss_response`].
    Token,
    /// The server has let the client in and has given the proof that the policy demands.
    Done,
}

/// The client's side of authentication, one message at a time.
///
/// ```
/// use colonnade_protocol::Message;
/// use colonnade_protocol::auth::{AuthPolicy, AuthStep, Authenticator, ChannelBinding};
///
/// let policy = AuthPolicy { require_auth: "md5,scram-sha-256".parse()?, ..AuthPolicy::default() };
/// let mut auth = Authenticator::new("ada", Some(b"lovelace"), ChannelBinding::NotUsed, policy);
/// let mut out = Vec::new();
/// let request = Message::AuthenticationMd5Password { salt: [1, 2, 3, 4] };
/// assert_eq!(auth.respond(&request, &mut out)?, AuthStep::Continue);
/// assert!(out.starts_with(b"p\0\0\0\x28md5"));
/// assert_eq!(auth.respond(&Message::AuthenticationOk, &mut out)?, AuthStep::Done);
/// # Ok::<(), colonnade_protocol::Error>(())
/// ```
pub struct Authenticator {
    user: String,
    /// Never empty: servers do not accept empty passwords, so one counts as none.
    password: Option<Vec<u8>>,
    channel_binding: ChannelBinding,
    policy: AuthPolicy,
    state: State,
}

/// The progress of the exchange. Each state names the only messages that may come next.
enum State {
    /// No request yet: any request, or `AuthenticationOk`.
    Start,
    /// A password was sent: `AuthenticationOk`.
    PasswordSent,
    /// GSSAPI is under way: `AuthenticationGSSContinue` or `AuthenticationOk`. The caller's library
    /// knows whether it has ended and the server has proved itself.
    Gss,
    /// The first SCRAM message was sent: `AuthenticationSASLContinue`.
    ScramStarted(Scram),
    /// The client's proof was sent: `AuthenticationSASLFinal`.
    ScramProved(Scram),
    /// The server's proof was right: `AuthenticationOk`.
    ScramVerified,
    /// The exchange has ended, well or badly: no message.
    Ended,
}

impl Authenticator {
    /// Prepares to authenticate `user`. An empty password counts as none. Its bytes go as they are,
    /// in the encoding in which the role was given its password.
    pub fn new(
        user: &str,
        password: Option<&[u8]>,
        channel_binding: ChannelBinding,
        policy: AuthPolicy,
    ) -> Self {
        Self {
            user: user.to_owned(),
            password: password.filter(|password| !password.is_empty()).map(<[u8]>::to_vec),
            channel_binding,
            policy,
            state: State::Start,
        }
    }

    /// Handles the server's next authentication message and appends the answer, if there is one.
    ///
    /// Any other message is out of turn; the caller handles an `ErrorResponse` or a notice. After
    /// an error the exchange is over, and the connection must be closed.
    pub fn respond(&mut self, message: &Message<'_>, out: &mut Vec<u8>) -> Result<AuthStep, Error> {
        let state = std::mem::replace(&mut self.state, State::Ended);
        self.state = match (state, message) {
            (State::Start, Message::AuthenticationOk) => {
                self.check_unasked()?;
                return Ok(AuthStep::Done);
            }
            (State::Start, Message::AuthenticationCleartextPassword) => {
                let password = self.password_for(AuthMethod::Password)?;
                frontend::password(out, password)?;
                State::PasswordSent
            }
            (State::Start, Message::AuthenticationMd5Password { salt }) => {
                let password = self.password_for(AuthMethod::Md5)?;
                frontend::password(out, md5::digest(&self.user, password, *salt).as_bytes())?;
                State::PasswordSent
            }
            (State::Start, Message::AuthenticationSasl(offered)) => {
                State::ScramStarted(self.start_scram(*offered, out)?)
            }
            (State::Start, Message::AuthenticationGss) => {
                self.check_gss()?;
                self.state = State::Gss;
                return Ok(AuthStep::Token);
            }
            (State::Gss, Message::AuthenticationGssContinue(_)) => {
                self.state = State::Gss;
                return Ok(AuthStep::Token);
            }
            (State::Start, Message::AuthenticationUnsupported(code)) => {
                return Err(AuthError::MethodUnsupported { code: *code }.into());
            }
            (State::ScramStarted(mut scram), Message::AuthenticationSaslContinue(data)) => {
                frontend::sasl_response(out, scram.client_final(data)?)?;
                State::ScramProved(scram)
            }
            (State::ScramProved(scram), Message::AuthenticationSaslFinal(data)) => {
                scram.verify(data)?;
                State::ScramVerified
            }
            (
                State::PasswordSent | State::ScramVerified | State::Gss,
                Message::AuthenticationOk,
            ) => {
                return Ok(AuthStep::Done);
            }
            (State::ScramStarted(_) | State::ScramProved(_), Message::AuthenticationOk) => {
                return Err(AuthError::ServerProofMissing.into());
            }
            (_, message) => return Err(AuthError::OutOfTurn { message: message.name() }.into()),
        };
        Ok(AuthStep::Continue)
    }

    /// Whether the policy allows the server to let the client in without any request.
    fn check_unasked(&self) -> Result<(), AuthError> {
        self.check_other_than_scram()?;
        if self.policy.require_auth.allows(AuthMethod::None) {
            Ok(())
        } else {
            Err(AuthError::NotAuthenticated)
        }
    }

    /// Whether the policy lets the server ask for GSSAPI.
    fn check_gss(&self) -> Result<(), AuthError> {
        if !self.policy.require_auth.allows(AuthMethod::Gss) {
            return Err(AuthError::MethodForbidden { method: AuthMethod::Gss.name() });
        }
        self.check_other_than_scram()
    }

    /// Only SCRAM binds the channel, so a policy that requires binding refuses all else.
    fn check_other_than_scram(&self) -> Result<(), AuthError> {
        match self.policy.channel_binding {
            ChannelBindingPolicy::Require => {
                Err(AuthError::ChannelBinding(BindingGap::OtherMethod))
            }
            ChannelBindingPolicy::Prefer | ChannelBindingPolicy::Disable => Ok(()),
        }
    }

    /// The password, if the policy lets it be used with this method.
    fn password_for(&self, method: AuthMethod) -> Result<&[u8], AuthError> {
        if !self.policy.require_auth.allows(method) {
            return Err(AuthError::MethodForbidden { method: method.name() });
        }
        if method != AuthMethod::ScramSha256 {
            self.check_other_than_scram()?;
        }
        self.password.as_deref().ok_or(AuthError::PasswordMissing { method: method.name() })
    }

    fn start_scram(&self, offered: SaslMechanisms<'_>, out: &mut Vec<u8>) -> Result<Scram, Error> {
        let password = self.password_for(AuthMethod::ScramSha256)?;
        let binding = self.choose_binding(offered)?;
        let scram = Scram::new(password, binding);
        frontend::sasl_initial_response(out, scram.mechanism(), scram.client_first())?;
        Ok(scram)
    }

    /// Chooses between SCRAM-SHA-256-PLUS, which binds the channel, and SCRAM-SHA-256.
    fn choose_binding(&self, offered: SaslMechanisms<'_>) -> Result<Binding, AuthError> {
        let offers = |mechanism| offered.iter().any(|name| name == mechanism);
        let required = match self.policy.channel_binding {
            ChannelBindingPolicy::Disable => return self.without_binding(offered, Binding::None),
            ChannelBindingPolicy::Prefer => false,
            ChannelBindingPolicy::Require => true,
        };
        let gap = match &self.channel_binding {
            ChannelBinding::TlsServerEndPoint(data) if offers(scram::MECHANISM_PLUS) => {
                return Ok(Binding::TlsServerEndPoint(data.clone()));
            }
            ChannelBinding::TlsServerEndPoint(_) => BindingGap::NotOffered,
            ChannelBinding::Unsupported => BindingGap::NoBindingData,
            ChannelBinding::NotUsed => BindingGap::NoTls,
        };
        if required {
            return Err(AuthError::ChannelBinding(gap));
        }
        if gap == BindingGap::NoTls && offers(scram::MECHANISM_PLUS) {
            // A server offers this under TLS only, so the TLS connection ends between us and the
            // server.
            return Err(AuthError::TlsStripped);
        }
        // Stating that binding was possible but not offered lets an honest server detect that
        // someone removed its offer from the list.
        let binding = match gap {
            BindingGap::NotOffered => Binding::NotOffered,
            _ => Binding::None,
        };
        self.without_binding(offered, binding)
    }

    fn without_binding(
        &self,
        offered: SaslMechanisms<'_>,
        binding: Binding,
    ) -> Result<Binding, AuthError> {
        if offered.iter().any(|name| name == scram::MECHANISM) {
            Ok(binding)
        } else {
            let offered = offered.iter().map(str::to_owned).collect();
            Err(AuthError::NoCommonMechanism { offered })
        }
    }
}

impl fmt::Debug for Authenticator {
    /// Shows whether there is a password, never the password itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Start => "Start",
            State::PasswordSent => "PasswordSent",
            State::Gss => "Gss",
            State::ScramStarted(_) => "ScramStarted",
            State::ScramProved(_) => "ScramProved",
            State::ScramVerified => "ScramVerified",
            State::Ended => "Ended",
        };
        f.debug_struct("Authenticator")
            .field("user", &self.user)
            .field("has_password", &self.password.is_some())
            .field("channel_binding", &self.channel_binding)
            .field("policy", &self.policy)
            .field("state", &state)
            .finish()
    }
}
