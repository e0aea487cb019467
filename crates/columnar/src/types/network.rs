//! `inet`, `cidr`: a byte for the family, 2 or 3; the prefix length in bits; a byte that is 1 for
//! `cidr`, which the server ignores too; the number of bytes of the address; the address. A column
//! stores the text that the server prints: only `cidr` shows a host's prefix.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::io::Write;

use super::notation::{decimal, shown};
use super::primitive::exact;
use super::printed::{self, Print};
use super::{Codec, Kind, varlen};
use crate::error::{EncodeError, Reason};
use crate::value::{Network, Value};

const FAMILY_V4: u8 = 2;
const FAMILY_V6: u8 = 3;

pub(super) const INET: Codec = Codec {
    arrow: "utf8",
    kind: Kind::Network,
    width: None,
    casts: varlen::TEXT_CASTS,
    value: |raw| decode(raw, false).map(Value::Network),
    encode: |value, out| encode(value, false, out),
    builder: printed::builder::<Inet>,
};

pub(super) const CIDR: Codec = Codec {
    arrow: "utf8",
    kind: Kind::Network,
    width: None,
    casts: varlen::TEXT_CASTS,
    value: |raw| decode(raw, true).map(Value::Network),
    encode: |value, out| encode(value, true, out),
    builder: printed::builder::<Cidr>,
};

fn decode(raw: &[u8], is_cidr: bool) -> Result<Network, Reason> {
    let &[family, prefix, _, _, ref bytes @ ..] = raw else {
        return Err(Reason::TooShort { least: 4, actual: raw.len() });
    };
    let address = match family {
        FAMILY_V4 => IpAddr::from(exact::<4>(bytes)?),
        FAMILY_V6 => IpAddr::from(exact::<16>(bytes)?),
        _ => return Err(Reason::AddressFamily(family)),
    };
    let network = Network { address, prefix, is_cidr };
    let bits = host_prefix(address);
    if prefix > bits {
        return Err(Reason::AddressPrefix { prefix, most: bits });
    }
    if is_cidr && has_host_bits(&network) {
        return Err(Reason::Malformed("the address of the network has bits beyond its prefix"));
    }
    Ok(network)
}

/// The prefix length of a single host.
fn host_prefix(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Whether an address has bits beyond its prefix.
fn has_host_bits(network: &Network) -> bool {
    let host_bits = u32::from(host_prefix(network.address) - network.prefix);
    let address = match network.address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    address.trailing_zeros() < host_bits && address != 0
}

fn encode(value: &Value<'_>, is_cidr: bool, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let network = match value {
        Value::Network(network) => *network,
        Value::Text(text) => parse(text, is_cidr)?,
        other => {
            let given = other.describe();
            return Err(EncodeError::WrongKind { expected: "a network address", given });
        }
    };
    let most = host_prefix(network.address);
    if network.prefix > most {
        return Err(EncodeError::AddressPrefix { prefix: network.prefix, most });
    }
    if is_cidr && has_host_bits(&network) {
        return Err(EncodeError::HostBits { address: network.address, prefix: network.prefix });
    }
    let push_head = |out: &mut Vec<u8>, family, len| {
        out.extend_from_slice(&[family, network.prefix, u8::from(is_cidr), len]);
    };
    match network.address {
        IpAddr::V4(address) => {
            push_head(out, FAMILY_V4, 4);
            out.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            push_head(out, FAMILY_V6, 16);
            out.extend_from_slice(&address.octets());
        }
    }
    Ok(())
}

/// A complete address with or without a prefix length. The server's abbreviated forms of IPv4 are
/// refused, because their meaning is not obvious.
fn parse(text: &str, is_cidr: bool) -> Result<Network, EncodeError> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address.parse(), Some(decimal(prefix))),
        None => (text.parse(), None),
    };
    match (address, prefix) {
        (Ok(address), None) => Ok(Network { address, prefix: host_prefix(address), is_cidr }),
        (Ok(address), Some(Some(prefix))) => Ok(Network { address, prefix, is_cidr }),
        _ => Err(EncodeError::Notation {
            type_name: if is_cidr { "cidr" } else { "inet" },
            form: "\"10.0.0.0/8\" or \"2001:db8::1\"",
            given: shown(text),
        }),
    }
}

