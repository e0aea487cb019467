//! Whole batches of any columns.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: colonnade_fuzz::begin_with("batch", &colonnade_columnar::fuzzing::seeds("batch")),
    |data: &[u8]| colonnade_fuzz::within_bounds(data, colonnade_columnar::fuzzing::batch)
);
