//! Authentication against a scripted server: every method, every policy, every way to cheat.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the helpers of a test fail like the test itself"
)]

mod support;

use colonnade_protocol::auth::{
    AuthPolicy, AuthStep, Authenticator, ChannelBinding, ChannelBindingPolicy, ITERATIONS_MAX,
};
use colonnade_protocol::error::{BindingGap, ScramFault};
use colonnade_protocol::{AuthError, Error, Message};
use support::scram_server::ScramServer;

const PASSWORD: &str = "correct horse battery staple";
const PLUS: &str = "SCRAM-SHA-256-PLUS";
const PLAIN: &str = "SCRAM-SHA-256";
const CERTIFICATE_HASH: &[u8] = b"\x01\x02hash of the certificate";

/// The client's correct choice: the mechanism, the GS2 header and the channel binding data.
type Expected<'a> = (&'a str, &'a str, &'a [u8]);

fn policy(require_auth: &str, channel_binding: &str) -> AuthPolicy {
    AuthPolicy {
        require_auth: require_auth.parse().unwrap(),
        channel_binding: channel_binding.parse().unwrap(),
    }
}

fn authenticator(binding: ChannelBinding, policy: AuthPolicy) -> Authenticator {
    Authenticator::new("ada", Some(PASSWORD.as_bytes()), binding, policy)
}

fn tls() -> ChannelBinding {
    ChannelBinding::TlsServerEndPoint(CERTIFICATE_HASH.to_vec())
}

fn request(code: i32, rest: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes(), rest].concat()
}

/// Passes one authentication message to the client; returns the complete answer.
fn step(auth: &mut Authenticator, body: &[u8]) -> Result<(AuthStep, Vec<u8>), Error> {
    let mut out = Vec::new();
    let step = auth.respond(&Message::parse(b'R', body)?, &mut out)?;
    Ok((step, out))
}

fn refusal(auth: &mut Authenticator, body: &[u8]) -> AuthError {
    match step(auth, body) {
        Err(Error::Auth(error)) => {
            assert!(!error.to_string().contains(PASSWORD));
            // The exchange is over: every further message is refused.
            let again = auth.respond(&Message::AuthenticationOk, &mut Vec::new());
            let message = "AuthenticationOk";
            assert_eq!(again, Err(AuthError::OutOfTurn { message }.into()));
            error
        }
        other => panic!("not refused: {other:?}"),
    }
}

fn sasl(mechanisms: &[&str]) -> Vec<u8> {
    let mut list: Vec<u8> =
        mechanisms.iter().flat_map(|m| [m.as_bytes(), b"\0"].concat()).collect();
    list.push(0);
    request(10, &list)
}

/// The mechanism and the first message in a `SASLInitialResponse`.
fn initial_response(out: &[u8]) -> (String, String) {
    let body = &out[5..];
    let end = body.iter().position(|byte| *byte == 0).unwrap();
    let data = &body[end + 5..];
    let declared = u32::from_be_bytes(body[end + 1..end + 5].try_into().unwrap());
    assert_eq!(declared as usize, data.len());
    (String::from_utf8(body[..end].to_vec()).unwrap(), String::from_utf8(data.to_vec()).unwrap())
}

/// Plays SCRAM up to the client's proof, and returns the server's proof.
fn play(
    auth: &mut Authenticator,
    offered: &[&str],
    (mechanism, gs2, binding): Expected<'_>,
) -> Vec<u8> {
    let (_, out) = step(auth, &sasl(offered)).unwrap();
    let (chosen, client_first) = initial_response(&out);
    assert_eq!(chosen, mechanism);
    let mut server = ScramServer::new(PASSWORD, b"some salt", 64, "+server");
    let first = server.server_first(&client_first, gs2);
    let (next, out) = step(auth, &request(11, first.as_bytes())).unwrap();
    assert_eq!(next, AuthStep::Continue);
    let client_final = String::from_utf8(out[5..].to_vec()).unwrap();
    request(12, server.server_final(&client_final, gs2, binding).as_bytes())
}

