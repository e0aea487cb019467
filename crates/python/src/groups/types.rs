//! Refuses keys and aggregates that a column's PostgreSQL type does not have.

use colonnade_columnar::{Comparison, ResultColumn, Shape, Type};
use colonnade_compute::grouping::{Aggregate, KeyRule};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The rule by which values of a type are compared.
pub(super) fn rule(pg_type: &Type) -> KeyRule {
    match &pg_type.bare().shape {
        Shape::Scalar(line) if line.comparison == Comparison::Padded => KeyRule::WithoutBlanks,
        Shape::Enum(_) => KeyRule::ByIndex,
        _ => KeyRule::Plain,
    }
}

/// TypeError if the column cannot be a key.
pub(super) fn check_key(field: &ResultColumn, name: &str, sort: bool) -> PyResult<()> {
    let whole = &field.pg_type.name;
    if let Some(part) = field.pg_type.part_without_equality() {
        return Err(PyTypeError::new_err(format!(
            "\"{name}\" cannot be a key: its type is {whole}, and whether two values of {part} are \
             equal is not known here; select it as text, or as another type"
        )));
    }
    if !sort {
        return Ok(());
    }
    match field.pg_type.part_without_order() {
        None => Ok(()),
        Some(part) => Err(PyTypeError::new_err(format!(
            "\"{name}\" cannot be sorted by: its type is {whole}, and the order of {part} is that \
             of the server only; use sort=False, or select it as another type"
        ))),
    }
}

/// Whether a column's type has the aggregate.
fn has(field: &ResultColumn, kind: Aggregate) -> bool {
    let pg_type = &field.pg_type;
    match kind {
        Aggregate::Sum => pg_type.may_have_sum(),
        Aggregate::Mean => pg_type.may_have_mean(),
        Aggregate::Min | Aggregate::Max => pg_type.part_without_order().is_none(),
        Aggregate::Distinct => pg_type.part_without_equality().is_none(),
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
