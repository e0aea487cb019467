//! One value of any type, as a row and as a column.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: colonnade_fuzz::begin_with("value", &colonnade_columnar::fuzzing::seeds("value")),
    |data: &[u8]| colonnade_fuzz::within_bounds(data, colonnade_columnar::fuzzing::value)
);
