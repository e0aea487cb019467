//! The MD5 password digest, for servers that have not moved on to SCRAM.

use postgres_protocol::authentication::md5_hash;

/// `md5` and the digest of the digest of password and user, salted.
pub(super) fn digest(user: &str, password: &[u8], salt: [u8; 4]) -> String {
    md5_hash(user.as_bytes(), password, salt)
}

#[cfg(test)]
mod tests {
    use super::digest;

    /// The expected text is what Python's `hashlib` makes of md5(hex(md5(password + user)) + salt).
    #[test]
    fn digest_is_salted_twice() {
        assert_eq!(
            digest("ada", b"correct horse", [0x93, 0xe6, 0x01, 0x7f]),
            "md5e6160127452b7e628c95ec4ff4921a1c"
        );
    }
}
