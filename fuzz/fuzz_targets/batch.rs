//! Whole batches of any columns.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| colonnade_columnar::fuzzing::batch(data));
