//! `macaddr`, `macaddr8`: 6 or 8 bytes, in written order.

use super::notation::{hexadecimal, shown};
use super::primitive::exact;
use super::printed::{self, Print};
use super::{Codec, Kind, text, varlen};
use crate::error::{EncodeError, Reason};

pub(super) const MACADDR: Codec = Codec {
    arrow: "utf8",
    kind: Kind::Text,
    width: Some(6),
    casts: varlen::TEXT_CASTS,
    value: printed::value::<Octets<6>>,
    encode: |value, out| {
        encode::<6>("macaddr", "\"08:00:2b:01:02:03\"", text::encodable(value)?, out)
    },
    builder: printed::builder::<Octets<6>>,
};

pub(super) const MACADDR8: Codec = Codec {
    arrow: "utf8",
    kind: Kind::Text,
    width: Some(8),
    casts: varlen::TEXT_CASTS,
    value: printed::value::<Octets<8>>,
    encode: |value, out| {
        encode::<8>("macaddr8", "\"08:00:2b:01:02:03:04:05\"", text::encodable(value)?, out)
    },
    builder: printed::builder::<Octets<8>>,
};

fn encode<const N: usize>(
    type_name: &'static str,
    form: &'static str,
    text: &str,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match octets_of::<N>(text) {
        Some(octets) => {
            out.extend_from_slice(&octets);
            Ok(())
        }
        _ => Err(EncodeError::Notation { type_name, form, given: shown(text) }),
    }
}

/// The octets of any notation that PostgreSQL reads: groups of digits of equal length, with the
/// same separator between them.
fn octets_of<const N: usize>(text: &str) -> Option<[u8; N]> {
    let sign = text.find([':', '-', '.']).and_then(|place| text.get(place..=place));
    let groups: Vec<&str> = match sign {
        Some(sign) => text.split(sign).collect(),
        None => vec![text],
    };
    let width = groups.first()?.len();
    let is_even = width.is_multiple_of(2) && groups.iter().all(|group| group.len() == width);
    if !is_even || groups.len() * width != 2 * N {
        return None;
    }
    let digits = groups.concat();
    let mut octets = [0; N];
    for (octet, digits) in octets.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *octet = hexadecimal(std::str::from_utf8(digits).ok()?, 2)? as u8;
    }
    Some(octets)
}

struct Octets<const N: usize>;

impl<const N: usize> Print for Octets<N> {
    const MOST_PER_BYTE: usize = 3;

    fn print(raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or_default();
        for (index, octet) in exact::<N>(raw)?.into_iter().enumerate() {
            if index > 0 {
                out.push(b':');
            }
            out.extend_from_slice(&[digit(octet >> 4), digit(octet & 15)]);
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
    use crate::value::Value;

    #[test]
    fn golden() {
        // SELECT encode(macaddr_send('08:00:2b:01:02:03'), 'hex'),
        //     encode(macaddr8_send('08:00:2b:01:02:03:04:05'), 'hex')
        for (oid, wire, printed) in [
            (829, "08002b010203", "08:00:2b:01:02:03"),
            (774, "08002b0102030405", "08:00:2b:01:02:03:04:05"),
        ] {
            assert_both_ways(oid, hex(wire), Value::Text(printed.into()));
            let array: StringArray = Case::new(oid).array(&[hex(wire), None]);
            assert_eq!(array, StringArray::from(vec![Some(printed), None]));
        }
        let upper = Value::Text("08:00:2B:01:02:0F".into());
        assert_eq!(encode(829, &upper).unwrap(), hex("08002b01020f").unwrap());
    }

    #[test]
    fn notations() {
        for text in [
            "08-00-2b-01-02-03",
            "08002b:010203",
            "08002b-010203",
            "0800.2b01.0203",
            "0800-2b01-0203",
            "08002b010203",
        ] {
            let encoded = encode(829, &Value::Text(text.into())).unwrap();
            assert_eq!(encoded, hex("08002b010203").unwrap(), "{text}");
        }
    }

    #[test]
    fn malformed() {
        for bad in [
            "",
            "08:00:2b:01:02",
            "08:00:2b:01:02:03:04",
            "08:00:2b:01:02:03:",
            "08:00-2b:01:02:03",
            "0:80:02b01:0203",
            "08002b01020",
            "8:0:2b:01:02:00003",
            "08:00:2b:01:02:+3",
        ] {
            assert!(encode(829, &Value::Text(bad.into())).is_err(), "{bad}");
        }
        let error = encode(829, &Value::Text("08002b0102".into())).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"08002b0102\" is not a valid macaddr, which is written \"08:00:2b:01:02:03\""
        );
        assert_eq!(Case::new(829).error(&[hex("08002b010203"), hex("08002b0102")]).0, 1);
        assert_eq!(Case::new(774).error(&[hex("08002b010203")]).0, 0);
        assert!(encode(829, &Value::Int(1)).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(octets: [u8; 8]) {
            let value = (MACADDR8.value)(&octets).unwrap();
            prop_assert_eq!(encode(774, &value).unwrap(), octets);
        }
    }
}
