//! The benchmark's cases: a type, a cast if any, and a function from a random number to a value.

use std::sync::{Arc, LazyLock};

use colonnade_columnar::types::EXTENSION_TYPES;
use colonnade_columnar::{Attribute, List, Override, Range, Shape, Type, Types, Value};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) pg_type: Arc<Type>,
    pub(crate) type_modifier: i32,
    pub(crate) cast: Option<Override>,
    pub(crate) sample: Sample,
}

/// How a value is made from a random number: by the parameter encoder, or in wire format.
#[derive(Clone, Copy)]
pub(crate) enum Sample {
    Value(fn(u64) -> Value<'static>),
    Wire(fn(u64) -> Vec<u8>),
}

const INT4: u32 = 23;
const FLOAT8: u32 = 701;
const TEXT: u32 = 25;
const NUMERIC: u32 = 1700;

/// Cases of special interest: sizes, casts, nested values.
pub(crate) fn chosen() -> Vec<Case> {
    flat().into_iter().chain(nested()).collect()
}

/// Types with a single value.
fn flat() -> Vec<Case> {
    let case = |name, oid, value| of_type(name, built_in(oid), value);
    let numeric = |name, value| case(name, 1700, value);
    vec![
        case("bool", 16, |n| Value::Bool(n % 3 == 0)),
        case("int2", 21, |n| Value::Int((n % 30_000) as i64)),
        case("int4", 23, |n| Value::Int((n % 2_000_000_000) as i64)),
        case("int8", 20, |n| Value::Int((n >> 1) as i64)),
        Case {
            cast: Some(Override::Float64),
            ..case("int4 as float64", 23, |n| Value::Int((n % 2_000_000_000) as i64))
        },
        case("float4", 700, |n| Value::Float32(n as f32)),
        case("float8", 701, |n| Value::Float(n as f64)),
        case("date", 1082, |n| Value::Date((n % 40_000) as i32)),
        case("time", 1083, |n| Value::Time((n % 86_400_000_000) as i64)),
        case("timestamptz", 1184, |n| Value::TimestampTz((n % 4_000_000_000_000_000) as i64)),
        Case {
            cast: "timestamp[ms]".parse().ok(),
            ..case("timestamptz as timestamp[ms]", 1184, |n| {
                Value::TimestampTz((n % 4_000_000_000_000) as i64 * 1_000)
            })
        },
        case("uuid", 2950, |n| Value::Uuid((u128::from(n) * 0x9E37_79B9_7F4A_7C15).to_be_bytes())),
        case("text 1-8", 25, |n| text(n, 1 + n % 8)),
        case("text 8-24", 25, |n| text(n, 8 + n % 16)),
        Case {
            cast: Some(Override::Characters(24)),
            ..case("text 8-24 as U24", 25, |n| text(n, 8 + n % 16))
        },
        Case {
            cast: Some(Override::Bytes(24)),
            ..case("text 8-24 as S24", 25, |n| text(n, 8 + n % 16))
        },
        case("text of 1000 kinds", 25, |n| text(n % 1000 * 7919, 8 + n % 16)),
        Case {
            cast: Some(Override::Dictionary),
            ..case("text of 16000 kinds as dictionary", 25, |n| text(n % 1000 * 7919, 8 + n % 16))
        },
        Case {
            cast: Some(Override::Dictionary),
            ..case("text of 5 kinds as dictionary", 25, |n| text(n % 5 * 7919, 8 + n % 5))
        },
        case("text 100-200", 25, |n| text(n, 100 + n % 100)),
        case("text 8-24, cyrillic", 25, |n| {
            Value::Text("тест данных".chars().cycle().skip(n as usize % 11).take(8).collect())
        }),
        case("bytea 8-24", 17, |n| Value::Bytes(vec![n as u8; 8 + n as usize % 16].into())),
        case("jsonb", 3802, |n| Value::Text(format!("{{\"key\": {}}}", n % 100_000).into())),
        numeric("numeric, money", |n| decimal(n % 10_000_000, 2)),
        Case {
            type_modifier: (15 << 16 | 2) + 4,
            ..numeric("numeric(15, 2), money", |n| decimal(n % 10_000_000, 2))
        },
        Case {
            type_modifier: (15 << 16 | 2) + 4,
            ..numeric("numeric(15, 2), alike", |n| decimal(1_000_001 + n % 99 + n % 1000 * 100, 2))
        },
        numeric("numeric, whole", |n| decimal(n % 1_000_000, 0)),
        numeric("numeric, 24 digits", |n| decimal(n, 20)),
        Case {
            type_modifier: (60 << 16 | 30) + 4,
            ..numeric("numeric(60, 30)", |n| decimal(n, 30))
        },
        Case {
            cast: Some(Override::Float64),
            ..numeric("numeric as float64", |n| decimal(n % 10_000_000, 2))
        },
        Case {
            cast: Some(Override::Int64),
            ..numeric("numeric as int64", |n| decimal(n % 10_000_000, 0))
        },
        Case {
            cast: Some(Override::Utf8),
            ..numeric("numeric as utf8", |n| decimal(n % 10_000_000, 2))
        },
    ]
}

/// Nested values.
fn nested() -> Vec<Case> {
    let array = |element: &Arc<Type>| made("an array", Shape::Array(Arc::clone(element)));
    let label = |index: u64| format!("label {index}");
    let mood = made("mood", Shape::Enum((0..5).map(label).collect()));
    let attribute = |(name, oid): (&str, u32)| Attribute {
        name: name.to_owned(),
        pg_type: built_in(oid),
        type_modifier: -1,
    };
    let fields = [("id", INT4), ("price", FLOAT8), ("name", TEXT), ("amount", NUMERIC)];
    let item = made("item", Shape::Composite(fields.map(attribute).into()));
    let hstore = EXTENSION_TYPES.iter().find(|line| line.name == "hstore");
    let hstore = hstore.map_or(Shape::Opaque, Shape::Scalar);
    let arrays = |name, oid, value| of_type(name, array(&built_in(oid)), value);
    vec![
        arrays("int4[] of 0-20", INT4, |n| {
            list(n % 21, |i| Value::Int(((n >> 8) + i) as i32 as i64))
        }),
        arrays("int4[] of 1000", INT4, |n| list(1000, |i| Value::Int((n + i) as i32 as i64))),
        arrays("int4[] of 0-20, some NULL", INT4, |n| {
            list(n % 21, |i| if (n + i) % 9 == 0 { Value::Null } else { Value::Int(i as i64) })
        }),
        arrays("float8[] of 2 x 8", FLOAT8, |n| {
            let elements = (0..16).map(|i| Value::Float((n + i) as f64)).collect();
            Value::List(List { dimensions: vec![2, 8], elements })
        }),
        arrays("text[] of 0-8", TEXT, |n| list(n % 9, |i| text(n >> i, 1 + (n + i) % 16))),
        arrays("numeric[] of 0-8", NUMERIC, |n| list(n % 9, |i| decimal((n >> i) % 10_000_000, 2))),
        of_type("enum of 5", mood, |n| Value::Text(format!("label {}", n % 5).into())),
        of_type("composite of 4", item, |n| {
            Value::Composite(vec![
                Value::Int(n as i32 as i64),
                Value::Float(n as f64),
                text(n, 1 + n % 16),
                decimal(n % 10_000_000, 2),
            ])
        }),
        of_type("int4range", built_in(3904), |n| {
            let lower = (n % 1_000_000) as i64;
            Value::Range(Box::new(Range::Bounds {
                lower: Value::Int(lower),
                upper: Value::Int(lower + 10),
                lower_inclusive: true,
                upper_inclusive: false,
            }))
        }),
        of_type("hstore of 0-4", made("hstore", hstore), |n| {
            let pair = |i: u64| {
                (format!("key {i}").into(), Some(format!("value {}", n >> i & 0xff).into()))
            };
            Value::Map((0..n % 5).map(pair).collect())
        }),
    ]
}

fn of_type(name: &'static str, pg_type: Arc<Type>, value: fn(u64) -> Value<'static>) -> Case {
    plain(name, pg_type, Sample::Value(value))
}

/// A case without a cast.
pub(crate) const fn plain(name: &'static str, pg_type: Arc<Type>, sample: Sample) -> Case {
    Case { name, pg_type, type_modifier: -1, cast: None, sample }
}

pub(crate) fn built_in(oid: u32) -> Arc<Type> {
    static TYPES: LazyLock<Types> = LazyLock::new(Types::default);
    TYPES.find(oid).unwrap_or_else(|| Arc::new(Type::opaque(oid)))
}

pub(crate) fn made(name: &str, shape: Shape) -> Arc<Type> {
    Arc::new(Type { oid: 99_999, name: name.to_owned(), schema: "public".to_owned(), shape })
}

fn list(length: u64, element: impl FnMut(u64) -> Value<'static>) -> Value<'static> {
    let elements: Vec<_> = (0..length).map(element).collect();
    let dimensions = if elements.is_empty() { vec![] } else { vec![elements.len()] };
    Value::List(List { dimensions, elements })
}

fn text(n: u64, len: u64) -> Value<'static> {
    Value::Text((0..len).map(|i| char::from(b'a' + ((n >> (i % 50)) % 26) as u8)).collect())
}

fn decimal(n: u64, scale: usize) -> Value<'static> {
    let digits = format!("{n:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let point = if scale > 0 { "." } else { "" };
    Value::Numeric(format!("{whole}{point}{fraction}").into())
}
