//! Nanoseconds per value of each type: the scan, the decoding beyond it into short batches, and
//! the decoding into one long batch.
//!
//! `cargo run --release -p colonnade-columnar --example decode_bench [filter]`. Each figure is the
//! least of many rounds, which is what a busy machine disturbs least. A table of one column costs
//! most per value in the scan, so the columns of interest are repeated.
//!
//! `decode_bench --rounds N CASE` decodes into short batches N times and prints how many values a
//! round has. Under `valgrind --tool=callgrind`, two runs that differ in N give the instructions
//! per value, which no other program on the machine disturbs.

mod cases;

use std::time::{Duration, Instant};

use colonnade_columnar::{BatchBuilder, DecodeOptions, ResultColumn, Value, push_parameter};
use colonnade_protocol::frontend::EncodedParams;
use colonnade_protocol::{DataRows, Format, Frame, Spans, next_frame};

use self::cases::Case;

/// As much as one read of the driver gives.
const RUN_BYTES: usize = 128 * 1024;
const RUNS: usize = 32;
const RUNS_COUNTED: usize = 4;
const COLUMNS: usize = 4;
const ROUNDS: usize = 60;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option, rounds, name] = arguments.as_slice()
        && option == "--rounds"
    {
        return count(name, rounds.parse().unwrap_or(1));
    }
    let filter = arguments.first().map_or("", String::as_str);
    println!("{:<32} {:>8} {:>8} {:>8}  ns per value", "case", "scan", "decode", "one batch");
    for case in cases::all().iter().filter(|case| case.name.contains(filter)) {
        for null_percent in [0, 10] {
            run(case, null_percent);
        }
    }
}

/// Does the work of one case and prints how many values it has; of no case their names.
fn count(name: &str, rounds: usize) {
    let all = cases::all();
    let Some(case) = all.iter().find(|case| case.name == name) else {
        return all.iter().for_each(|case| println!("{}", case.name));
    };
    let runs: Vec<Vec<u8>> = (0..RUNS_COUNTED as u64).map(|run| encode(case, 0, run)).collect();
    let runs: Vec<DataRows<'_>> = runs.iter().map(|bytes| data_rows(bytes)).collect();
    for _ in 0..rounds {
        decode(case, &runs, true);
    }
    println!("{}", runs.iter().map(DataRows::row_count).sum::<usize>() * COLUMNS);
}

fn run(case: &Case, null_percent: u64) {
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
    // A batch per run reuses warm memory: what decoding itself takes. One batch for all of them
    // grows into fresh memory, which the system clears page by page.
    let [short, long] = [true, false].map(|each_run| least(|| decode(case, &runs, each_run)));
    let per_value = |time: Duration| time.as_secs_f64() * 1e9 / values as f64;
    println!(
        "{:<32} {:>8.2} {:>8.2} {:>8.2}",
        format!("{}{}", case.name, if null_percent > 0 { ", 10% NULL" } else { "" }),
        per_value(scan),
        per_value(short.saturating_sub(scan)),
        per_value(long.saturating_sub(scan)),
    );
}

/// Decodes runs of rows into a batch for each, or into one for all.
fn decode(case: &Case, runs: &[DataRows<'_>], each_run: bool) {
    let column = ResultColumn {
        name: "column".to_owned(),
        pg_type: case.pg_type.clone(),
        type_modifier: case.type_modifier,
    };
    let overrides = case.cast.clone().map(|cast| ("column".to_owned(), cast)).into_iter().collect();
    let options = DecodeOptions { overrides, ..DecodeOptions::default() };
    let Ok(mut builder) = BatchBuilder::new(&vec![column; COLUMNS], &options) else { return };
    for rows in runs {
        let mut rows = rows.clone();
        let appended = builder.append(&mut rows, usize::MAX);
        assert!(appended.is_ok(), "{appended:?}");
        if each_run {
            std::hint::black_box(builder.finish().is_ok());
        }
    }
    std::hint::black_box(builder.finish().is_ok());
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
    let mut values = EncodedParams::new();
    while bytes.len() < RUN_BYTES {
        values.clear();
        for _ in 0..COLUMNS {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            if random % 100 < null_percent {
                values.push_null(Format::Binary);
                continue;
            }
            let value: Value<'_> = (case.value)(random >> 8);
            let encoded = push_parameter(&mut values, &case.pg_type, &value);
            assert!(encoded.is_ok(), "{encoded:?}");
        }
        // The length counts itself and the number of columns.
        let length = (4 + 2 + values.bytes().len()) as u32;
        bytes.push(b'D');
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&(COLUMNS as u16).to_be_bytes());
        bytes.extend_from_slice(values.bytes());
    }
    bytes
}
