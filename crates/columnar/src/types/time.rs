//! `time`: 64-bit number of microseconds since midnight, up to and including 24:00:00.

use arrow_array::types::{Int64Type, Time64MicrosecondType};
use arrow_schema::TimeUnit;

use super::primitive::{PrimitiveBuilder, Shape, exact};
use super::units::{Moment, Source, duration_builder, time_builder};
use super::{Built, Codec, Kind};
use crate::error::{EncodeError, Reason};
use crate::schema::{Infinity, Override};
use crate::value::Value;

const DAY_MICROS: i64 = 86_400_000_000;

/// From the first to the last, for messages.
pub(crate) const RANGE: &str = "from 00:00:00 to 24:00:00";

/// The wire value of microseconds since midnight, if the type has that time.
#[inline]
pub(crate) fn wire_micros(micros: i64) -> Option<i64> {
    (0..=DAY_MICROS).contains(&micros).then_some(micros)
}

pub(super) const TIME: Codec = Codec {
    arrow: "time64[us]",
    kind: Kind::Time,
    width: Some(8),
    casts: &[
        "time32[s]",
        "time32[ms]",
        "time64[us]",
        "time64[ns]",
        "duration[s]",
        "duration[ms]",
        "duration[us]",
        "duration[ns]",
        "int64",
    ],
    value: |raw| micros(raw).map(Value::Time),
    encode: |value, out| match value {
        Value::Time(micros @ 0..=DAY_MICROS) => {
            out.extend_from_slice(&micros.to_be_bytes());
            Ok(())
        }
        Value::Time(_) => Err(EncodeError::TimeOutOfRange { type_name: "time", range: RANGE }),
        other => Err(EncodeError::WrongKind { expected: "a time", given: other.describe() }),
    },
    builder: |request| match request.cast {
        None | Some(Override::Time(TimeUnit::Microsecond)) => {
            Built::plain(PrimitiveBuilder::<Time>::new(request.infinity))
        }
        Some(Override::Int64) => {
            Built::plain(PrimitiveBuilder::<TimeMicros>::new(request.infinity))
        }
        Some(Override::Time(unit)) => time_builder::<Wire>(request, unit),
        Some(Override::Duration(unit)) => duration_builder::<Wire>(request, unit),
        Some(_) => None,
    },
};

/// For the units that a schema requests.
struct Wire;

impl Source for Wire {
    const INSTEAD: &'static str = "time64[us]";

    #[inline]
    fn micros(raw: &[u8]) -> Result<Moment<i64>, Reason> {
        micros(raw).map(Moment::Finite)
    }
}

fn micros(raw: &[u8]) -> Result<i64, Reason> {
    match i64::from_be_bytes(exact(raw)?) {
        micros @ 0..=DAY_MICROS => Ok(micros),
        micros => Err(Reason::TimeOutOfRange(micros)),
    }
}

/// As Arrow's time of day, which ends before 24:00:00.
struct Time;

impl Shape for Time {
    type Arrow = Time64MicrosecondType;
    const NULL: i64 = i64::MIN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<i64> {
        let micros = i64::from_be_bytes(exact(raw).ok()?);
        (0..DAY_MICROS).contains(&micros).then_some(micros)
    }

    fn edge(raw: &[u8], _: Infinity) -> Result<Option<i64>, Reason> {
        micros(raw).and_then(|micros| match micros {
            DAY_MICROS => Err(Reason::EndOfDay),
            _ => Ok(Some(micros)),
        })
    }
}

/// As a plain number of microseconds, which has 24:00:00 too.
struct TimeMicros;

impl Shape for TimeMicros {
    type Arrow = Int64Type;
    const NULL: i64 = 0;

    #[inline]
    fn decode(raw: &[u8]) -> Option<i64> {
        micros(raw).ok()
    }

    fn edge(raw: &[u8], _: Infinity) -> Result<Option<i64>, Reason> {
        micros(raw).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, Int64Array, Time64MicrosecondArray};

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    /// 24:00:00
    const END: &str = "000000141dd76000";

    #[test]
    fn golden() {
        assert_both_ways(1083, hex("0000000000000000"), Value::Time(0));
        assert_both_ways(1083, hex("000000141dd75fff"), Value::Time(DAY_MICROS - 1));
        assert_both_ways(1083, hex(END), Value::Time(DAY_MICROS));
        let array: Time64MicrosecondArray = Case::new(1083).array(&[None, hex("000000141dd75fff")]);
        assert_eq!(array, Time64MicrosecondArray::from(vec![None, Some(DAY_MICROS - 1)]));
        assert_eq!(array.values()[0], i64::MIN);
    }

    #[test]
    fn end_of_day() {
        let (row, text) = Case::new(1083).error(&[None, hex(END)]);
        assert_eq!(row, 1);
        assert!(text.contains("no 24:00:00; pass schema={\"c\": \"int64\"}"), "{text}");
        let array: Int64Array = Case::new(1083).cast("int64").array(&[None, hex(END)]);
        assert_eq!(array, Int64Array::from(vec![None, Some(DAY_MICROS)]));
        assert!(array.is_null(0));
    }

    #[test]
    fn malformed() {
        for bad in ["", "00000000", "ffffffffffffffff", "000000141dd76001", "8000000000000000"] {
            assert_eq!(Case::new(1083).error(&[hex(bad)]).0, 0);
            assert_eq!(Case::new(1083).cast("int64").error(&[hex(bad)]).0, 0);
        }
        assert!(encode(1083, &Value::Time(-1)).is_err());
        assert!(encode(1083, &Value::Time(DAY_MICROS + 1)).is_err());
        assert!(encode(1083, &Value::Int(0)).is_err());
    }
}
