//! `timestamp`, `timestamptz`: 64-bit number of microseconds since 2000-01-01 00:00:00 (UTC); the
//! integer's extremes are the infinities.
//!
//! PostgreSQL's timestamps range from 4714-11-24 BC to the end of 294276 AD. Counted from 1970, the
//! last 30 of those years, from 294247-01-10 04:00:54.775808 on, do not fit in 64 bits.

use std::marker::PhantomData;

use arrow_array::types::TimestampMicrosecondType;
use arrow_schema::{DataType, TimeUnit};

use super::primitive::{PrimitiveBuilder, Shape, exact};
use super::units::{Moment, Source, timestamp_builder};
use super::{Built, Codec, Kind};
use crate::error::{EncodeError, Reason};
use crate::schema::Infinity;
use crate::value::{Sign, Value};

/// Microseconds from 1970-01-01 to PostgreSQL's epoch.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// 4714-11-24 00:00:00 BC, PostgreSQL's first, since 2000-01-01.
const FIRST_MICROS: i64 = -211_813_488_000_000_000;

/// The end of PostgreSQL's range, 294277-01-01 00:00:00, since 2000-01-01.
const END_MICROS: i64 = 9_223_371_331_200_000_000;

/// The last one that fits when counted from 1970, since 2000-01-01.
const LAST_MICROS: i64 = i64::MAX - EPOCH_MICROS;

/// From the first to the last, for messages.
pub(crate) const RANGE: &str = "from 4714-11-24 BC to the end of 294276 AD";

pub(super) const TIMESTAMP: Codec = Codec {
    arrow: "timestamp[us]",
    kind: Kind::Timestamp,
    width: Some(8),
    casts: &["timestamp[unit]", "date32"],
    value: |raw| value(raw, Value::Timestamp),
    encode: |value, out| match value {
        Value::Timestamp(micros) => encode_finite(*micros, "timestamp", out),
        Value::TimestampInfinity(sign) => encode_infinite(*sign, out),
        other => Err(EncodeError::WrongKind {
            expected: "a datetime without time zone",
            given: other.describe(),
        }),
    },
    builder: |request| match request.cast {
        None => Built::plain(PrimitiveBuilder::<Timestamp<Local>>::new(request.infinity)),
        Some(_) => timestamp_builder::<Wire>(request, Local::NAME),
    },
};

pub(super) const TIMESTAMPTZ: Codec = Codec {
    arrow: "timestamp[us, UTC]",
    kind: Kind::TimestampTz,
    width: Some(8),
    casts: &["timestamp[unit]", "timestamp[unit, zone]", "date32"],
    value: |raw| value(raw, Value::TimestampTz),
    encode: |value, out| match value {
        Value::TimestampTz(micros) => encode_finite(*micros, "timestamptz", out),
        Value::TimestampInfinity(sign) => encode_infinite(*sign, out),
        other => Err(EncodeError::WrongKind {
            expected: "a datetime with time zone",
            given: other.describe(),
        }),
    },
    builder: |request| match request.cast {
        None => Built::plain(PrimitiveBuilder::<Timestamp<Utc>>::new(request.infinity)),
        Some(_) => timestamp_builder::<Wire>(request, Utc::NAME),
    },
};

#[inline]
fn decode(raw: &[u8]) -> Result<Moment<i64>, Reason> {
    match i64::from_be_bytes(exact(raw)?) {
        i64::MAX => Ok(Moment::Infinite(Sign::Positive)),
        i64::MIN => Ok(Moment::Infinite(Sign::Negative)),
        micros @ FIRST_MICROS..=LAST_MICROS => Ok(Moment::Finite(micros + EPOCH_MICROS)),
        micros => Err(Reason::TimestampOutOfRange(micros)),
    }
}

/// For the units that a schema requests.
struct Wire;

impl Source for Wire {
    const INSTEAD: &'static str = "timestamp[us]";

    #[inline]
    fn micros(raw: &[u8]) -> Result<Moment<i64>, Reason> {
        decode(raw)
    }
}

fn value<'a>(raw: &[u8], finite: fn(i64) -> Value<'a>) -> Result<Value<'a>, Reason> {
    match decode(raw)? {
        Moment::Finite(micros) => Ok(finite(micros)),
        Moment::Infinite(sign) => Ok(Value::TimestampInfinity(sign)),
    }
}

/// The wire value of microseconds since 1970-01-01, if the types have that timestamp.
#[inline]
pub(crate) fn wire_micros(micros: i64) -> Option<i64> {
    let micros = micros.checked_sub(EPOCH_MICROS)?;
    (FIRST_MICROS..END_MICROS).contains(&micros).then_some(micros)
}

fn encode_finite(
    micros: i64,
    type_name: &'static str,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let micros =
        wire_micros(micros).ok_or(EncodeError::TimeOutOfRange { type_name, range: RANGE })?;
    out.extend_from_slice(&micros.to_be_bytes());
    Ok(())
}

fn encode_infinite(sign: Sign, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let micros = match sign {
        Sign::Positive => i64::MAX,
        Sign::Negative => i64::MIN,
    };
    out.extend_from_slice(&micros.to_be_bytes());
    Ok(())
}

