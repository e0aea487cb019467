//! Columns as a schema may request them, in the binary and the text format.

use arrow_array::{Array, ArrayRef};
use colonnade_protocol::Span;
use colonnade_protocol::fuzzing::Input;

use super::any_type;
use crate::column::Fields;
use crate::error::Reason;
use crate::schema::{Infinity, Override};
use crate::types::{Request, Type, column_builder};

/// The types that a schema can request.
const CASTS: [&str; 30] = [
    "bool",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "utf8",
    "large_utf8",
    "utf8_view",
    "dictionary<int32, utf8>",
    "binary",
    "fixed_size_binary[16]",
    "date32",
    "time32[s]",
    "time32[ms]",
    "time64[us]",
    "time64[ns]",
    "duration[s]",
    "duration[us]",
    "timestamp[s]",
    "timestamp[ns]",
    "timestamp[us, UTC]",
    "decimal128(38, 10)",
    "decimal128(3, 1)",
    "decimal256(76, 40)",
    "U3",
    "S3",
];

/// A column of some values in any possible Arrow type: it is valid Arrow, and the way its rows are
/// split into blocks changes neither its content nor its error.
pub fn column(data: &[u8]) {
    let mut input = Input::new(data);
    let pg_type = any_type(&mut input);
    let cast: Option<Override> =
        if input.flag() { input.choose(&CASTS).and_then(|cast| cast.parse().ok()) } else { None };
    let type_modifier = input.number().cast_signed();
    let infinity = match input.below(3) {
        0 => Infinity::Raise,
        1 => Infinity::Null,
        _ => Infinity::Saturate,
    };
    let request = Request::new(type_modifier, infinity, cast);
    let (mut bytes, mut spans) = (Vec::new(), Vec::new());
    while !input.is_empty() && spans.len() < 64 {
        if input.below(8) == 0 {
            spans.push(Span::NULL);
        } else {
            let cell = input.chunk();
            spans.push(Span::new(bytes.len(), cell.len()));
            bytes.extend_from_slice(cell);
        }
    }
    let Some(whole) = built(&pg_type, &request, &bytes, &spans, usize::MAX) else { return };
    for rows in [1, 3] {
        let cut = built(&pg_type, &request, &bytes, &spans, rows);
        // A numeric with digits beyond its own scale is accepted if the column's scale, which its
        // neighbours decide, is large enough: it is kept exactly, but no server sends it.
        let is_tolerated =
            [cut.as_ref(), Some(&whole)].into_iter().flatten().any(has_hidden_digits);
        assert!(
            is_tolerated || cut.as_ref() == Some(&whole),
            "{pg_type:?} as {request:?}, {rows} at a time: {cut:?}, not {whole:?}"
        );
    }
}

fn has_hidden_digits(outcome: &Result<ArrayRef, (usize, Reason)>) -> bool {
    matches!(outcome, Err((_, reason)) if format!("{reason:?}").contains("NumericHiddenDigits"))
}

/// The array, or the faulty row and its error; `None` if there is no such cast.
fn built(
    pg_type: &Type,
    request: &Request,
    bytes: &[u8],
    spans: &[Span],
    rows: usize,
) -> Option<Result<ArrayRef, (usize, Reason)>> {
    let (mut built, _) = column_builder(pg_type, request).ok()?;
    let mut before = 0;
    for block in spans.chunks(rows) {
        if let Err((row, reason)) = built.builder.append(Fields::new(bytes, block)) {
            return Some(Err((before + row, reason)));
        }
        before += block.len();
    }
    let announced = built.builder.data_type();
    let array = built.builder.finish();
    assert_eq!((array.len(), array.data_type()), (spans.len(), &announced), "{pg_type:?}");
    let checked = array.to_data().validate_full();
    assert!(checked.is_ok(), "{pg_type:?} as {request:?}: {checked:?}");
    Some(Ok(array))
}
