//! One value of any type, as a row and as a column.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| colonnade_columnar::fuzzing::value(data));
