//! A server's answers: the correct ones, with the fuzzer's mistakes in and between them.

use colonnade_protocol::Oid;
use colonnade_protocol::fuzzing::Input;

/// The next answer a server would give, as the tags of its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Expected(pub(super) &'static [u8]);

/// Types of columns and parameters: some built in, some that need a lookup.
const OIDS: [Oid; 16] =
    [16, 17, 20, 21, 23, 25, 701, 1007, 1043, 1700, 2249, 3802, 50_000, 50_001, 50_002, 50_003];

/// Longer answers are not repeated, so that an answer's size stays that of its input.
const REPEATED_BYTES_MAX: usize = 1000;

/// Tags of all messages, frequent ones first.
const TAGS: &[u8] = b"ZCD12TtEdSNAKRn3sIGHcWvV";

pub(super) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    [&[tag], &length.to_be_bytes()[..], body].concat()
}

/// The answers that complete start-up.
pub(super) fn welcome() -> Vec<u8> {
    [
        message(b'R', &[0; 4]),
        message(b'S', b"server_version\x0018.0\0"),
        message(b'S', b"client_encoding\0UTF8\0"),
        message(b'K', &[0, 0, 0, 1, 0, 0, 0, 2]),
        message(b'Z', b"I"),
    ]
    .concat()
}

/// The expected answer, with as many mistakes as the input contains.
pub(super) fn answer(input: &mut Input<'_>, expected: Expected) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut tags = expected.0.iter();
    let mistakes = input.below(8);
    for _ in 0..40 {
        let step = if mistakes == 0 { input.below(24) } else { input.below(40) };
        match step {
            // An additional message of any kind.
            24..30 => {
                let tag = input.choose(TAGS).copied().unwrap_or(b'Z');
                bytes.extend(body(tag, input));
            }
            // Arbitrary bytes.
            30 | 31 => bytes.extend_from_slice(input.chunk()),
            // A message with the body of another kind.
            32 => {
                let tag = input.byte();
                bytes.extend(message(tag, input.chunk()));
            }
            // One changed byte.
            33 | 34 => {
                let place = usize::try_from(input.number()).unwrap_or(0);
                let (byte, len) = (input.byte(), bytes.len());
                if let Some(slot) = bytes.get_mut(place % len.max(1)) {
                    *slot = byte;
                }
            }
            // A truncated answer.
            35 => bytes.truncate(bytes.len().saturating_sub(input.below(16))),
            // A missing message.
            36 => drop(tags.next()),
            // A repeated answer.
            37 if bytes.len() < REPEATED_BYTES_MAX => bytes.extend_from_within(bytes.len() / 2..),
            37 => {}
            // The next message, unchanged.
            _ => match tags.next() {
                Some(tag) => bytes.extend(body(*tag, input)),
                None => break,
            },
        }
    }
    bytes
}

