//! A value in wire format for every type of the tables, so that a new type is measured as well, or
//! reported if it has no sample.

use std::sync::Arc;

use colonnade_columnar::types::{EXTENSION_TYPES, RANGES, TYPES};
use colonnade_columnar::{Shape, Type};

use super::cases::{Case, Sample, built_in, made, plain};

type Wire = fn(u64) -> Vec<u8>;

/// A case for each line of the tables, named after its type.
pub(crate) fn every_type() -> Vec<Case> {
    let of_line = |name: &'static str, pg_type: Arc<Type>| {
        let sample = sample(name);
        assert!(sample.is_some(), "no sample in wire form for the type {name}");
        plain(name, pg_type, Sample::Wire(sample.unwrap_or(words)))
    };
    let built_ins = TYPES.iter().map(|line| of_line(line.name, built_in(line.oid)));
    let extensions =
        EXTENSION_TYPES.iter().map(|line| of_line(line.name, made(line.name, Shape::Scalar(line))));
    let ranges = RANGES.iter().flat_map(|line| {
        let multirange = of_line(line.multirange_name, built_in(line.multirange_oid));
        [of_line(line.name, built_in(line.oid)), multirange]
    });
    built_ins.chain(extensions).chain(ranges).collect()
}

/// A sample value of a type, with a typical length.
fn sample(name: &str) -> Option<Wire> {
    numbers(name)
        .or_else(|| moments(name))
        .or_else(|| shapes(name))
        .or_else(|| texts(name))
        .or_else(|| ranges(name))
}

fn numbers(name: &str) -> Option<Wire> {
    Some(match name {
        "bool" => |n| vec![(n % 3 == 0).into()],
        "char" => |n| vec![b'a' + (n % 26) as u8],
        "int2" => |n| (n as i16).to_be_bytes().into(),
        "int4" | "oid" | "xid" | "cid" => |n| (n as u32).to_be_bytes().into(),
        "int8" | "xid8" | "pg_lsn" => |n| (n >> 1).to_be_bytes().into(),
        "tid" => |n| [&(n as u32).to_be_bytes()[..], &[0, (n % 200) as u8]].concat(),
        "float4" => |n| (n as f32).to_be_bytes().into(),
        "float8" => |n| (n as f64).to_be_bytes().into(),
        "numeric" => |n| money(n).into(),
        "uuid" => |n| (u128::from(n) * 0x9E37_79B9_7F4A_7C15).to_be_bytes().into(),
        "bytea" => |n| vec![n as u8; 16],
        "bit" | "varbit" => |n| [&32_u32.to_be_bytes()[..], &(n as u32).to_be_bytes()].concat(),
        "void" => |_| Vec::new(),
        "inet" => |n| [&[2, 32, 0, 4][..], &(n as u32).to_be_bytes()].concat(),
        "cidr" => |n| [&[2, 24, 1, 4][..], &(n as u32 & 0xFFFF_FF00).to_be_bytes()].concat(),
        "macaddr" => |n| n.to_be_bytes().into_iter().take(6).collect(),
        "macaddr8" => |n| n.to_be_bytes().into(),
        "pg_snapshot" | "txid_snapshot" => |n| {
            let least = n % 1_000_000 + 1;
            [&[0, 0, 0, 1][..], &longs(&[least, least + 9, least + 3])].concat()
        },
        "vector" => |n| [&[0, 8, 0, 0][..], &[n as f32; 8].map(f32::to_be_bytes).concat()].concat(),
        "halfvec" => |n| [&[0, 8, 0, 0][..], &[n as u8 & 0x3F; 16]].concat(),
        "sparsevec" => |n| {
            let head = [1000_u32, 2, 0, (n % 500) as u32, 501 + (n % 400) as u32];
            let values = [n as f32, 0.5].map(f32::to_be_bytes).concat();
            [head.map(u32::to_be_bytes).concat(), values].concat()
        },
        _ => return None,
    })
}

fn moments(name: &str) -> Option<Wire> {
    Some(match name {
        "date" => |n| ((n % 40_000) as u32).to_be_bytes().into(),
        "time" => |n| (n % 86_400_000_000).to_be_bytes().into(),
        "timestamp" | "timestamptz" => |n| (n % 4_000_000_000_000_000).to_be_bytes().into(),
        "timetz" => |n| {
            [&(n % 86_400_000_000).to_be_bytes()[..], &(3600 * (n % 12) as u32).to_be_bytes()]
                .concat()
        },
        "interval" => |n| {
            let days_months = [(n % 30) as u32, (n % 12) as u32].map(u32::to_be_bytes).concat();
            [&(n % 86_400_000_000).to_be_bytes()[..], &days_months].concat()
        },
        _ => return None,
    })
}