#[test]
fn scram_succeeds_with_each_kind_of_binding() {
    let cases: [(ChannelBinding, &str, &[&str], Expected); 6] = [
        (tls(), "prefer", &[PLUS, PLAIN], (PLUS, "p=tls-server-end-point,,", CERTIFICATE_HASH)),
        (tls(), "require", &[PLAIN, PLUS], (PLUS, "p=tls-server-end-point,,", CERTIFICATE_HASH)),
        (tls(), "prefer", &[PLAIN], (PLAIN, "y,,", b"")),
        (tls(), "disable", &[PLUS, PLAIN], (PLAIN, "n,,", b"")),
        (ChannelBinding::Unsupported, "prefer", &[PLUS, PLAIN], (PLAIN, "n,,", b"")),
        (ChannelBinding::NotUsed, "prefer", &[PLAIN], (PLAIN, "n,,", b"")),
    ];
    for (binding, wanted, offered, expected) in cases {
        let mut auth = authenticator(binding, policy("scram-sha-256", wanted));
        let server_final = play(&mut auth, offered, expected);
        let (next, out) = step(&mut auth, &server_final).unwrap();
        assert_eq!((next, out.len()), (AuthStep::Continue, 0));
        assert_eq!(step(&mut auth, &request(0, b"")).unwrap().0, AuthStep::Done);
    }
}

#[test]
fn the_servers_proof_is_demanded_and_checked() {
    let play = || {
        let mut auth = authenticator(ChannelBinding::NotUsed, AuthPolicy::default());
        let server_final = play(&mut auth, &[PLAIN], (PLAIN, "n,,", b""));
        (auth, server_final)
    };
    // "Authenticated" before the proof.
    let (mut auth, _) = play();
    assert_eq!(refusal(&mut auth, &request(0, b"")), AuthError::ServerProofMissing);
    // "Authenticated" before even the first message.
    let mut auth = authenticator(ChannelBinding::NotUsed, AuthPolicy::default());
    step(&mut auth, &sasl(&[PLAIN])).unwrap();
    assert_eq!(refusal(&mut auth, &request(0, b"")), AuthError::ServerProofMissing);
    // Every single bit of the proof matters, and a missing proof is refused.
    let (mut auth, mut server_final) = play();
    server_final[10] = if server_final[10] == b'A' { b'B' } else { b'A' };
    assert_eq!(refusal(&mut auth, &server_final), AuthError::ServerProofWrong);
    for forged in [&b""[..], b"v=", b"v=AAAA", b"v=!", b"x", b"\xff"] {
        let (mut auth, _) = play();
        assert_eq!(refusal(&mut auth, &request(12, forged)), AuthError::ServerProofWrong);
    }
    let (mut auth, _) = play();
    let reason = "invalid-proof".to_owned();
    let refused = refusal(&mut auth, &request(12, b"e=invalid-proof"));
    assert_eq!(refused, AuthError::ServerRefused { reason });
}

#[test]
fn the_servers_first_message_is_checked_before_it_is_used() {
    let first = |text: &dyn Fn(&str) -> String| {
        let mut auth = authenticator(ChannelBinding::NotUsed, AuthPolicy::default());
        let (_, out) = step(&mut auth, &sasl(&[PLAIN])).unwrap();
        let nonce = initial_response(&out).1.strip_prefix("n,,n=,r=").unwrap().to_owned();
        refusal(&mut auth, &request(11, text(&nonce).as_bytes()))
    };
    let scram = AuthError::Scram;
    assert_eq!(first(&|_| String::new()), scram(ScramFault::Shape));
    assert_eq!(first(&|_| "r=other,s=AAAA,i=4096".into()), scram(ScramFault::Nonce));
    assert_eq!(first(&|nonce| format!("r={nonce},s=AAAA,i=4096")), scram(ScramFault::Nonce));
    assert_eq!(first(&|nonce| format!("r={nonce}x,s=A,i=4096")), scram(ScramFault::Salt));
    assert_eq!(
        first(&|nonce| format!("r={nonce}x,s=AAAA,i=2000000000")),
        scram(ScramFault::Iterations { claimed: 2_000_000_000, limit: ITERATIONS_MAX })
    );
}

