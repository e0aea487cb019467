//! Seeds for a fuzzer: values of every type in the tables.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::CANDIDATES;
use crate::types::{Shape, Type};
use crate::value::{Bits, List, Network, Range, Sign, Value};

/// Some values for each type, laid out for the function of this name.
pub fn seeds(function: &str) -> Vec<Vec<u8>> {
    (0..CANDIDATES.len()).flat_map(|number| seeds_of(function, number)).collect()
}

/// The seeds of one type, the candidate of this number.
pub(super) fn seeds_of(function: &str, number: usize) -> Vec<Vec<u8>> {
    let Some(pg_type) = CANDIDATES.get(number) else { return Vec::new() };
    let choice = u16::try_from(number).unwrap_or(0).to_be_bytes();
    let encoded = |value: &Value<'_>| {
        let mut bytes = Vec::new();
        pg_type.encode(value, &mut bytes).ok().map(|()| bytes)
    };
    // The fuzzer finds the texts of text-only types by itself.
    let mut raws: Vec<_> = samples(pg_type).iter().filter_map(encoded).collect();
    if raws.is_empty()
        && let Shape::Scalar(line) = &pg_type.shape
    {
        // A few bytes, whose text has a form of its own.
        let decodes = |raw: &Vec<u8>| (line.value)(raw).is_ok();
        raws.extend((1..=16).map(|count| vec![8; count]).find(decodes));
    }
    raws.iter().map(|raw| seed(function, choice, raw)).collect()
}

fn seed(function: &str, choice: [u8; 2], raw: &[u8]) -> Vec<u8> {
    let counted = [&[u8::try_from(raw.len()).unwrap_or(u8::MAX)], raw].concat();
    match function {
        "value" => [&choice[..], raw].concat(),
        // No cast, no type modifier, and twice a cell that is not NULL.
        "column" => [&choice[..], &[0, 0xff, 0, 1], &counted, &[1], &counted].concat(),
        // The whole array, no dictionary, in small pieces.
        "arrow" => [&choice[..], &[0, 0, 1, 9], &counted, &[0, 1], &counted].concat(),
        _ => {
            let length = u32::try_from(raw.len()).unwrap_or(0);
            let row = [&[0, 1][..], &length.to_be_bytes(), raw].concat();
            let message = [&b"D"[..], &(length + 10).to_be_bytes(), &row].concat();
            [&[1], &choice[..], &message, &message].concat()
        }
    }
}

/// Values for a type; for a type with parts, made of the parts' first values.
fn samples(pg_type: &Type) -> Vec<Value<'static>> {
    let first = |part: &Type| {
        let takes = |value: &Value<'_>| part.encode(value, &mut Vec::new()).is_ok();
        samples(part).into_iter().find(takes).unwrap_or(Value::Null)
    };
    match &pg_type.shape {
        Shape::Array(part) => {
            let elements = vec![first(part), Value::Null, first(part), first(part)];
            let none = Value::List(List { dimensions: Vec::new(), elements: Vec::new() });
            let flat = List { dimensions: vec![4], elements: elements.clone() };
            let square = List { dimensions: vec![2, 2], elements };
            vec![Value::List(flat), Value::List(square), none]
        }
        Shape::Composite(fields) => {
            vec![Value::Composite(fields.iter().map(|field| first(&field.pg_type)).collect())]
        }
        Shape::Range(part) => {
            vec![Value::Range(Box::new(range(first(part)))), Value::Range(Box::new(Range::Empty))]
        }
        Shape::Multirange(part) => {
            vec![Value::Multirange(vec![range(first(part)), Range::Empty])]
        }
        _ => scalars(),
    }
}

fn range(bound: Value<'static>) -> Range<'static> {
    Range::Bounds {
        lower: bound,
        upper: Value::Null,
        lower_inclusive: true,
        upper_inclusive: false,
    }
}

/// Values of every kind; a type takes those of its own.
fn scalars() -> Vec<Value<'static>> {
    let texts = [
        "",
        "text",
        "12.5",
        "{1,NULL}",
        "(1,2)",
        "[1,2)",
        "a=>1",
        "'a' & 'b'",
        "{\"a\":1}",
        "{1:1.5,3:-2}/5",
    ];
    let numerics = ["0", "-12.50", "NaN", "Infinity", "123456789012345678901234567890.000001"];
    let address = |address, prefix, is_cidr| Value::Network(Network { address, prefix, is_cidr });
    let mut all: Vec<_> = texts.into_iter().map(|text| Value::Text(text.into())).collect();
    all.extend(numerics.into_iter().map(|text| Value::Numeric(text.into())));
    all.extend([0, 1, -1, i64::from(i32::MAX), i64::MIN].map(Value::Int));
    all.extend([0, 7, u64::MAX].map(Value::UInt));
    all.extend([0.0, -1.5, f64::NAN].map(Value::Float));
    all.extend([0.0, -1.5, f32::INFINITY].map(Value::Float32));
    all.extend([
        Value::Bool(true),
        Value::Bytes([0_u8, 255][..].to_vec().into()),
        Value::Uuid([7; 16]),
        Value::Date(0),
        Value::DateInfinity(Sign::Negative),
        Value::Time(86_400_000_000),
        Value::Timestamp(-1),
        Value::TimestampTz(1),
        Value::TimestampInfinity(Sign::Positive),
        Value::Interval { months: -14, days: 3, micros: 1 },
        Value::IntervalInfinity(Sign::Positive),
        Value::TimeTz { micros: 1, offset_s: -3600 },
        Value::Bits(Bits { len: 3, bytes: vec![0b1010_0000].into() }),
        address(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8, true),
        address(IpAddr::V6(Ipv6Addr::LOCALHOST), 128, false),
        Value::Point([1.0, -2.0]),
        Value::Line([1.0, 2.0, 3.0]),
        Value::LineSegment([1.0; 4]),
        Value::Box([2.0, 2.0, 1.0, 1.0]),
        Value::Circle([0.0, 0.0, 1.0]),
        Value::Path { is_closed: true, points: vec![[0.0, 1.0], [2.0, 3.0]] },
        Value::Polygon(vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
        Value::Tid { block: 1, offset: 2 },
        Value::Snapshot { xmin: 1, xmax: 9, running: vec![3, 5] },
        Value::Floats(vec![1.0, 0.0, -2.5]),
        Value::Map(vec![("key".into(), Some("value".into())), ("none".into(), None)]),
    ]);
    all
}
