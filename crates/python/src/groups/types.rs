//! What PostgreSQL's types say about keys and aggregates.

use colonnade_columnar::{ResultColumn, Shape, Type};
use colonnade_compute::grouping::{Aggregate, KeyRule};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Types without an operator for equality, or with one that the bytes do not tell.
const WITHOUT_EQUALITY: &[&str] = &[
    "box",
    "circle",
    "citext",
    "cstring",
    "gtsvector",
    "json",
    "jsonpath",
    "line",
    "lseg",
    "path",
    "pg_node_tree",
    "pg_snapshot",
    "point",
    "polygon",
    "refcursor",
    "txid_snapshot",
    "xml",
];

/// Types whose order is another one than that of their Arrow values.
const WITHOUT_ORDER: &[&str] = &[
    "aclitem",
    "cid",
    "cidr",
    "geography",
    "geometry",
    "hstore",
    "inet",
    "jsonb",
    "ltree",
    "money",
    "regclass",
    "regcollation",
    "regconfig",
    "regdictionary",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
    "timetz",
    "tsquery",
    "tsvector",
    "xid",
    "\"char\"",
    "char",
];

/// Types with a sum and a mean.
const NUMBERS: &[&str] = &["float4", "float8", "int2", "int4", "int8", "numeric"];

/// Types with a sum only.
const LENGTHS: &[&str] = &["interval"];

/// The rule by which values of a type are compared.
pub(super) fn rule(pg_type: &Type) -> KeyRule {
    match &pg_type.bare().shape {
        Shape::Scalar(line) if line.name == "bpchar" => KeyRule::WithoutBlanks,
        Shape::Enum(_) => KeyRule::ByIndex,
        _ => KeyRule::Plain,
    }
}

/// The name of a part of the type, or of the type itself, for which `is_so` holds.
fn part_that<'a>(pg_type: &'a Type, is_so: &dyn Fn(&Type) -> bool) -> Option<&'a str> {
    let bare = pg_type.bare();
    if is_so(bare) {
        return Some(&bare.name);
    }
    match &bare.shape {
        Shape::Array(part) | Shape::Range(part) | Shape::Multirange(part) => part_that(part, is_so),
        Shape::Composite(parts) => parts.iter().find_map(|part| part_that(&part.pg_type, is_so)),
        _ => None,
    }
}

fn lacks_equality(part: &Type) -> bool {
    match part.shape {
        Shape::Scalar(line) => WITHOUT_EQUALITY.contains(&line.name),
        // The bytes of a type that the driver does not know.
        Shape::Opaque => part.name.starts_with("oid "),
        _ => false,
    }
}

fn lacks_order(part: &Type) -> bool {
    match part.shape {
        Shape::Scalar(line) => {
            WITHOUT_ORDER.contains(&line.name) || WITHOUT_EQUALITY.contains(&line.name)
        }
        Shape::Range(_) | Shape::Multirange(_) | Shape::Record(_) => true,
        // Compared by their lengths first.
        Shape::Array(_) => matches!(part.name.as_str(), "oidvector" | "int2vector"),
        Shape::Opaque => part.name.starts_with("oid "),
        _ => false,
    }
}

/// A part of the type that cannot be ordered; an enum only by itself, as parts are compared by
/// their labels.
fn unordered(pg_type: &Type) -> Option<&str> {
    let bare = pg_type.bare();
    let is_enum = matches!(bare.shape, Shape::Enum(_));
    let lacks =
        |part: &Type| lacks_order(part) || (!is_enum && matches!(part.shape, Shape::Enum(_)));
    part_that(bare, &lacks)
}

/// TypeError if the column cannot be a key.
pub(super) fn check_key(field: &ResultColumn, name: &str, sort: bool) -> PyResult<()> {
    let whole = &field.pg_type.name;
    if let Some(part) = part_that(&field.pg_type, &lacks_equality) {
        return Err(PyTypeError::new_err(format!(
            "\"{name}\" cannot be a key: its type is {whole}, and whether two values of {part} are \
             equal is not known here; select it as text, or as another type"
        )));
    }
    if !sort {
        return Ok(());
    }
    match unordered(&field.pg_type) {
        None => Ok(()),
        Some(part) => Err(PyTypeError::new_err(format!(
            "\"{name}\" cannot be sorted by: its type is {whole}, and the order of {part} is that \
             of the server only; use sort=False, or select it as another type"
        ))),
    }
}

/// Whether a column's type has the aggregate.
fn has(field: &ResultColumn, kind: Aggregate) -> bool {
    let pg_type = field.pg_type.bare();
    match kind {
        Aggregate::Sum | Aggregate::Mean => match &pg_type.shape {
            Shape::Scalar(line) => {
                NUMBERS.contains(&line.name)
                    || (kind == Aggregate::Sum && LENGTHS.contains(&line.name))
            }
            // A column that was given: its Arrow type says it.
            Shape::Opaque => true,
            _ => false,
        },
        Aggregate::Min | Aggregate::Max => unordered(pg_type).is_none(),
        Aggregate::Distinct => part_that(pg_type, &lacks_equality).is_none(),
        Aggregate::Count | Aggregate::First | Aggregate::Last => true,
    }
}

/// TypeError if the column's type does not have the aggregate.
pub(super) fn check_aggregate(kind: Aggregate, field: &ResultColumn, name: &str) -> PyResult<()> {
    if has(field, kind) {
        return Ok(());
    }
    let known: Vec<Aggregate> =
        Aggregate::ALL.into_iter().filter(|kind| has(field, *kind)).collect();
    Err(PyTypeError::new_err(format!(
        "there is no {} of \"{name}\": its type is {}, which has {}",
        kind.name(),
        field.pg_type.name,
        listed(&known)
    )))
}

/// The names in a sentence.
pub(super) fn listed(kinds: &[Aggregate]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [only] => (*only).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