/// The underlying implementation accepts this limit, too.
#[test]
fn the_largest_iteration_count_works() {
    let mut auth = authenticator(ChannelBinding::NotUsed, AuthPolicy::default());
    let (_, out) = step(&mut auth, &sasl(&[PLAIN])).unwrap();
    let nonce = initial_response(&out).1.strip_prefix("n,,n=,r=").unwrap().to_owned();
    let first = format!("r={nonce}x,s=AAAA,i={ITERATIONS_MAX}");
    assert!(step(&mut auth, &request(11, first.as_bytes())).is_ok());
}

#[test]
fn required_channel_binding_is_not_talked_away() {
    let refused =
        |binding, body: &[u8]| refusal(&mut authenticator(binding, policy("", "require")), body);
    let gap = AuthError::ChannelBinding;
    assert_eq!(refused(tls(), &sasl(&[PLAIN])), gap(BindingGap::NotOffered));
    assert_eq!(
        refused(ChannelBinding::Unsupported, &sasl(&[PLUS, PLAIN])),
        gap(BindingGap::NoBindingData)
    );
    assert_eq!(refused(ChannelBinding::NotUsed, &sasl(&[PLUS, PLAIN])), gap(BindingGap::NoTls));
    for body in [request(0, b""), request(3, b""), request(5, b"salt")] {
        assert_eq!(refused(tls(), &body), gap(BindingGap::OtherMethod));
    }
    let help = refused(tls(), &sasl(&[PLAIN])).to_string();
    assert!(help.contains("channel_binding=prefer"), "{help}");
}

#[test]
fn an_offer_to_bind_tells_of_tls_that_was_stripped() {
    let offer = sasl(&[PLUS, PLAIN]);
    let mut preferring = authenticator(ChannelBinding::NotUsed, policy("", "prefer"));
    assert_eq!(refusal(&mut preferring, &offer), AuthError::TlsStripped);
    // A client that never binds must accept a TLS connection that ends elsewhere.
    let mut never = authenticator(ChannelBinding::NotUsed, policy("", "disable"));
    assert_eq!(step(&mut never, &offer).unwrap().0, AuthStep::Continue);
}

#[test]
fn mechanisms_without_a_common_one_are_listed() {
    let mut auth = authenticator(ChannelBinding::NotUsed, AuthPolicy::default());
    let offered = vec!["OAUTHBEARER".to_owned(), "PLAIN".to_owned()];
    let refused = refusal(&mut auth, &sasl(&["OAUTHBEARER", "PLAIN"]));
    assert_eq!(refused, AuthError::NoCommonMechanism { offered });
}

#[test]
fn passwords_are_sent_as_asked() {
    let mut auth = authenticator(ChannelBinding::NotUsed, AuthPolicy::default());
    let (next, out) = step(&mut auth, &request(3, b"")).unwrap();
    assert_eq!(next, AuthStep::Continue);
    assert_eq!(out, support::frame(b'p', format!("{PASSWORD}\0").as_bytes()));
    assert_eq!(step(&mut auth, &request(0, b"")).unwrap().0, AuthStep::Done);

    let mut auth = Authenticator::new(
        "ada",
        Some(b"correct horse"),
        ChannelBinding::NotUsed,
        AuthPolicy::default(),
    );
    let (_, out) = step(&mut auth, &request(5, &[0x93, 0xe6, 0x01, 0x7f])).unwrap();
    assert_eq!(out, support::frame(b'p', b"md5e6160127452b7e628c95ec4ff4921a1c\0"));
    // A second request after the answer could only aim at another form of the password.
    let message = "AuthenticationCleartextPassword";
    assert_eq!(refusal(&mut auth, &request(3, b"")), AuthError::OutOfTurn { message });
}