/// A message of the given kind, mostly with a fitting body; there may be several messages of rows.
fn body(tag: u8, input: &mut Input<'_>) -> Vec<u8> {
    let body = match tag {
        b'Z' => vec![*input.choose(b"IITE").unwrap_or(&b'I')],
        b'C' => [input.choose(&TAGS_OF_COMMANDS).copied().unwrap_or(b"BEGIN"), b"\0"].concat(),
        b'T' => description(input),
        b't' => {
            let count = input.below(3);
            let oids = (0..count).flat_map(|_| oid(input).to_be_bytes()).collect::<Vec<_>>();
            [&[0, count as u8], &oids[..]].concat()
        }
        b'D' => return (0..input.below(6)).flat_map(|_| row(input, b'D')).collect(),
        b'd' => input.chunk().to_vec(),
        b'i' => return (0..input.below(4)).flat_map(|_| catalog_row(input)).collect(),
        b'E' => {
            let severity = input.choose(&[&b"ERROR"[..], b"ERROR", b"FATAL"]).copied();
            let code = input.choose(&[&b"42601"[..], b"0A000", b"42804", b"22P03"]).copied();
            let parts = [b"V", severity.unwrap_or(b"ERROR"), b"\0C", code.unwrap_or(b"42601")];
            [&parts.concat()[..], b"\0Mwrong\0\0"].concat()
        }
        b'N' => b"VNOTICE\0C25P01\0Mso\0\0".to_vec(),
        b'A' => [&[0, 0, 0, 9][..], b"channel\0", input.text().as_bytes(), b"\0"].concat(),
        b'S' => {
            let name = input.choose(&["client_encoding", "TimeZone", "server_version"]);
            [name.copied().unwrap_or("x").as_bytes(), b"\0", input.text().as_bytes(), b"\0"]
                .concat()
        }
        b'K' => [&[0, 0, 0, 1][..], input.chunk()].concat(),
        b'R' => [&[0, 0, 0, input.byte() % 13][..], input.chunk()].concat(),
        b'G' | b'H' => vec![0, 0, 0],
        b'v' => vec![0, 3, 0, 0, 0, 0, 0, 0],
        _ => Vec::new(),
    };
    message(tag, &body)
}

const TAGS_OF_COMMANDS: [&[u8]; 6] =
    [b"SELECT 1", b"INSERT 0 2", b"COPY 3", b"DISCARD ALL", b"ROLLBACK", b"DEALLOCATE ALL"];

fn oid(input: &mut Input<'_>) -> Oid {
    input.choose(&OIDS).copied().unwrap_or(23)
}

fn description(input: &mut Input<'_>) -> Vec<u8> {
    let count = input.below(4);
    let mut body = vec![0, count as u8];
    for _ in 0..count {
        body.extend_from_slice(b"c\0\0\0\0\0\0\0");
        body.extend_from_slice(&oid(input).to_be_bytes());
        body.extend_from_slice(&[0xff; 6]);
        body.extend_from_slice(&[0, 0]);
    }
    body
}

fn row(input: &mut Input<'_>, tag: u8) -> Vec<u8> {
    let count = input.below(4);
    let mut body = vec![0, count as u8];
    for _ in 0..count {
        match input.below(6) {
            0 => body.extend_from_slice(&[0xff; 4]),
            1 => body.extend(cell(input.chunk())),
            width => body.extend(cell(&vec![input.byte(); 1 << (width - 2)])),
        }
    }
    message(tag, &body)
}

fn cell(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap_or(0).to_be_bytes()[..], bytes].concat()
}

/// A row of a type lookup: a composite, an array, a domain or an enum.
fn catalog_row(input: &mut Input<'_>) -> Vec<u8> {
    let number = |number: Oid| cell(&number.to_be_bytes());
    let own = OIDS.last().map_or(0, |last| last - input.below(4) as Oid);
    let kind = input.choose(b"cbdem").copied().unwrap_or(b'c');
    let parts: Vec<Oid> = (0..input.below(3)).map(|_| oid(input)).collect();
    let list = |element: Oid, cells: &[Vec<u8>]| {
        let head = [1, 0, element, cells.len() as u32, 1].map(u32::to_be_bytes);
        cell(&[head.as_flattened(), &cells.concat()].concat())
    };
    let names: Vec<_> = parts.iter().map(|_| cell(b"f")).collect();
    let oids: Vec<_> = parts.iter().map(|part| number(*part)).collect();
    let cells = [
        number(own),
        cell(b"public"),
        cell(b"t"),
        cell(&[kind]),
        number(if kind == b'b' { oid(input) } else { 0 }),
        number(if kind == b'd' { oid(input) } else { 0 }),
        number(u32::MAX),
        number(if kind == b'm' { oid(input) } else { 0 }),
        cell(b"record_send"),
        cell(&[1]),
        list(25, &names),
        list(26, &oids),
        list(23, &oids),
        list(25, &names),
    ];
    message(b'D', &[&[0, 14], &cells.concat()[..]].concat())
}
