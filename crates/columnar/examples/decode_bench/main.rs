//! Nanoseconds per value of each type: the scan, the decoding beyond it into short batches, and
//! the decoding into one long batch.
//!
//! `cargo run --release -p colonnade-columnar --example decode_bench [filter]`. Each figure is the
//! minimum of many rounds, which other load disturbs least. A table of one column costs most per
//! value in the scan, so the columns of interest are repeated.
//!
//! `decode_bench --count` decodes each case once inside `counted`, and prints a line for each: the
//! target of the decoding, the case, and the number of values. `python -m benches.instructions`
//! runs it under callgrind, which counts the instructions of each call; no other program disturbs
//! those.

mod cases;
mod wire;

use std::time::{Duration, Instant};

use colonnade_columnar::{BatchBuilder, DecodeOptions, Fields, ResultColumn, push_parameter};
use colonnade_protocol::frontend::EncodedParams;
use colonnade_protocol::{DataRows, Format, Frame, Spans, next_frame};

use self::cases::{Case, Sample};

/// The size of one read of the driver.
const RUN_BYTES: usize = 128 * 1024;
const RUNS: usize = 32;
const RUNS_COUNTED: u64 = 2;
const COLUMNS: usize = 4;
const ROUNDS: usize = 60;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option] = arguments.as_slice()
        && option == "--count"
    {
        return count();
    }
    let filter = arguments.first().map_or("", String::as_str);
    println!("{:<32} {:>8} {:>8} {:>8}  ns per value", "case", "scan", "decode", "one batch");
    for case in cases::chosen().iter().filter(|case| case.name.contains(filter)) {
        for null_percent in [0, 10] {
            run(case, null_percent);
        }
    }
}

/// Does the work of every case once, while its instructions are counted.
fn count() {
    let mut all = cases::chosen();
    for case in wire::every_type() {
        if all.iter().all(|known| known.name != case.name) {
            all.push(case);
        }
    }
    for case in all {
        let runs: Vec<Vec<u8>> = (0..RUNS_COUNTED).map(|run| encode(&case, 0, run)).collect();
        let runs: Vec<DataRows<'_>> = runs.iter().map(|bytes| data_rows(bytes)).collect();
        let values = runs.iter().map(DataRows::row_count).sum::<usize>() * COLUMNS;
        // One-time initialization and first-time memory allocation must not count as part of a
        // value.
        decode(&case, &runs, true);
        counted(|| decode(&case, &runs, true));
        println!("columns\t{}\t{values}", case.name);
        // Only columns have casts.
        if case.cast.is_none() {
            counted(|| values_of(&case, &runs));
            println!("values\t{}\t{values}", case.name);
        }
    }
}

/// The one function whose instructions callgrind is told to count.
#[inline(never)]
fn counted(work: impl Fn()) {
    work();
    // Work after the call, so that it does not become a tail call.
    std::hint::black_box(());
}

/// Decodes each value by itself, as rows do.
fn values_of(case: &Case, runs: &[DataRows<'_>]) {
    let mut spans = Spans::new();
    for rows in runs {
        let mut rows = rows.clone();
        while rows.scan(COLUMNS, 512, &mut spans).unwrap_or(0) > 0 {
            for column in 0..COLUMNS {
                for raw in Fields::new(rows.bytes(), spans.column(column)).iter().flatten() {
                    std::hint::black_box(case.pg_type.value(raw).is_ok());
                }
            }
        }
    }
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
    // One batch per run reuses warm memory and measures decoding alone. One batch for all runs
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
    let column = ResultColumn::new("column", case.pg_type.clone(), case.type_modifier);
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
            let encoded = match case.sample {
                Sample::Value(value) => {
                    push_parameter(&mut values, &case.pg_type, &value(random >> 8))
                }
                Sample::Wire(wire) => values.push(Format::Binary, |out| {
                    out.extend(wire(random >> 8));
                    Ok(())
                }),
            };
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