#[test]
fn require_auth_decides_what_may_be_asked() {
    let bodies = [
        ("none", request(0, b"")),
        ("password", request(3, b"")),
        ("md5", request(5, b"salt")),
        ("scram-sha-256", sasl(&[PLAIN])),
        ("gss", request(7, b"")),
    ];
    for (method, body) in &bodies {
        for (other, _) in &bodies {
            let run = |list: &str| {
                let list = policy(list, "prefer");
                step(&mut authenticator(ChannelBinding::NotUsed, list), body)
            };
            assert_eq!(run(other).is_ok(), method == other, "{method} with {other}");
            assert_eq!(run(&format!("!{other}")).is_ok(), method != other, "{method}, !{other}");
            assert!(run("").is_ok());
        }
    }
    let mut auth = authenticator(ChannelBinding::NotUsed, policy("scram-sha-256", "prefer"));
    let refused = refusal(&mut auth, &request(5, b"salt"));
    assert_eq!(refused, AuthError::MethodForbidden { method: "md5" });
    let mut auth = authenticator(ChannelBinding::NotUsed, policy("!none", "prefer"));
    assert_eq!(refusal(&mut auth, &request(0, b"")), AuthError::NotAuthenticated);
}

#[test]
fn tokens_of_gssapi_are_the_callers() {
    let mut auth = authenticator(ChannelBinding::NotUsed, AuthPolicy::default());
    for body in [request(7, b""), request(8, b"token"), request(8, b"")] {
        assert_eq!(step(&mut auth, &body).unwrap(), (AuthStep::Token, Vec::new()));
    }
    assert_eq!(step(&mut auth, &request(0, b"")).unwrap().0, AuthStep::Done);
    let mut auth = authenticator(ChannelBinding::NotUsed, AuthPolicy::default());
    let message = "AuthenticationGSSContinue";
    assert_eq!(refusal(&mut auth, &request(8, b"token")), AuthError::OutOfTurn { message });
    // Only SCRAM can be bound to the channel.
    let mut auth = authenticator(tls(), policy("", "require"));
    let refused = refusal(&mut auth, &request(7, b""));
    assert_eq!(refused, AuthError::ChannelBinding(BindingGap::OtherMethod));
}

#[test]
fn a_missing_password_and_unknown_methods_say_what_to_do() {
    for password in [None, Some(&b""[..])] {
        for (method, body) in
            [("password", request(3, b"")), ("md5", request(5, b"salt")), (PLAIN, sasl(&[PLAIN]))]
        {
            let policy = AuthPolicy::default();
            let mut auth = Authenticator::new("ada", password, ChannelBinding::NotUsed, policy);
            let method = method.to_lowercase();
            let text = refusal(&mut auth, &body).to_string();
            assert!(text.contains(&method) && text.contains("password="), "{text}");
        }
    }
    for (code, name) in [(9, "SSPI"), (2, "Kerberos"), (77, "unknown (code 77)")] {
        let mut auth = authenticator(ChannelBinding::NotUsed, AuthPolicy::default());
        let error = refusal(&mut auth, &request(code, b"token"));
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn secrets_are_not_printed() {
    let mut auth = authenticator(tls(), policy("", "require"));
    assert_eq!(auth_debug_leaks(&auth), None);
    let server_final =
        play(&mut auth, &[PLUS], (PLUS, "p=tls-server-end-point,,", CERTIFICATE_HASH));
    assert_eq!(auth_debug_leaks(&auth), None);
    let message = Message::parse(b'R', &server_final).unwrap();
    let printed = format!("{message:?}");
    assert!(printed.ends_with("bytes, not shown)"), "{printed}");
    assert_eq!(policy("", "require").channel_binding, ChannelBindingPolicy::Require);
}

fn auth_debug_leaks(auth: &Authenticator) -> Option<String> {
    Some(format!("{auth:?}"))
        .filter(|printed| printed.contains("correct") || printed.contains("r="))
}

/// The exchange printed in RFC 7677, section 3. The test server must reproduce it to be a valid
/// judge of the client.
#[test]
fn the_test_server_agrees_with_rfc_7677() {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
    let mut server = ScramServer::new("pencil", &salt, 4096, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0");
    let first = server.server_first("n,,n=user,r=rOprNGfwEbeRWgbNEkqO", "n,,");
    assert_eq!(
        first,
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    );
    let client_final = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                        p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
    assert_eq!(
        server.server_final(client_final, "n,,", b""),
        "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    );
}
