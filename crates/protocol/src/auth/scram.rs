//! SCRAM-SHA-256 and SCRAM-SHA-256-PLUS over the `postgres-protocol` crate's implementation.
//!
//! The server's messages are checked here before that crate sees them, for precise errors, and
//! because the iteration count decides how long the client computes.

use postgres_protocol::authentication::sasl;

use crate::error::{AuthError, ScramFault};

pub(super) const MECHANISM: &str = sasl::SCRAM_SHA_256;
pub(super) const MECHANISM_PLUS: &str = sasl::SCRAM_SHA_256_PLUS;

/// The largest iteration count that a server may request.
///
/// The server sends the count before it has proved anything, and the client computes two hashes per
/// iteration while nothing else runs on its thread. 100 000 is 24 times PostgreSQL's default and
/// takes 0.1 to 0.2 s; the underlying implementation and other drivers have the same limit.
pub const ITERATIONS_MAX: u32 = 100_000;

/// The statement about channel binding in the client's first message.
pub(super) enum Binding {
    /// It binds, with this data.
    TlsServerEndPoint(Vec<u8>),
    /// It could, but the server did not offer it.
    NotOffered,
    /// It cannot, or is told not to.
    None,
}

/// One SCRAM exchange.
pub(super) struct Scram {
    inner: sasl::ScramSha256,
    mechanism: &'static str,
}

impl Scram {
    pub(super) fn new(password: &[u8], binding: Binding) -> Self {
        let (mechanism, binding) = match binding {
            Binding::TlsServerEndPoint(data) => {
                (MECHANISM_PLUS, sasl::ChannelBinding::tls_server_end_point(data))
            }
            Binding::NotOffered => (MECHANISM, sasl::ChannelBinding::unrequested()),
            Binding::None => (MECHANISM, sasl::ChannelBinding::unsupported()),
        };
        Self { inner: sasl::ScramSha256::new(password, binding), mechanism }
    }

    pub(super) fn mechanism(&self) -> &'static str {
        self.mechanism
    }

    /// The message that opens the exchange. May not be called after `client_final`.
    pub(super) fn client_first(&self) -> &[u8] {
        self.inner.message()
    }

    /// Answers the server's first message with the client's proof. May be called only once.
    pub(super) fn client_final(&mut self, server_first: &[u8]) -> Result<&[u8], AuthError> {
        check_server_first(server_first, self.inner.message()).map_err(AuthError::Scram)?;
        // Only the salt's encoding is left unchecked.
        self.inner.update(server_first).map_err(|_| AuthError::Scram(ScramFault::Salt))?;
        Ok(self.inner.message())
    }

    /// Verifies the server's proof, after `client_final`.
    pub(super) fn verify(mut self, server_final: &[u8]) -> Result<(), AuthError> {
        if let Some(reason) = server_final.strip_prefix(b"e=") {
            let reason = String::from_utf8_lossy(reason).into_owned();
            return Err(AuthError::ServerRefused { reason });
        }
        self.inner.finish(server_final).map_err(|_| AuthError::ServerProofWrong)
    }
}

/// Checks the form, the nonce and the iteration count of `r=nonce,s=salt,i=count`.
fn check_server_first(server_first: &[u8], client_first: &[u8]) -> Result<(), ScramFault> {
    let text = std::str::from_utf8(server_first).map_err(|_| ScramFault::Shape)?;
    let (nonce, rest) =
        text.strip_prefix("r=").and_then(|rest| rest.split_once(",s=")).ok_or(ScramFault::Shape)?;
    let (_salt, count) = rest.split_once(",i=").ok_or(ScramFault::Shape)?;
    if !nonce.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',') {
        return Err(ScramFault::Shape);
    }
    if !continues(nonce.as_bytes(), client_first) {
        return Err(ScramFault::Nonce);
    }
    if count.is_empty() || !count.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ScramFault::Shape);
    }
    let claimed = count.parse().unwrap_or(u64::MAX);
    if (1..=u64::from(ITERATIONS_MAX)).contains(&claimed) {
        Ok(())
    } else {
        Err(ScramFault::Iterations { claimed, limit: ITERATIONS_MAX })
    }
}

/// Whether `nonce` is the nonce at the end of `client_first`, extended by the server.
fn continues(nonce: &[u8], client_first: &[u8]) -> bool {
    let start = client_first.windows(3).position(|window| window == b",r=").map(|at| at + 3);
    let own = start.and_then(|start| client_first.get(start..)).unwrap_or(client_first);
    nonce.len() > own.len() && nonce.starts_with(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT_FIRST: &[u8] = b"n,,n=,r=ab+c";

    fn check(server_first: &str) -> Result<(), ScramFault> {
        check_server_first(server_first.as_bytes(), CLIENT_FIRST)
    }

    #[test]
    fn the_first_message_of_the_server_is_checked() {
        assert_eq!(check("r=ab+cd,s=c2FsdA==,i=4096"), Ok(()));
        assert_eq!(check("r=ab+cd,s=c2FsdA==,i=1"), Ok(()));
        assert_eq!(check("r=ab+cd,s=c2FsdA==,i=100000"), Ok(()));
        for shape in [
            "",
            "r=ab+cd",
            "r=ab+cd,s=c2FsdA==",
            "r=ab+cd,s=c2FsdA==,i=",
            "r=ab+cd,s=c2FsdA==,i=-1",
            "r=ab+cd,s=c2FsdA==,i=4096,x=y",
            "m=ext,r=ab+cd,s=c2FsdA==,i=4096",
            "r=ab+c d,s=c2FsdA==,i=4096",
        ] {
            assert_eq!(check(shape), Err(ScramFault::Shape), "{shape}");
        }
        for nonce in ["r=,s=c2FsdA==,i=1", "r=ab+c,s=c2FsdA==,i=1", "r=xab+cd,s=c2FsdA==,i=1"] {
            assert_eq!(check(nonce), Err(ScramFault::Nonce), "{nonce}");
        }
    }

    #[test]
    fn the_iteration_count_is_bounded() {
        let cases = [
            ("0", 0),
            ("100001", 100_001),
            ("4294967297", 4_294_967_297),
            ("99999999999999999999999", u64::MAX),
        ];
        for (count, claimed) in cases {
            let fault = ScramFault::Iterations { claimed, limit: ITERATIONS_MAX };
            assert_eq!(check(&format!("r=ab+cd,s=c2FsdA==,i={count}")), Err(fault));
        }
    }
}
