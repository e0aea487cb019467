//! A server that does not know the password, and pretends to.

use super::Input;
use crate::Message;
use crate::auth::{
    AuthMethod, AuthPolicy, AuthStep, Authenticator, ChannelBinding, ChannelBindingPolicy,
};

/// A password that a fuzzer's bytes never contain by chance.
const PASSWORD: &str = "7Hq-correct-horse-Zx3";

/// The iterations that a test has time for; larger counts are tested where they are refused.
const ITERATIONS_MAX: u64 = 64;

const REQUIREMENTS: [&str; 8] = [
    "",
    "none",
    "scram-sha-256",
    "!password",
    "!none",
    "md5,scram-sha-256",
    "password",
    "!password,!md5,!none",
];

/// Authentication with a server that sends anything, including plausible messages. The server may
/// end it successfully only in a way that the policy allows, and never if it had to prove that it
/// knows the password. The client sends the password only if the server requests it in clear text
/// and the policy allows that.
pub fn authentication(data: &[u8]) {
    let mut input = Input::new(data);
    let policy = AuthPolicy {
        require_auth: input
            .choose(&REQUIREMENTS)
            .and_then(|list| list.parse().ok())
            .unwrap_or_default(),
        channel_binding: match input.below(3) {
            0 => ChannelBindingPolicy::Disable,
            1 => ChannelBindingPolicy::Prefer,
            _ => ChannelBindingPolicy::Require,
        },
    };
    let binding = match input.below(3) {
        0 => ChannelBinding::NotUsed,
        1 => ChannelBinding::Unsupported,
        _ => ChannelBinding::TlsServerEndPoint(vec![7; 32]),
    };
    let password = (!input.flag()).then_some(PASSWORD.as_bytes());
    let mut authenticator = Authenticator::new("ada", password, binding, policy);
    let mut talk = Talk { out: Vec::new(), asked: None, has_ended: false };
    while !input.is_empty() {
        let body = request(&mut input, &talk.out);
        let Ok(message) = Message::parse(b'R', &body) else { continue };
        talk.answer(&mut authenticator, &message, policy);
        assert!(!format!("{authenticator:?}").contains(PASSWORD));
    }
}

struct Talk {
    /// The client's last message.
    out: Vec<u8>,
    /// The method that the server has begun.
    asked: Option<AuthMethod>,
    has_ended: bool,
}

impl Talk {
    fn answer(
        &mut self,
        authenticator: &mut Authenticator,
        message: &Message<'_>,
        policy: AuthPolicy,
    ) {
        self.out.clear();
        let answered = authenticator.respond(message, &mut self.out);
        assert!(!self.has_ended || answered.is_err(), "{message:?} behind the end");
        let may_tell = matches!(message, Message::AuthenticationCleartextPassword)
            && policy.require_auth.allows(AuthMethod::Password)
            && policy.channel_binding != ChannelBindingPolicy::Require;
        let told = self.out.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes());
        assert!(may_tell || !told, "the password is told to {message:?}");
        let Ok(step) = answered else {
            self.has_ended = true;
            return;
        };
        if self.asked.is_none() {
            self.asked = method(message);
        }
        if step == AuthStep::Done {
            self.has_ended = true;
            let by = self.asked.unwrap_or(AuthMethod::None);
            assert!(policy.require_auth.allows(by), "let in by {by:?}");
            assert_ne!(by, AuthMethod::ScramSha256, "nobody has proved anything");
            assert_ne!(policy.channel_binding, ChannelBindingPolicy::Require);
        }
    }
}

fn method(message: &Message<'_>) -> Option<AuthMethod> {
    match message {
        Message::AuthenticationCleartextPassword => Some(AuthMethod::Password),
        Message::AuthenticationMd5Password { .. } => Some(AuthMethod::Md5),
        Message::AuthenticationGss => Some(AuthMethod::Gss),
        Message::AuthenticationSasl(_) => Some(AuthMethod::ScramSha256),
        _ => None,
    }
}

/// The body of an authentication message.
fn request(input: &mut Input<'_>, said: &[u8]) -> Vec<u8> {
    let of_code = |code: u8, rest: &[u8]| [&[0, 0, 0, code], rest].concat();
    match input.below(12) {
        0 => of_code(0, &[]),
        1 => of_code(3, &[]),
        2 => of_code(5, b"salt"),
        3 => of_code(10, b"SCRAM-SHA-256\0\0"),
        4 => of_code(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"),
        5 => of_code(11, server_first(input, said).as_bytes()),
        6 => of_code(12, &[b"v=", input.chunk()].concat()),
        7 => of_code(12, &[b"e=", input.chunk()].concat()),
        8 => of_code(7, &[]),
        9 => of_code(10, input.chunk()),
        10 => of_code(input.byte(), input.chunk()),
        _ => input.chunk().to_vec(),
    }
}

/// A first SCRAM message that extends the client's nonce, as a server's does, unless the input says
/// otherwise.
fn server_first(input: &mut Input<'_>, said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let nonce = said.split_once(",r=").map_or("", |(_, nonce)| nonce).to_owned();
    let nonce = if input.below(8) == 0 { input.text() } else { nonce };
    let (own, salt, count) = (input.text(), input.text(), input.text());
    let iterations = match count.parse() {
        Ok(count @ 0..=100_000_u64) => (count % ITERATIONS_MAX).to_string(),
        _ => count,
    };
    format!("r={nonce}{own},s={salt},i={iterations}")
}
