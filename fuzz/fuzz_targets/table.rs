//! Arrow streams from a server, and the table that their batches make.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: {
        colonnade_fuzz::begin_with("table", &colonnade_formats::fuzzing::seeds());
        colonnade_fuzz::allow_arrow_to_panic();
    },
    |data: &[u8]| colonnade_fuzz::within_bounds(data, |data| {
        let batches = colonnade_formats::fuzzing::arrow_stream(data).unwrap_or_default();
        let Ok(table) = colonnade_columnar::concat(&batches) else { return };
        for index in 0..table.num_columns() {
            let _ = table.column(index);
        }
    })
);
