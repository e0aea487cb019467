//! Nanoseconds per value from Arrow to the wire: in the rows of a COPY, and in an array as a
//! parameter.
//!
//! `cargo run --release -p colonnade-columnar --example encode_bench [filter]`. Each figure is the
//! minimum of many rounds, which other load disturbs least.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::types::{Int32Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    FixedSizeBinaryArray, Float64Array, Int16Array, Int32Array, Int64Array, PrimitiveArray,
    RecordBatch, StringArray, StringViewArray,
};
use colonnade_columnar::Types;
use colonnade_columnar::encode::{EncodeOptions, RowEncoder, TargetColumn, array_parameter};

const ROWS: usize = 100_000;
const COLUMNS: usize = 4;
const ROUNDS: usize = 40;
const CHUNK_BYTES: usize = 256 * 1024;

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    println!("{:<28} {:>8} {:>8}  ns per value", "case", "rows", "array");
    for (name, oid, array) in cases(0) {
        run(name, oid, &array, &filter);
    }
    for (name, oid, array) in cases(10) {
        run(&format!("{name}, 10% NULL"), oid, &array, &filter);
    }
}

fn cases(null_percent: u64) -> Vec<(&'static str, u32, ArrayRef)> {
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut numbers = || -> Vec<Option<u64>> {
        (0..ROWS)
            .map(|_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                (random % 100 >= null_percent).then_some(random >> 8)
            })
            .collect()
    };
    let mut text = |least: u64, most: u64| -> Vec<Option<String>> {
        let text = |n: u64| {
            let length = least + n % (most - least + 1);
            (0..length).map(|i| char::from(b'a' + ((n >> (i % 50)) % 26) as u8)).collect()
        };
        numbers().into_iter().map(|n| n.map(text)).collect()
    };
    let short = text(1, 8);
    let middle = text(8, 24);
    let long = text(100, 200);
    let numbers = numbers();
    let n = || numbers.iter().copied();
    let int8: Int64Array = n().map(|n| n.map(|n| n as i64)).collect();
    let small: Int64Array = n().map(|n| n.map(|n| (n % 1_000_000) as i64)).collect();
    let money: Decimal128Array = n().map(|n| n.map(|n| i128::from(n % 10_000_000))).collect();
    let large: Decimal128Array = n().map(|n| n.map(|n| i128::from(n) << 40)).collect();
    let decimal = |array: Decimal128Array, precision, scale| -> ArrayRef {
        match array.with_precision_and_scale(precision, scale) {
            Ok(array) => Arc::new(array),
            Err(error) => unreachable!("{error}"),
        }
    };
    let timestamps: PrimitiveArray<TimestampMicrosecondType> =
        n().map(|n| n.map(|n| (n % 4_000_000_000_000_000) as i64)).collect();
    let uuids = n().map(|n| n.map(|n| (u128::from(n) * 0x9E37_79B9).to_be_bytes()));
    let uuids = FixedSizeBinaryArray::try_from_sparse_iter_with_size(uuids, 16);
    let categories = n().map(|n| n.map(|n| if n % 3 == 0 { "red" } else { "green" }));
    let mut cases: Vec<(_, _, ArrayRef)> = vec![
        ("bool", 16, Arc::new(n().map(|n| n.map(|n| n % 3 == 0)).collect::<BooleanArray>())),
        ("int2", 21, Arc::new(n().map(|n| n.map(|n| n as i16)).collect::<Int16Array>())),
        ("int4", 23, Arc::new(n().map(|n| n.map(|n| n as i32)).collect::<Int32Array>())),
        ("int8", 20, Arc::new(int8)),
        ("int64 to int4", 23, Arc::new(small)),
        ("float8", 701, Arc::new(n().map(|n| n.map(|n| n as f64)).collect::<Float64Array>())),
        ("date", 1082, {
            Arc::new(n().map(|n| n.map(|n| (n % 40_000) as i32)).collect::<Date32Array>())
        }),
        ("timestamptz", 1184, Arc::new(timestamps.with_timezone("UTC"))),
        ("numeric, money", 1700, decimal(money, 15, 2)),
        ("numeric, 29 digits", 1700, decimal(large, 38, 10)),
        ("text 1-8", 25, Arc::new(short.iter().collect::<StringArray>())),
        ("text 8-24", 25, Arc::new(middle.iter().collect::<StringArray>())),
        ("text 8-24, views", 25, Arc::new(middle.iter().collect::<StringViewArray>())),
        ("text 100-200", 25, Arc::new(long.iter().collect::<StringArray>())),
        ("text, dictionary", 25, Arc::new(categories.collect::<DictionaryArray<Int32Type>>())),
        ("jsonb", 3802, Arc::new(middle.iter().collect::<StringArray>())),
    ];
    if let Ok(uuids) = uuids {
        cases.push(("uuid", 2950, Arc::new(uuids)));
    }
    cases
}

fn run(name: &str, oid: u32, array: &ArrayRef, filter: &str) {
    if !name.contains(filter) {
        return;
    }
    let Some(pg_type) = Types::default().find(oid) else { return };
    let names: Vec<String> = (0..COLUMNS).map(|index| format!("c{index}")).collect();
    let columns = names.iter().map(|name| (name, Arc::clone(array)));
    let Ok(batch) = RecordBatch::try_from_iter(columns) else { return };
    let targets: Vec<TargetColumn> = names
        .iter()
        .enumerate()
        .map(|(source, name)| TargetColumn {
            source,
            name: name.clone(),
            pg_type: Arc::clone(&pg_type),
            type_modifier: -1,
        })
        .collect();
    let options = EncodeOptions::default();
    let mut out = Vec::new();
    let rows = least(|| match RowEncoder::new(&targets, &batch, &options, 0) {
        Ok(mut encoder) => loop {
            out.clear();
            match encoder.append(&mut out, CHUNK_BYTES) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => unreachable!("{error}"),
            }
        },
        Err(error) => unreachable!("{error}"),
    });
    let parameter = least(|| {
        out.clear();
        let pushed = array_parameter(&pg_type, array, &[ROWS], &options, &mut out);
        assert!(pushed.is_ok(), "{pushed:?}");
    });
    let per_value = |time: Duration, values: usize| time.as_secs_f64() * 1e9 / values as f64;
    println!(
        "{name:<28} {:>8.2} {:>8.2}",
        per_value(rows, ROWS * COLUMNS),
        per_value(parameter, array.len()),
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
