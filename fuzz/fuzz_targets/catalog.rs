//! Types as catalogs describe them.

#![no_main]

libfuzzer_sys::fuzz_target!(
    |data: &[u8]| colonnade_fuzz::within_bounds(data, colonnade_columnar::fuzzing::catalog)
);
