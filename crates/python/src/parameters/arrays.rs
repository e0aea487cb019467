//! Arrow and NumPy arrays as array parameters: values go from buffer to buffer without Python
//! objects.

use std::sync::Arc;

use arrow_array::ArrayRef;
use colonnade_columnar::encode::{ArrayParameterError, EncodeOptions, array_parameter};
use colonnade_columnar::given::{Step, indices};
use colonnade_columnar::{Kind, Shape, Type};
use colonnade_protocol::Format;
use colonnade_protocol::frontend::EncodedParams;
use pyo3::intern;
use pyo3::prelude::*;

use super::plain::check_array_elements;
use super::refusal::Refusal;
use super::scalars::is_foreign;
use crate::arrow::import::check_by_owner;
use crate::arrow::numpy_import;
use crate::arrow::series;
use crate::class_names;

/// The library an array comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Library {
    /// NaT is NULL, and the elements of its arrays are available as objects, too.
    NumPy,
    Arrow,
}

/// Pushes an argument that is a buffer; returns false if it is not, or if only its Python objects
/// can be converted to the type.
pub(super) fn push(
    encoded: &mut EncodedParams,
    pg_type: &Type,
    argument: &Bound<'_, PyAny>,
) -> Result<bool, Refusal> {
    let Shape::Array(element) = &pg_type.bare().shape else { return Ok(false) };
    // The binary format cannot hold texts that only the server can parse.
    let is_text = element.is_text_only() || pg_type.bare().is_vector();
    if is_text || matches!(element.shape, Shape::Custom { .. }) {
        return Ok(false);
    }
    check_zone(element, argument)?;
    let argument = without_index(element, argument)?;
    if numpy_import::is_array(&argument)? {
        check_array_elements(argument.getattr(intern!(argument.py(), "size"))?.extract()?)?;
        let is_utc = element.kind() == Some(Kind::TimestampTz);
        return match numpy_import::array(&argument, is_utc)? {
            Some((array, shape)) => push_array(encoded, element, &array, &shape, Library::NumPy),
            None => Ok(false),
        };
    }
    match series::array(&argument)? {
        Some(array) => {
            let length = array.len();
            check_array_elements(length)?;
            push_array(encoded, element, &array, &[length], Library::Arrow)
        }
        None => Ok(false),
    }
}

/// Refuses a naive series for an array of a type with time zone. NumPy's arrays are UTC, and
/// Arrow's are checked when they are encoded.
pub(super) fn check_zone(element: &Type, argument: &Bound<'_, PyAny>) -> Result<(), Refusal> {
    if element.kind() == Some(Kind::TimestampTz)
        && is_foreign(argument)
        && (numpy_import::is_naive_series(argument)? || is_naive_in_polars(argument)?)
    {
        return Err(Refusal::because(
            "without a time zone moments name none; give the series its time zone before: \
             .dt.tz_localize(\"UTC\") in pandas, .dt.replace_time_zone(\"UTC\") in Polars",
        ));
    }
    Ok(())
}

fn without_index<'py>(element: &Type, argument: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if element.kind() == Some(Kind::TimestampTz) {
        return numpy_import::moments_of_series(argument);
    }
    numpy_import::without_index(argument)
}

fn is_naive_in_polars(argument: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !class_names::is_of(&argument.get_type(), "polars") {
        return Ok(false);
    }
    // Only Datetime has a time zone.
    let zone = match argument.getattr_opt("dtype")? {
        Some(dtype) => dtype.getattr_opt("time_zone")?,
        None => None,
    };
    Ok(zone.is_some_and(|zone| zone.is_none()))
}

/// The objects of a Series or an Index, for an array parameter; other objects unchanged.
pub(super) fn objects<'py>(
    pg_type: &Type,
    argument: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match pg_type.bare().shape {
        Shape::Array(ref element) if is_foreign(argument) => {
            match argument.getattr_opt("to_pylist")? {
                Some(to_pylist) => {
                    check_by_owner(argument)?;
                    to_pylist.call0()
                }
                None => without_index(element, argument),
            }
        }
        _ => Ok(argument.clone()),
    }
}

fn push_array(
    encoded: &mut EncodedParams,
    element: &Arc<Type>,
    array: &ArrayRef,
    dimensions: &[usize],
    library: Library,
) -> Result<bool, Refusal> {
    let is_numpy = library == Library::NumPy;
    // NaN is a number.
    let options = EncodeOptions { nan_as_null: false, nat_as_null: is_numpy };
    let pushed = encoded
        .push(Format::Binary, |out| array_parameter(element, array, dimensions, &options, out));
    match pushed {
        Ok(()) => Ok(true),
        // Converted one by one, the elements may fit the type, as floats do for numeric.
        Err(ArrayParameterError::Cast(_)) if is_numpy => Ok(false),
        Err(ArrayParameterError::Element(error)) => {
            let index = usize::try_from(error.row).unwrap_or(usize::MAX);
            let refusal = Refusal::because(error.reason.to_string());
            Err(refusal.within(Step::Element(indices(index, dimensions))))
        }
        Err(error) => Err(Refusal::because(error.to_string())),
    }
}
