//! `pg_snapshot`, `txid_snapshot`: 32-bit number of running transactions; the first running
//! transaction and the first that had not begun, 64 bits each; the running transactions, 64 bits
//! each.

use std::io::Write;

use super::notation::{decimal, shown};
use super::primitive::exact;
use super::printed::{self, Print};
use super::{Codec, Kind, varlen};
use crate::error::{EncodeError, Reason};
use crate::value::Value;

pub(super) const SNAPSHOT: Codec = Codec {
    arrow: "utf8",
    kind: Kind::Snapshot,
    width: None,
    casts: varlen::TEXT_CASTS,
    value: |raw| {
        let Snapshot { xmin, xmax, running } = decode(raw)?;
        Ok(Value::Snapshot { xmin, xmax, running: running.collect() })
    },
    encode: |value, out| match value {
        Value::Snapshot { xmin, xmax, running } => encode(*xmin, *xmax, running, out),
        Value::Text(text) => match parse(text) {
            Some((xmin, xmax, running)) => encode(xmin, xmax, &running, out),
            None => Err(EncodeError::Notation {
                type_name: "snapshot",
                form: "\"10:20:10,14\"",
                given: shown(text),
            }),
        },
        other => Err(EncodeError::WrongKind { expected: "a snapshot", given: other.describe() }),
    },
    builder: printed::builder::<Printed>,
};

struct Snapshot<R> {
    xmin: u64,
    xmax: u64,
    running: R,
}

/// The size of the header before the running transactions.
const HEAD: usize = 20;

fn decode(raw: &[u8]) -> Result<Snapshot<impl Iterator<Item = u64>>, Reason> {
    let (head, rest) = raw
        .split_first_chunk::<HEAD>()
        .ok_or(Reason::TooShort { least: HEAD, actual: raw.len() })?;
    let (count, bounds) = head.split_at(4);
    let (xmin, xmax) = bounds.split_at(8);
    let count = u32::from_be_bytes(exact(count)?);
    let (numbers, left_over) = rest.as_chunks::<8>();
    if !left_over.is_empty() || u32::try_from(numbers.len()) != Ok(count) {
        return Err(Reason::SnapshotLength { running: count, actual: raw.len() });
    }
    Ok(Snapshot {
        xmin: u64::from_be_bytes(exact(xmin)?),
        xmax: u64::from_be_bytes(exact(xmax)?),
        running: numbers.iter().copied().map(u64::from_be_bytes),
    })
}

fn encode(xmin: u64, xmax: u64, running: &[u64], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    // The server reads a signed count, and itself refuses numbers that make no sense.
    let count = i32::try_from(running.len())
        .map_err(|_| EncodeError::TooLong { bytes: running.len().saturating_mul(8) })?;
    out.extend_from_slice(&count.to_be_bytes());
    for number in [xmin, xmax].iter().chain(running) {
        out.extend_from_slice(&number.to_be_bytes());
    }
    Ok(())
}

fn parse(text: &str) -> Option<(u64, u64, Vec<u64>)> {
    let (xmin, rest) = text.split_once(':')?;
    let (xmax, running) = rest.split_once(':')?;
    let running = match running {
        "" => Vec::new(),
        numbers => numbers.split(',').map(decimal).collect::<Option<_>>()?,
    };
    Some((decimal(xmin)?, decimal(xmax)?, running))
}

struct Printed;

impl Print for Printed {
    /// Each 8 bytes are a number of up to 20 digits and a separator.
    const MOST_PER_BYTE: usize = 3;

    fn print(raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let Snapshot { xmin, xmax, running } = decode(raw)?;
        // Writing to a vector does not fail.
        let _ = write!(out, "{xmin}:{xmax}:");
        for (index, number) in running.enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(out, "{comma}{number}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    // SELECT encode(pg_snapshot_send('10:20:10,14,15'), 'hex')
    const SAMPLE: &str = "00000003 000000000000000a 0000000000000014 \
                          000000000000000a 000000000000000e 000000000000000f";
    // SELECT encode(pg_snapshot_send('10:20:'), 'hex')
    const NONE_RUNNING: &str = "00000000 000000000000000a 0000000000000014";

    #[test]
    fn golden() {
        let value = |running| Value::Snapshot { xmin: 10, xmax: 20, running };
        for oid in [2970, 5038] {
            assert_both_ways(oid, hex(SAMPLE), value(vec![10, 14, 15]));
            assert_both_ways(oid, hex(NONE_RUNNING), value(vec![]));
            let array: StringArray = Case::new(oid).array(&[hex(SAMPLE), None, hex(NONE_RUNNING)]);
            let printed = vec![Some("10:20:10,14,15"), None, Some("10:20:")];
            assert_eq!(array, StringArray::from(printed));
        }
    }

    #[test]
    fn malformed() {
        for bad in [
            "",
            "00000000000000000000000a00000000000000",
            "00000001 000000000000000a 0000000000000014",
            "00000000 000000000000000a 0000000000000014 000000000000000a",
            "00000001 000000000000000a 0000000000000014 0000000000000a",
            "ffffffff 000000000000000a 0000000000000014 000000000000000a",
        ] {
            assert_eq!(Case::new(5038).error(&[hex(SAMPLE), hex(bad)]).0, 1);
        }
        for bad in ["", "1", "1:2", "1:2:3,", "1:2:,3", "1:-2:", "1:2:3:4", ":2:"] {
            assert!(encode(5038, &Value::Text(bad.into())).is_err(), "{bad}");
        }
        assert!(encode(5038, &Value::Int(1)).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(xmin: u64, xmax: u64, running in prop::collection::vec(any::<u64>(), 0..9)) {
            let value = Value::Snapshot { xmin, xmax, running };
            let bytes = encode(5038, &value).unwrap();
            prop_assert_eq!((SNAPSHOT.value)(&bytes), Ok(value));
            let array: StringArray = Case::new(5038).array(&[Some(bytes.clone())]);
            let text = Value::Text(array.value(0).into());
            prop_assert_eq!(encode(5038, &text).unwrap(), bytes);
        }
    }
}
