//! `timetz`: 64-bit number of microseconds since midnight, up to and including 24:00:00, then a
//! 32-bit number of seconds *west* of UTC. Everywhere else, including the values made here, the
//! offset is east of UTC.

use arrow_array::types::{Int32Type, Time64MicrosecondType};

use super::pair::{Pair, PairBuilder};
use super::primitive::exact;
use super::{Built, Codec, Kind};
use crate::error::{EncodeError, Reason};
use crate::value::Value;

const DAY_MICROS: i64 = 86_400_000_000;

/// The server accepts only offsets below 16 hours.
const OFFSET_END: i32 = 16 * 3_600;

pub(super) const TIMETZ: Codec = Codec {
    arrow: "struct<time: time64[us], offset: int32>",
    kind: Kind::TimeTz,
    width: Some(12),
    casts: &[],
    value: |raw| decode(raw).map(|(micros, offset_s)| Value::TimeTz { micros, offset_s }),
    encode: |value, out| match *value {
        Value::TimeTz { micros, offset_s } if is_in_range(micros, offset_s) => {
            out.extend_from_slice(&micros.to_be_bytes());
            out.extend_from_slice(&(-offset_s).to_be_bytes());
            Ok(())
        }
        Value::TimeTz { .. } => Err(EncodeError::TimeOutOfRange {
            type_name: "timetz",
            range: "from 00:00:00 to 24:00:00, less than 16 hours from UTC",
        }),
        ref other => Err(EncodeError::WrongKind {
            expected: "a time with time zone",
            given: other.describe(),
        }),
    },
    builder: |request| match request.cast {
        None => Built::plain(PairBuilder::<TimeAndOffset>::new()),
        Some(_) => None,
    },
};

fn is_in_range(micros: i64, offset_s: i32) -> bool {
    (0..=DAY_MICROS).contains(&micros) && offset_s.unsigned_abs() < OFFSET_END.unsigned_abs()
}

/// Microseconds since midnight and seconds east of UTC.
fn decode(raw: &[u8]) -> Result<(i64, i32), Reason> {
    let [m0, m1, m2, m3, m4, m5, m6, m7, w0, w1, w2, w3] = exact(raw)?;
    let micros = i64::from_be_bytes([m0, m1, m2, m3, m4, m5, m6, m7]);
    let west = i32::from_be_bytes([w0, w1, w2, w3]);
    if !(0..=DAY_MICROS).contains(&micros) {
        return Err(Reason::TimeOutOfRange(micros));
    }
    if !is_in_range(micros, west) {
        return Err(Reason::ZoneOutOfRange(west));
    }
    Ok((micros, -west))
}

struct TimeAndOffset;

impl Pair for TimeAndOffset {
    type First = Time64MicrosecondType;
    type Second = Int32Type;
    const NAMES: [&str; 2] = ["time", "offset"];

    fn decode(raw: &[u8]) -> Result<(i64, i32), Reason> {
        match decode(raw)? {
            (DAY_MICROS, _) => Err(Reason::EndOfDayWithZone),
            pair => Ok(pair),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, StructArray};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    // SELECT encode(timetz_send('12:34:56.789012-03:30'), 'hex')
    const WEST: &str = "0000000a8be6261400003138";
    // SELECT encode(timetz_send('04:05:06+02'), 'hex')
    const EAST: &str = "000000036c8bc080ffffe3e0";
    // SELECT encode(timetz_send('24:00:00+15:59:59'), 'hex')
    const END: &str = "000000141dd76000ffff1f01";

    #[test]
    fn golden() {
        let value = |micros, offset_s| Value::TimeTz { micros, offset_s };
        assert_both_ways(1266, hex("000000000000000000000000"), value(0, 0));
        assert_both_ways(1266, hex(WEST), value(45_296_789_012, -12_600));
        assert_both_ways(1266, hex(EAST), value(14_706_000_000, 7_200));
        assert_both_ways(1266, hex(END), value(DAY_MICROS, 57_599));
        let array: StructArray = Case::new(1266).array(&[hex(WEST), None, hex(EAST)]);
        let times = array.column(0).as_primitive::<Time64MicrosecondType>();
        let offsets = array.column(1).as_primitive::<Int32Type>();
        assert_eq!(array.column_names(), ["time", "offset"]);
        assert_eq!(times.values()[..], [45_296_789_012, 0, 14_706_000_000]);
        assert_eq!(offsets.values()[..], [-12_600, 0, 7_200]);
        assert!(array.is_null(1) && array.null_count() == 1);
    }

    #[test]
    fn end_of_day() {
        let (row, text) = Case::new(1266).error(&[None, hex(END)]);
        assert_eq!(row, 1);
        assert!(text.contains("no 24:00:00; pass schema={\"c\": \"utf8\"}"), "{text}");
    }

    #[test]
    fn malformed() {
        for bad in [
            "",
            "0000000000000000",
            "000000141dd7600100000000",
            "ffffffffffffffff00000000",
            "00000000000000000000e100",
            "000000000000000080000000",
        ] {
            assert_eq!(Case::new(1266).error(&[hex(EAST), hex(bad)]).0, 1);
        }
        for (micros, offset_s) in [(-1, 0), (DAY_MICROS + 1, 0), (0, 57_600), (0, i32::MIN)] {
            assert!(encode(1266, &Value::TimeTz { micros, offset_s }).is_err());
        }
        assert!(encode(1266, &Value::Time(0)).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(micros in 0..=DAY_MICROS, offset_s in 1 - OFFSET_END..OFFSET_END) {
            let value = Value::TimeTz { micros, offset_s };
            let bytes = encode(1266, &value).unwrap();
            prop_assert_eq!((TIMETZ.value)(&bytes), Ok(value));
        }
    }
}
