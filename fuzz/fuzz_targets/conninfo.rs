//! DSNs of both forms, service files, password files.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: colonnade_fuzz::begin_with("conninfo", &colonnade_session::fuzzing::conninfo_seeds()),
    |data: &[u8]| colonnade_fuzz::within_bounds(data, colonnade_session::fuzzing::conninfo)
);
