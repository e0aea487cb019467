//! The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677), written for these tests from the RFCs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// A server that knows the password and takes part in one exchange.
pub(crate) struct ScramServer {
    salted_password: [u8; 32],
    salt: Vec<u8>,
    iterations: u32,
    /// The server's addition to the client's nonce.
    nonce: String,
    auth_message: String,
}

fn hmac(key: &[u8], data: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    for part in data {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

fn xor(left: [u8; 32], right: &[u8]) -> [u8; 32] {
    let mut result = left;
    for (byte, other) in result.iter_mut().zip(right) {
        *byte ^= other;
    }
    result
}

/// PBKDF2 with HMAC-SHA-256 and one block of output.
fn salted_password(password: &[u8], salt: &[u8], iterations: u32) -> [u8; 32] {
    let mut block = hmac(password, &[salt, &[0, 0, 0, 1]]);
    let mut result = block;
    for _ in 1..iterations {
        block = hmac(password, &[&block]);
        result = xor(result, &block);
    }
    result
}

impl ScramServer {
    pub(crate) fn new(password: &str, salt: &[u8], iterations: u32, nonce: &str) -> Self {
        Self {
            salted_password: salted_password(password.as_bytes(), salt, iterations),
            salt: salt.to_vec(),
            iterations,
            nonce: nonce.to_owned(),
            auth_message: String::new(),
        }
    }

    /// Answers the client's first message, whose GS2 header must be `gs2`.
    pub(crate) fn server_first(&mut self, client_first: &str, gs2: &str) -> String {
        let bare = client_first.strip_prefix(gs2).expect("the GS2 header");
        let client_nonce = bare.split_once(",r=").expect("the nonce").1;
        let first = format!(
            "r={client_nonce}{},s={},i={}",
            self.nonce,
            STANDARD.encode(&self.salt),
            self.iterations
        );
        self.auth_message = format!("{bare},{first}");
        first
    }

    /// Checks the client's channel binding and proof, and answers with the server's own.
    pub(crate) fn server_final(&mut self, client_final: &str, gs2: &str, binding: &[u8]) -> String {
        let (unproved, proof) = client_final.split_once(",p=").expect("the proof");
        let bound = unproved.strip_prefix("c=").and_then(|rest| rest.split_once(',')).unwrap().0;
        assert_eq!(STANDARD.decode(bound).unwrap(), [gs2.as_bytes(), binding].concat());
        self.auth_message = format!("{},{unproved}", self.auth_message);

        let client_key = hmac(&self.salted_password, &[b"Client Key"]);
        let stored_key = Sha256::digest(client_key);
        let signature = hmac(&stored_key, &[self.auth_message.as_bytes()]);
        let presented = xor(signature, &STANDARD.decode(proof).unwrap());
        assert_eq!(Sha256::digest(presented), stored_key, "the client's proof");

        let server_key = hmac(&self.salted_password, &[b"Server Key"]);
        let proof = hmac(&server_key, &[self.auth_message.as_bytes()]);
        format!("v={}", STANDARD.encode(proof))
    }
}