/// Whether the Arrow type marks the count as UTC.
trait Zone: Send + Sync + 'static {
    const NAME: Option<&'static str>;
}

struct Local;

impl Zone for Local {
    const NAME: Option<&'static str> = None;
}

struct Utc;

impl Zone for Utc {
    const NAME: Option<&'static str> = Some("UTC");
}

struct Timestamp<Z>(PhantomData<Z>);

impl<Z: Zone> Shape for Timestamp<Z> {
    type Arrow = TimestampMicrosecondType;
    const NULL: i64 = i64::MIN;

    #[inline]
    fn decode(raw: &[u8]) -> Option<i64> {
        let micros = i64::from_be_bytes(exact(raw).ok()?);
        (FIRST_MICROS..=LAST_MICROS).contains(&micros).then(|| micros.wrapping_add(EPOCH_MICROS))
    }

    fn edge(raw: &[u8], infinity: Infinity) -> Result<Option<i64>, Reason> {
        match (decode(raw)?, infinity) {
            (Moment::Finite(micros), _) => Ok(Some(micros)),
            (Moment::Infinite(sign), Infinity::Raise) => Err(Reason::Infinite(sign)),
            (Moment::Infinite(_), Infinity::Null) => Ok(None),
            (Moment::Infinite(Sign::Positive), Infinity::Saturate) => Ok(Some(i64::MAX)),
            (Moment::Infinite(Sign::Negative), Infinity::Saturate) => Ok(Some(i64::MIN + 1)),
        }
    }

    fn data_type() -> DataType {
        DataType::Timestamp(TimeUnit::Microsecond, Z::NAME.map(Into::into))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, TimestampMicrosecondArray};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Case, assert_both_ways, encode, hex};

    #[test]
    fn golden() {
        assert_both_ways(1114, hex("0000000000000000"), Value::Timestamp(EPOCH_MICROS));
        assert_both_ways(1184, hex("fffca2fec4c82000"), Value::TimestampTz(0));
        // 4714-11-24 BC, the first.
        let first = FIRST_MICROS + EPOCH_MICROS;
        assert_both_ways(1114, hex("fd0f7cc1411fa000"), Value::Timestamp(first));
        assert_both_ways(1184, hex("7fffffffffffffff"), Value::TimestampInfinity(Sign::Positive));
        assert_both_ways(1114, hex("8000000000000000"), Value::TimestampInfinity(Sign::Negative));
        let cells = [hex("fd0f7cc1411fa000"), None];
        for (oid, zone) in [(1114, None), (1184, Some("UTC"))] {
            let array: TimestampMicrosecondArray = Case::new(oid).array(&cells);
            assert_eq!(array.timezone(), zone);
            assert_eq!(array.values()[..], [first, i64::MIN]);
            assert!(array.is_null(1));
        }
    }

    #[test]
    fn last_years_do_not_fit() {
        let last = LAST_MICROS.to_be_bytes().to_vec();
        let array: TimestampMicrosecondArray = Case::new(1114).array(&[Some(last)]);
        assert_eq!(array.value(0), i64::MAX);
        // 294276-12-31 23:59:59.999999
        let (row, text) = Case::new(1114).error(&[None, hex("7fffff5bb3b29fff")]);
        assert_eq!(row, 1);
        assert!(text.contains("do not fit into 64 bits"), "{text}");
        assert!((TIMESTAMP.value)(&hex("7fffff5bb3b29fff").unwrap()).is_err());
    }

    #[test]
    fn infinity() {
        let cells = [hex("8000000000000000"), None, hex("7fffffffffffffff")];
        let (row, text) = Case::new(1184).error(&cells);
        assert_eq!(row, 0);
        assert!(text.contains("the value is -infinity; pass infinity=\"null\""), "{text}");
        let array: TimestampMicrosecondArray =
            Case::new(1184).infinity(Infinity::Null).array(&cells);
        assert_eq!((array.null_count(), array.values()[0]), (3, i64::MIN));
        let array: TimestampMicrosecondArray =
            Case::new(1184).infinity(Infinity::Saturate).array(&cells);
        assert_eq!(array.values()[..], [i64::MIN + 1, i64::MIN, i64::MAX]);
        assert_eq!(array.null_count(), 1);
    }

    #[test]
    fn malformed() {
        for bad in ["", "00000000", "fd0f7cc1411f9fff", "8000000000000001", "7ffffffffffffffe"] {
            assert_eq!(Case::new(1114).error(&[hex(bad)]).0, 0, "{bad}");
        }
        for out in [i64::MIN, i64::MAX, FIRST_MICROS + EPOCH_MICROS - 1] {
            let error = encode(1184, &Value::TimestampTz(out));
            assert_eq!(error.is_err(), out != i64::MAX, "{out}");
        }
        // A naive timestamp is not an instant, and an instant is not a naive timestamp.
        assert!(encode(1184, &Value::Timestamp(0)).is_err());
        assert!(encode(1114, &Value::TimestampTz(0)).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(micros in (FIRST_MICROS + EPOCH_MICROS)..=i64::MAX) {
            let bytes = encode(1184, &Value::TimestampTz(micros)).unwrap();
            let array: TimestampMicrosecondArray = Case::new(1184).array(&[Some(bytes)]);
            prop_assert_eq!(array.value(0), micros);
        }
    }
}
