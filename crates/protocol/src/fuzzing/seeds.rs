//! Seeds for a fuzzer: messages recorded from a server's session with psql, and rare ones.

use super::tags;

/// A tag, and a body of its message.
const RECORDED: [(u8, &[u8]); 36] = [
    (b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"),
    (b'R', b"\0\0\0\x0br=abcdef,s=c2FsdA==,i=4096"),
    (b'R', b"\0\0\0\x0cv=c2lnbmF0dXJl"),
    (b'R', b"\0\0\0\x05salt"),
    (b'R', b"\0\0\0\x03"),
    (b'R', b"\0\0\0\x08token"),
    (b'R', b"\0\0\0\0"),
    (b'S', b"server_version\x0018.1\0"),
    (b'S', b"client_encoding\0UTF8\0"),
    (b'K', b"\0\0\x12\x34\0\0\0\x07"),
    (b'v', b"\0\x03\0\0\0\0\0\x01_pq_.option\0"),
    (b'Z', b"I"),
    (b'Z', b"T"),
    (b'1', b""),
    (b't', b"\0\x02\0\0\0\x17\0\0\0\x19"),
    (
        b'T',
        b"\0\x02n\0\0\0@\0\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01\
             t\0\0\0@\0\0\x02\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0",
    ),
    (b'n', b""),
    (b'2', b""),
    (b'D', b"\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff"),
    (b'D', b"\0\x02\0\0\0\x04\0\0\0\x08\0\0\0\x04text"),
    (b'C', b"SELECT 2\0"),
    (b'I', b""),
    (b's', b""),
    (b'3', b""),
    (b'E', b"SERROR\0VERROR\0C42601\0Msyntax error at or near \"x\"\0P8\0Fscan.l\0L1\0Rx\0\0"),
    (b'E', b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"),
    (b'N', b"SNOTICE\0VNOTICE\0C00000\0Mhello\0DDetail\0HHint\0\0"),
    (b'A', b"\0\0\x12\x34channel\0payload\0"),
    (b'G', b"\0\0\x02\0\0\0\0"),
    (b'H', b"\x01\0\x02\0\x01\0\x01"),
    (b'W', b"\0\0\0"),
    (b'd', b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0"),
    (b'd', b"\0\x01\0\0\0\x04\0\0\0\x07"),
    (b'd', b"\xff\xff"),
    (b'c', b""),
    (b'V', b"\0\0\0\x01x"),
];

/// Seeds for `messages`: each message.
pub fn message_seeds() -> Vec<Vec<u8>> {
    let tags = tags();
    let seed = |(tag, body): &(u8, &[u8])| {
        let place = tags.iter().position(|known| known == tag)?;
        Some([&[u8::try_from(place).ok()?], *body].concat())
    };
    RECORDED.iter().filter_map(seed).collect()
}

/// Seeds for `frames`: all messages in sequence, and each between two rows.
pub fn frame_seeds() -> Vec<Vec<u8>> {
    let frame = |(tag, body): &(u8, &[u8])| {
        let length = u32::try_from(body.len() + 4).unwrap_or(0);
        [&[*tag], &length.to_be_bytes()[..], body].concat()
    };
    let row = frame(&(b'D', b"\0\x02\0\0\0\x01a\xff\xff\xff\xff"));
    let head = [2, 1];
    let all: Vec<u8> = RECORDED.iter().flat_map(frame).collect();
    let between = |one| [&head[..], &row, &row, &frame(one), &row].concat();
    let mut seeds: Vec<_> = RECORDED.iter().map(between).collect();
    seeds.push([&head[..], &all].concat());
    seeds
}

/// Seeds for `authentication`: the successful ways, and SCRAM as far as it goes without the
/// password.
pub fn authentication_seeds() -> Vec<Vec<u8>> {
    // The `require_auth` list, binding, TLS, and whether the password is missing; then the
    // requests.
    let start = [0, 0, 1, 0, 0];
    let server_first = b"\x05\x01\x03own\x08c2FsdA==\x044096";
    let requests: [&[u8]; 5] = [&[0], &[1, 0], &[2, 0], &[8, 10, 8, 1, b'x', 0], &[3]];
    let mut seeds: Vec<_> = requests.iter().map(|tail| [&start[..], tail].concat()).collect();
    for first in [3, 4] {
        let proof = b"\x06\x08c2lnbmVk\x00";
        seeds.push([&start[..], &[first], &server_first[..], &proof[..]].concat());
    }
    seeds
}
