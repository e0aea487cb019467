//! The options of a columnar fetch.

use std::str::FromStr;

use colonnade_columnar::{DecodeOptions, Infinity, Override};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::values::inexact::Inexact;
use crate::{class_names, errors};

/// `schema=` and `infinity=` of a columnar fetch.
pub(crate) fn decode_options(
    py: Python<'_>,
    schema: Option<&Bound<'_, PyDict>>,
    infinity: &Bound<'_, PyAny>,
) -> PyResult<DecodeOptions> {
    let Ok(infinity) = infinity.cast::<PyString>() else {
        let class = class_names::full(&infinity.get_type());
        let text = format!("infinity must be \"raise\", \"null\" or \"saturate\", not {class}");
        return Err(PyTypeError::new_err(text));
    };
    let infinity = Infinity::from_str(infinity.to_str()?)
        .map_err(|error| errors::of_class(py, "SchemaError", &error.to_string()))?;
    let mut options = DecodeOptions { infinity, ..DecodeOptions::default() };
    for (key, wanted) in schema.into_iter().flatten() {
        // The key None stands for every numeric column without an entry of its own.
        if key.is_none() {
            options.inexact = Some(wanted.cast::<Inexact>()?.get().notes());
            continue;
        }
        let wanted = Override::from_str(wanted.str()?.to_str()?);
        let refused = |shown: String| {
            move |error| errors::of_class(py, "SchemaError", &format!("schema[{shown}]: {error}"))
        };
        // The position of a column, because names may repeat.
        if let Ok(place) = key.extract::<usize>() {
            options.places.push((place, wanted.map_err(refused(place.to_string()))?));
        } else {
            let name: String = key.extract()?;
            let wanted = wanted.map_err(refused(format!("{name:?}")))?;
            options.overrides.push((name, wanted));
        }
    }
    Ok(options)
}