struct Inet;

/// The longest address, `ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128`; the shorter
/// `::ffff:255.255.255.255/128` is the longest with a dot.
const LONGEST: usize = 43;

impl Print for Inet {
    const MOST_PER_VALUE: usize = LONGEST;

    fn print(raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let network = decode(raw, false)?;
        print(&network, out);
        Ok(())
    }
}

struct Cidr;

impl Print for Cidr {
    const MOST_PER_VALUE: usize = LONGEST;

    fn print(raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let network = decode(raw, true)?;
        print(&network, out);
        Ok(())
    }
}

pub(super) fn print(network: &Network, out: &mut Vec<u8>) {
    // Writing to a vector does not fail.
    let _ = match network.address {
        IpAddr::V4(address) => write!(out, "{address}"),
        IpAddr::V6(address) => print_v6(address, out),
    };
    if network.is_cidr || network.prefix != host_prefix(network.address) {
        let _ = write!(out, "/{}", network.prefix);
    }
}

/// The longest run of two or more zeros is printed as `::`, the first one of equal length. The last
/// 32 bits are printed in dotted form after 96 zeros, or after 80 zeros and `ffff`: the server
/// prints `::1.2.3.4` where Rust prints `::102:304`.
fn print_v6(address: Ipv6Addr, out: &mut Vec<u8>) -> std::io::Result<()> {
    let (start, len) = longest_zeros(address.segments());
    let [_, _, _, _, _, marker, high, low] = address.segments();
    if start == 0 && (len == 6 || len == 5 && marker == 0xffff) {
        let dotted = Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
        let lead = if len == 6 { "::" } else { "::ffff:" };
        return write!(out, "{lead}{dotted}");
    }
    for (index, word) in address.segments().into_iter().enumerate() {
        if len > 0 && (start..start + len).contains(&index) {
            if index == start {
                out.extend_from_slice(b"::");
            }
        } else if index == 0 || index == start + len && len > 0 {
            write!(out, "{word:x}")?;
        } else {
            write!(out, ":{word:x}")?;
        }
    }
    Ok(())
}

