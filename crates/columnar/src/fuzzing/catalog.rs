//! Catalogs that describe impossible types.

use std::time::Duration;

use colonnade_protocol::Oid;
use colonnade_protocol::fuzzing::Input;

use crate::catalog::{Catalog, TypeRow, Types};
use crate::schema::Infinity;
use crate::types::{EXTENSION_TYPES, Request, TYPES, column_builder};

/// The first of a few types that refer to each other.
const FIRST: Oid = 50_000;

const BUILT_PARTS_MAX: usize = 500;

const KINDS: &[u8] = b"bcdemrp?";

/// Types with arbitrary parts, including themselves: every question about a type has an answer, and
/// its values are read like any other.
pub fn catalog(data: &[u8]) {
    let mut input = Input::new(data);
    let value = input.chunk();
    let catalog = Catalog::default();
    let mut asked = Vec::new();
    while !input.is_empty() && asked.len() < 200 {
        let rows: Vec<_> = (0..input.below(8)).map(|_| row(&mut input)).collect();
        asked.extend(rows.iter().map(|row| row.oid));
        catalog.learn(&[any_oid(&mut input)], &rows, Duration::ZERO);
    }
    asked.sort_unstable();
    asked.dedup();
    let types = Types::new(catalog.clone(), None);
    for oid in asked {
        let Some(found) = types.find(oid) else { continue };
        let _ = (found.format(), found.parameter_format(), found.has_codecs(), found.kind());
        let _ = (found.text_codec_out_of_place().is_some(), found.stored().oid, found.in_rows());
        let decoded = found.value(value);
        if let Ok(value) = &decoded {
            let _ = found.encode(value, &mut Vec::new());
        }
        // A type with very many parts has very many builders, which take a fuzzer too long.
        if found.is_within(usize::MAX, &mut { BUILT_PARTS_MAX }) {
            let built = column_builder(&found, &Request::new(-1, Infinity::Null, None));
            assert!(built.is_ok(), "{}", found.name);
        }
        if input.flag() {
            catalog.forget(&found);
            assert!(types.missing([oid]).contains(&oid));
        }
    }
}

fn row(input: &mut Input<'_>) -> TypeRow {
    let oid = FIRST + input.below(16) as Oid;
    let line = input.choose(TYPES).or(EXTENSION_TYPES.first());
    let attributes = (0..input.below(6))
        .map(|_| (input.text(), any_oid(input), input.number().cast_signed()))
        .collect();
    TypeRow {
        oid,
        schema: String::new(),
        name: format!("t{oid}"),
        kind: input.choose(KINDS).copied().unwrap_or(b'b'),
        element: any_oid(input),
        base: any_oid(input),
        type_modifier: input.number().cast_signed(),
        subtype: any_oid(input),
        send: line.map_or_else(String::new, |line| line.send.to_owned()),
        send_is_built_in: input.flag(),
        attributes,
        labels: (0..input.below(4)).map(|_| input.text()).collect(),
    }
}

/// One of these types, a built-in one, or none.
fn any_oid(input: &mut Input<'_>) -> Oid {
    match input.below(4) {
        0 => 0,
        1 => input.choose(TYPES).map_or(0, |line| line.oid),
        _ => FIRST + input.below(16) as Oid,
    }
}
