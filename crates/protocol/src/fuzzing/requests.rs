//! The client's messages, read back.

use std::convert::Infallible;

use super::Input;
use crate::error::LocalError;
use crate::frontend::{self, BindExecute, EncodedParams};
use crate::trace::trace_frontend;
use crate::{Format, Oid};

/// Messages of any kind with any contents: each reads back as itself, and one that cannot be
/// written leaves nothing behind.
pub fn requests(data: &[u8]) {
    let mut input = Input::new(data);
    let mut out = Vec::new();
    let mut names = Vec::new();
    while !input.is_empty() && names.len() < 100 {
        let before = out.len();
        match request(&mut input, &mut out) {
            Ok(written) => names.extend_from_slice(written),
            Err(_) => assert_eq!(out.len(), before, "what could not be written was"),
        }
    }
    let lines = trace_frontend(&out);
    assert_eq!(lines.lines().count(), names.len(), "{lines}");
    for (line, name) in lines.lines().zip(&names) {
        let said = line.strip_prefix("F ").unwrap_or(line);
        assert!(said.starts_with(name), "{line} is no {name}");
        assert!(!said.contains("(malformed"), "{line}");
    }
}

/// Appends one request, or two for some functions; returns their names.
fn request(
    input: &mut Input<'_>,
    out: &mut Vec<u8>,
) -> Result<&'static [&'static str], LocalError> {
    let kind = input.below(20);
    let (first, second) = (input.text(), input.text());
    let formats: Vec<Format> = input.chunk().iter().map(|byte| format(*byte)).collect();
    match kind {
        0 => frontend::query(out, &first).map(|()| &["Query"][..]),
        1 => {
            let oids: Vec<Oid> = input.chunk().iter().map(|byte| Oid::from(*byte)).collect();
            frontend::parse(out, &first, &second, &oids).map(|()| &["Parse"][..])
        }
        2 => frontend::bind(out, &first, &second, &params(input), &formats).map(|()| &["Bind"][..]),
        3 => frontend::describe_statement(out, &first).map(|()| &["Describe"][..]),
        4 => frontend::describe_portal(out, &first).map(|()| &["Describe"][..]),
        5 => frontend::execute(out, &first, input.byte().into()).map(|()| &["Execute"][..]),
        6 => frontend::close_statement(out, &first).map(|()| &["Close"][..]),
        7 => frontend::close_portal(out, &first).map(|()| &["Close"][..]),
        8 => frontend::copy_data(out, first.as_bytes()).map(|()| &["CopyData"][..]),
        9 => frontend::copy_fail(out, &first).map(|()| &["CopyFail"][..]),
        10 => frontend::password(out, first.as_bytes()).map(|()| &["PasswordMessage"][..]),
        11 => frontend::startup(out, [(first.as_str(), second.as_str())])
            .map(|()| &["StartupMessage"][..]),
        12 => {
            frontend::cancel_request(out, input.byte().into(), first.as_bytes());
            Ok(&["CancelRequest"])
        }
        13 => {
            frontend::sync(out);
            Ok(&["Sync"])
        }
        14 => {
            frontend::flush(out);
            Ok(&["Flush"])
        }
        15 => {
            frontend::terminate(out);
            Ok(&["Terminate"])
        }
        16 => {
            frontend::copy_done(out);
            Ok(&["CopyDone"])
        }
        17 => {
            frontend::ssl_request(out);
            Ok(&["SSLRequest"])
        }
        18 => {
            frontend::gssenc_request(out);
            Ok(&["GSSENCRequest"])
        }
        _ => {
            let mut series = BindExecute::new(&first, &formats, input.byte().into())?;
            series.push(out, &params(input))?;
            Ok(&["Bind", "Execute"])
        }
    }
}

fn format(byte: u8) -> Format {
    if byte.is_multiple_of(2) { Format::Text } else { Format::Binary }
}

fn params(input: &mut Input<'_>) -> EncodedParams {
    let mut params = EncodedParams::new();
    for _ in 0..input.below(9) {
        let format = format(input.byte());
        if input.flag() {
            params.push_null(format);
        } else {
            let value = input.chunk();
            let write = |out: &mut Vec<u8>| -> Result<(), Infallible> {
                out.extend_from_slice(value);
                Ok(())
            };
            let Ok(()) = params.push(format, write);
        }
    }
    params
}
