//! What a columnar fetch is asked for beside its query.

use std::str::FromStr;

use colonnade_columnar::{DecodeOptions, Infinity, Override};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;

/// `schema=` and `infinity=` of a columnar fetch.
pub(crate) fn decode_options(
    py: Python<'_>,
    schema: Option<&Bound<'_, PyDict>>,
    infinity: &str,
) -> PyResult<DecodeOptions> {
    let infinity = Infinity::from_str(infinity)
        .map_err(|error| errors::of_class(py, "SchemaError", &error.to_string()))?;
    let mut overrides = Vec::new();
    for (name, wanted) in schema.into_iter().flatten() {
        let name: String = name.extract()?;
        let wanted = Override::from_str(wanted.str()?.to_str()?).map_err(|error| {
            errors::of_class(py, "SchemaError", &format!("schema[{name:?}]: {error}"))
        })?;
        overrides.push((name, wanted));
    }
    Ok(DecodeOptions { infinity, overrides })
}
