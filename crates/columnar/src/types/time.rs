//! `time`: 64-bit count of microseconds since midnight, up to and with 24:00:00.

use arrow_array::types::{Int64Type, Time64MicrosecondType};

use super::primitive::{PrimitiveBuilder, Shape, exact};
use super::{Built, Codec, Kind};
use crate::error::{EncodeError, Reason};
use crate::schema::{Infinity, Override};
use crate::value::Value;

const DAY_MICROS: i64 = 86_400_000_000;

pub(super) const TIME: Codec = Codec {
    arrow: "time64[us]",
    kind: Kind::Time,
    casts: &["int64"],
    value: |raw| micros(raw).map(Value::Time),
    encode: |value, out| match value {
        Value::Time(micros @ 0..=DAY_MICROS) => {
            out.extend_from_slice(&micros.to_be_bytes());
            Ok(())
        }
        Value::Time(_) => Err(EncodeError::TimeOutOfRange {
            type_name: "time",
            range: "from 00:00:00 to 24:00:00",
        }),
        other => Err(EncodeError::WrongKind { expected: "a time", given: other.describe() }),
    },
    builder: |request| match request.cast {
        None => Built::plain(PrimitiveBuilder::<Time>::new(request.infinity)),
        Some(Override::Int64) => {
            Built::plain(PrimitiveBuilder::<TimeMicros>::new(request.infinity))
        }
        Some(_) => None,
    },
};

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
