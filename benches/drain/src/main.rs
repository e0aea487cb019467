//! Reads the result of one query and throws it away.
//!
//! Every driver has to get the bytes out of the kernel; the cost of doing only that is the floor
//! of the benchmarks. The drain sends the same extended query with binary results as a driver,
//! reads into one buffer of 128 KiB, and looks only at frame lengths, because there is no other
//! safe way to find the end of the result (see `boundary`).
//!
//! With `--recv-low-water` the kernel wakes it only when that many bytes are available. This is a
//! separate floor, because a plain drain spends most of its time on wake-ups.

mod arguments;
mod boundary;
mod connection;
mod system;

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use arguments::{Arguments, USAGE};
use connection::Connection;
use system::CpuTime;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(mistake) => {
            eprintln!("{USAGE}\n\ncolonnade-drain: {mistake}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("colonnade-drain: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let mut connection = Connection::open(arguments)?;
    // A connection's first query loads the server's caches, so it is not measured.
    connection.drain("SELECT 1")?;
    if let Some(bytes) = arguments.receive_low_water {
        connection.set_receive_low_water(bytes)?;
    }
    for _ in 0..arguments.repeat {
        println!("{}", measure(&mut connection, &arguments.sql)?);
    }
    Ok(())
}

/// Returns one run as a line of JSON, with the same keys as the other measuring programs.
fn measure(connection: &mut Connection, sql: &str) -> Result<String, String> {
    let cpu_time = || CpuTime::now().map_err(|error| format!("processor time: {error}"));
    let before = cpu_time()?;
    let start = Instant::now();
    let drained = connection.drain(sql)?;
    let wall = start.elapsed();
    let after = cpu_time()?;
    let rows = drained.outcome.rows().map_or_else(|| "null".into(), |rows| rows.to_string());
    Ok(format!(
        "{{\"rows\": {rows}, \"wall_s\": {:.6}, \"cpu_user_s\": {:.6}, \"cpu_system_s\": {:.6}, \
         \"wire_bytes\": {}, \"reads\": {}}}",
        wall.as_secs_f64(),
        after.user.saturating_sub(before.user).as_secs_f64(),
        after.system.saturating_sub(before.system).as_secs_f64(),
        drained.bytes,
        drained.reads,
    ))
}