fn shapes(name: &str) -> Option<Wire> {
    Some(match name {
        "point" => |n| floats(n, 2),
        "lseg" | "box" => |n| floats(n, 4),
        "line" | "circle" => |n| floats(n, 3),
        "path" => |n| [&[1, 0, 0, 0, 4][..], &floats(n, 8)].concat(),
        "polygon" => |n| [&[0, 0, 0, 4][..], &floats(n, 8)].concat(),
        "geometry" | "geography" => |n| [&[0, 0, 0, 0, 1][..], &floats(n, 2)].concat(),
        _ => return None,
    })
}

fn texts(name: &str) -> Option<Wire> {
    Some(match name {
        "text" | "name" | "xml" | "unknown" | "bpchar" | "varchar" | "refcursor" | "cstring"
        | "citext" | "pg_node_tree" => words,
        // The server has no binary format for these and sends their text.
        "regproc"
        | "money"
        | "aclitem"
        | "regprocedure"
        | "regoper"
        | "regoperator"
        | "regclass"
        | "regtype"
        | "anyarray"
        | "pg_ndistinct"
        | "pg_dependencies"
        | "gtsvector"
        | "regconfig"
        | "regdictionary"
        | "regnamespace"
        | "regrole"
        | "regcollation"
        | "pg_brin_bloom_summary"
        | "pg_brin_minmax_multi_summary"
        | "pg_mcv_list" => words,
        "json" => |n| format!("{{\"key\": {}}}", n % 100_000).into(),
        "jsonb" => |n| format!("\u{1}{{\"key\": {}}}", n % 100_000).into(),
        "jsonpath" | "ltree" | "lquery" | "ltxtquery" => |n| [&[1][..], &words(n)].concat(),
        "hstore" => |n| {
            let value = (n % 1000).to_string();
            let counted = |text: &[u8]| [&(text.len() as u32).to_be_bytes()[..], text].concat();
            [&[0, 0, 0, 1][..], &counted(b"key"), &counted(value.as_bytes())].concat()
        },
        "tsvector" => |n| {
            let lexeme = |n| [&words(n)[..], &[0, 0, 1, 0, 1 + (n % 100) as u8]].concat();
            [&[0, 0, 0, 2][..], &lexeme(n), &lexeme(n >> 8)].concat()
        },
        "tsquery" => |n| {
            let lexeme = |n| [&[1, 0, 0][..], &words(n), &[0]].concat();
            [&[0, 0, 0, 3, 2, 2][..], &lexeme(n), &lexeme(n >> 8)].concat()
        },
        _ => return None,
    })
}

fn ranges(name: &str) -> Option<Wire> {
    Some(match name {
        "int4range" | "daterange" => int_range,
        "int8range" | "tsrange" | "tstzrange" => long_range,
        "numrange" => number_range,
        "int4multirange" | "datemultirange" => |n| multirange(&int_range(n)),
        "int8multirange" | "tsmultirange" | "tstzmultirange" => |n| multirange(&long_range(n)),
        "nummultirange" => |n| multirange(&number_range(n)),
        _ => return None,
    })
}

fn int_range(n: u64) -> Vec<u8> {
    let lower = (n % 30_000) as u32;
    range(&lower.to_be_bytes(), &(lower + 10).to_be_bytes())
}

fn long_range(n: u64) -> Vec<u8> {
    let lower = n % 4_000_000_000_000_000;
    range(&lower.to_be_bytes(), &(lower + 10).to_be_bytes())
}

fn number_range(n: u64) -> Vec<u8> {
    range(&money(n), &money(n + 10_000))
}

/// From the inclusive lower bound to the exclusive upper bound.
fn range(lower: &[u8], upper: &[u8]) -> Vec<u8> {
    let counted = |bound: &[u8]| [&(bound.len() as u32).to_be_bytes()[..], bound].concat();
    [&[2][..], &counted(lower), &counted(upper)].concat()
}

fn multirange(range: &[u8]) -> Vec<u8> {
    [&1_u32.to_be_bytes()[..], &(range.len() as u32).to_be_bytes(), range].concat()
}

/// Below 100 million, with two digits after the point: three digits of base 10,000.
fn money(n: u64) -> [u8; 14] {
    let [high, low, cents] = [n / 10_000 % 9_999 + 1, n % 10_000, n % 100 * 100];
    let words = [3, 1, 0, 2, high as u16, low as u16, cents as u16];
    let mut bytes = [0; 14];
    for (pair, word) in bytes.chunks_exact_mut(2).zip(words) {
        pair.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

fn words(n: u64) -> Vec<u8> {
    (0..8 + n % 8).map(|i| b'a' + ((n >> i) % 26) as u8).collect()
}

fn floats(n: u64, count: u64) -> Vec<u8> {
    (0..count).flat_map(|i| ((n % 1_000_000 + i) as f64).to_be_bytes()).collect()
}

fn longs(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}