/// The start and length of the longest run of at least two zeros; length 0 if there is none.
fn longest_zeros(words: [u16; 8]) -> (usize, usize) {
    let mut longest = (0, 0);
    let mut run = (0, 0);
    for (index, word) in words.into_iter().enumerate() {
        run = match (word, run.1) {
            (0, 0) => (index, 1),
            (0, len) => (run.0, len + 1),
            _ => (0, 0),
        };
        if run.1 >= 2 && run.1 > longest.1 {
            longest = run;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    fn network(address: &str, prefix: u8, is_cidr: bool) -> Value<'static> {
        Value::Network(Network { address: address.parse().unwrap(), prefix, is_cidr })
    }

    #[test]
    fn golden() {
        // SELECT encode(inet_send(i), 'hex'), i
        for (oid, wire, printed, address, prefix) in [
            (869, "022000040a000001", "10.0.0.1", "10.0.0.1", 32),
            (869, "020800040a000001", "10.0.0.1/8", "10.0.0.1", 8),
            (869, "0200000400000000", "0.0.0.0/0", "0.0.0.0", 0),
            (869, "0380001000000000000000000000000000000001", "::1", "::1", 128),
            (869, "0340001000000000000000000000000000000001", "::1/64", "::1", 64),
            (650, "020801040a000000", "10.0.0.0/8", "10.0.0.0", 8),
            (650, "022001040a000001", "10.0.0.1/32", "10.0.0.1", 32),
            (650, "0300011000000000000000000000000000000000", "::/0", "::", 0),
            (650, "0380011000000000000000000000000000000001", "::1/128", "::1", 128),
        ] {
            assert_both_ways(oid, hex(wire), network(address, prefix, oid == 650));
            let array: StringArray = Case::new(oid).array(&[hex(wire), None]);
            assert_eq!(array, StringArray::from(vec![Some(printed), None]));
            let text = Value::Text(printed.into());
            assert_eq!(encode(oid, &text).unwrap(), hex(wire).unwrap());
        }
    }

    #[test]
    fn printed_as_the_server_does() {
        // SELECT a::inet
        for printed in [
            "255.255.255.255",
            "::",
            "::ffff:1.2.3.4",
            "::1.2.3.4",
            "::0.5.0.6",
            "::ffff:0.0.0.0",
            "::ffff:0:102:304",
            "::fffe:102:304",
            "::ffff",
            "::1:0:0",
            "2001:db8::8:800:200c:417a/64",
            "1:0:0:2::3",
            "1::2:0:0:3:4",
            "1:0:2:0:3:0:4:0",
            "0:0:1::",
            "0:1:2:3:4:5:6:7",
            "1:2:3:4:5:6::",
            "1:2:3:4:5:6:7:0",
            "fe80::1:0:0:1/10",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127",
        ] {
            let bytes = encode(869, &Value::Text(printed.into())).unwrap();
            let array: StringArray = Case::new(869).array(&[Some(bytes)]);
            assert_eq!(array.value(0), printed);
        }
    }

    #[test]
    fn parameters() {
        // The type of the parameter says which of the two is sent.
        let host = encode(650, &network("10.0.0.0", 8, false)).unwrap();
        assert_eq!(host, hex("020801040a000000").unwrap());
        for (bad, message) in [
            ("10.0.0.1/8", "10.0.0.1 has bits beyond its prefix of 8, which cidr does not take"),
            ("10.0.0.0/33", "a prefix of 33 bits is longer than the address, which has 32"),
            (
                "10/8",
                "\"10/8\" is not a valid cidr, which is written \"10.0.0.0/8\" or \"2001:db8::1\"",
            ),
        ] {
            let error = encode(650, &Value::Text(bad.into())).unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
        }
        for bad in ["", "/", "10.0.0.1/", "10.0.0.1/+8", "10.0.0.1/256", "::1%eth0", "a"] {
            assert!(encode(869, &Value::Text(bad.into())).is_err(), "{bad}");
        }
        assert!(encode(869, &Value::Int(1)).is_err());
    }

    #[test]
    fn malformed() {
        for bad in [
            "",
            "022000",
            "02200004",
            "022000040a0000",
            "022000040a00000100",
            "022100040a000001",
            "0120000400000000",
            "03810010000000000000000000000000000000",
            "0381001000000000000000000000000000000000",
        ] {
            assert_eq!(Case::new(869).error(&[hex("022000040a000001"), hex(bad)]).0, 1);
        }
        let (_, text) = Case::new(650).error(&[hex("020801040a000001")]);
        assert!(text.ends_with("the network has bits beyond its prefix"), "{text}");
    }

    proptest! {
        #[test]
        fn round_trip(bits: u128, zeros: u8, prefix in 0..=128_u8) {
            // Runs of zeros, which random words rarely have.
            let mut segments = Ipv6Addr::from_bits(bits).segments();
            for (index, word) in segments.iter_mut().enumerate() {
                *word *= u16::from(zeros >> index & 1);
            }
            let v6 = IpAddr::from(segments);
            let v4 = IpAddr::from((bits as u32).to_be_bytes());
            for (address, prefix) in [(v6, prefix), (v4, prefix / 4)] {
                let value = Value::Network(Network { address, prefix, is_cidr: false });
                let bytes = encode(869, &value).unwrap();
                prop_assert_eq!((INET.value)(&bytes), Ok(value));
                let array: StringArray = Case::new(869).array(&[Some(bytes.clone())]);
                let text = Value::Text(array.value(0).into());
                prop_assert_eq!(encode(869, &text).unwrap(), bytes);
            }
        }
    }
}
