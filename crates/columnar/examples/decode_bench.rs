//! Nanoseconds per value of each type: the scan, the decoding beyond it into short batches, and
//! the decoding into one long batch.
//!
//! `cargo run --release -p colonnade-columnar --example decode_bench [filter]`. Each figure is the
//! least of many rounds, which is what a busy machine disturbs least. A table of one column costs
//! most per value in the scan, so the columns of interest are repeated.

use std::time::{Duration, Instant};

use colonnade_columnar::{
    BatchBuilder, DecodeOptions, Override, ResultColumn, Types, Value, type_of,
};
use colonnade_protocol::{DataRows, Frame, Spans, next_frame};

/// As much as one read of the driver gives.
const RUN_BYTES: usize = 128 * 1024;
const RUNS: usize = 32;
const COLUMNS: usize = 4;
const ROUNDS: usize = 60;

struct Case {
    name: &'static str,
    oid: u32,
    type_modifier: i32,
    cast: Option<Override>,
    value: fn(u64) -> Value<'static>,
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    println!("{:<32} {:>8} {:>8} {:>8}  ns per value", "case", "scan", "decode", "one batch");
    for case in cases().iter().filter(|case| case.name.contains(&filter)) {
        for null_percent in [0, 10] {
            run(case, null_percent);
        }
    }
}

fn cases() -> Vec<Case> {
    let case = |name, oid, value| Case { name, oid, type_modifier: -1, cast: None, value };
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

fn text(n: u64, len: u64) -> Value<'static> {
    Value::Text((0..len).map(|i| char::from(b'a' + ((n >> (i % 50)) % 26) as u8)).collect())
}

fn decimal(n: u64, scale: usize) -> Value<'static> {
    let digits = format!("{n:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let point = if scale > 0 { "." } else { "" };
    Value::Numeric(format!("{whole}{point}{fraction}").into())
}

fn run(case: &Case, null_percent: u64) {
    let Some(pg_type) = Types::default().find(case.oid) else { return };
    let column =
        ResultColumn { name: "column".to_owned(), pg_type, type_modifier: case.type_modifier };
    let fields = vec![column; COLUMNS];
    let runs: Vec<Vec<u8>> = (0..RUNS as u64).map(|run| encode(case, null_percent, run)).collect();
    let runs: Vec<DataRows<'_>> = runs.iter().map(|bytes| data_rows(bytes)).collect();
    let values = runs.iter().map(DataRows::row_count).sum::<usize>() * COLUMNS;

    let mut spans = Spans::new();
    let scan = least(|| {
        for rows in &runs {
            let mut rows = rows.clone();
            while rows.scan(COLUMNS, 512, &mut spans).unwrap_or(0) > 0 {}
        }
    });
    let overrides = case.cast.clone().map(|cast| ("column".to_owned(), cast)).into_iter().collect();
    let options = DecodeOptions { overrides, ..DecodeOptions::default() };
    // A batch per run reuses warm memory: what decoding itself takes. One batch for all of them
    // grows into fresh memory, which the system clears page by page.
    let [short, long] = [true, false].map(|each_run| {
        least(|| {
            let Ok(mut builder) = BatchBuilder::new(&fields, &options) else { return };
            for rows in &runs {
                let mut rows = rows.clone();
                let appended = builder.append(&mut rows, usize::MAX);
                assert!(appended.is_ok(), "{appended:?}");
                if each_run {
                    std::hint::black_box(builder.finish().is_ok());
                }
            }
            std::hint::black_box(builder.finish().is_ok());
        })
    });
    let per_value = |time: Duration| time.as_secs_f64() * 1e9 / values as f64;
    println!(
        "{:<32} {:>8.2} {:>8.2} {:>8.2}",
        format!("{}{}", case.name, if null_percent > 0 { ", 10% NULL" } else { "" }),
        per_value(scan),
        per_value(short.saturating_sub(scan)),
        per_value(long.saturating_sub(scan)),
    );
}

fn least(mut work: impl FnMut()) -> Duration {
    let round = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..ROUNDS).map(round).min().unwrap_or_default()
}

fn data_rows(bytes: &[u8]) -> DataRows<'_> {
    match next_frame(bytes) {
        Ok(Some((Frame::DataRows(rows), _))) => rows,
        other => unreachable!("the bytes are rows, not {other:?}"),
    }
}

/// A run of rows as the server would send it.
fn encode(case: &Case, null_percent: u64, run: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut random = run.wrapping_mul(0x2545_F491_4F6C_DD1D) + 1;
    let Some(line) = type_of(case.oid) else { return bytes };
    while bytes.len() < RUN_BYTES {
        let start = bytes.len();
        bytes.extend_from_slice(b"D\0\0\0\0");
        bytes.extend_from_slice(&(COLUMNS as u16).to_be_bytes());
        for _ in 0..COLUMNS {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            if random % 100 < null_percent {
                bytes.extend_from_slice(&(-1_i32).to_be_bytes());
                continue;
            }
            let mut value = Vec::new();
            let encoded = (line.encode)(&(case.value)(random >> 8), &mut value);
            assert!(encoded.is_ok(), "{encoded:?}");
            bytes.extend_from_slice(&(value.len() as u32).to_be_bytes());
            bytes.extend_from_slice(&value);
        }
        let len = (bytes.len() - start - 1) as u32;
        if let Some(slot) = bytes.get_mut(start + 1..start + 5) {
            slot.copy_from_slice(&len.to_be_bytes());
        }
    }
    bytes
}
