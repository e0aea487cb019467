//! Python values as parameters, guided by the types that the server expects.

mod arrays;
mod cells;
mod figures;
mod moments;
mod nested;
mod numpy;
mod options;
mod plain;
mod refusal;
mod row_cells;
mod scalars;
mod sequences;

use std::borrow::Cow;
use std::sync::Arc;

use colonnade_columnar::{
    CodecFormat, Kind, Shape, Type, Value, push_in_binary, push_in_text, push_parameter,
};
use colonnade_protocol::frontend::EncodedParams;
use colonnade_protocol::{Format, LocalError, Oid};
use colonnade_session::Statement;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

pub(crate) use self::cells::{CellPlace, encode_cells};
pub(crate) use self::options::decode_options;
use self::plain::check_value_bytes;
pub(crate) use self::refusal::ChangedError;
use self::refusal::{Refusal, answered, expected};
pub(crate) use self::row_cells::RowCells;
use crate::errors;
use crate::record::is_record;
use crate::types::codecs::{Codecs, NaiveMoments};
use crate::values::classes;
use crate::values::times;

/// The server infers the type of a parameter declared as `unknown`.
const UNKNOWN: Oid = 705;

/// The length field of a NULL.
const NULL_LENGTH: [u8; 4] = (-1_i32).to_be_bytes();

/// The parameters of a statement.
pub(crate) struct Taken<'a> {
    types: &'a [Arc<Type>],
    /// The types that the caller declared.
    declared: &'a [Oid],
    /// Whether the server infers the others anew when it gets the values.
    is_open: bool,
}

impl<'a> Taken<'a> {
    pub(crate) fn by(statement: &'a Statement) -> Self {
        let (types, declared) = (&statement.parameters, &statement.declared);
        Self { types, declared, is_open: statement.server_name().is_none() }
    }

    /// Whether the parameter takes any string as its text format.
    fn takes_text(&self, index: usize) -> bool {
        self.declared.get(index) == Some(&UNKNOWN)
    }
}

/// Refuses more arguments than the protocol can carry.
pub(crate) fn check_count(py: Python<'_>, count: usize) -> PyResult<()> {
    if count <= usize::from(u16::MAX) {
        return Ok(());
    }
    let refused = LocalError::TooManyParameters { count };
    Err(errors::of_class(py, "LocalProtocolError", &refused.to_string()))
}

/// `check_count`, before a statement is prepared.
#[pyfunction]
fn check_arguments(arguments: &Bound<'_, PyAny>) -> PyResult<()> {
    check_count(arguments.py(), arguments.len()?)
}

pub(crate) fn add_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_arguments, module)?)
}

/// Encodes the arguments of a query; an error names the argument and its type.
pub(crate) fn encode(
    py: Python<'_>,
    taken: &Taken<'_>,
    codecs: &Codecs,
    arguments: &Bound<'_, PyTuple>,
) -> PyResult<EncodedParams> {
    let mut encoded = EncodedParams::new();
    encode_into(py, &mut encoded, taken, codecs, arguments, None)?;
    Ok(encoded)
}

/// As `encode`, appending to earlier arguments. `row` is the index of this set of arguments for the
/// same statement, which an error names too.
pub(crate) fn encode_into(
    py: Python<'_>,
    encoded: &mut EncodedParams,
    taken: &Taken<'_>,
    codecs: &Codecs,
    arguments: &Bound<'_, PyTuple>,
    row: Option<u64>,
) -> PyResult<()> {
    check_count(py, arguments.len())?;
    if arguments.len() != taken.types.len() {
        return Err(miscounted(taken.types.len(), arguments));
    }
    for (index, (argument, pg_type)) in arguments.iter_borrowed().zip(taken.types).enumerate() {
        let pushed = if taken.takes_text(index) && argument.is_instance_of::<PyString>() {
            push_text(encoded, &argument)
        } else if taken.takes_text(index) && taken.is_open && row.is_some() && !is_null(&argument)?
        {
            // The server infers the type before the values are sent, and reads them as it.
            push_printed(encoded, pg_type, codecs, &argument)
        } else {
            push(encoded, pg_type, codecs, &argument)
        };
        pushed.map_err(|refusal| refusal.into_error(py, index, row, &pg_type.name, &argument))?;
    }
    Ok(())
}

fn miscounted(expected: usize, arguments: &Bound<'_, PyTuple>) -> PyErr {
    let (py, given) = (arguments.py(), arguments.len());
    // A list instead of its items, as other drivers accept.
    let whole = arguments.iter_borrowed().find(|argument| {
        let list = argument.cast::<PyList>().map(|list| list.len());
        let length = list.or_else(|_| argument.cast::<PyTuple>().map(|tuple| tuple.len()));
        given == 1 && expected > 0 && length.is_ok_and(|length| length == expected)
    });
    let hint = whole.map_or(String::new(), |whole| {
        let class = if whole.is_instance_of::<PyList>() { "list" } else { "tuple" };
        format!(" (a {class} of {expected}: pass its items as separate arguments: *arguments)")
    });
    let plural = if expected == 1 { "" } else { "s" };
    let passed = if given == 1 { "was" } else { "were" };
    errors::interface(
        py,
        &format!(
            "the server expects {expected} argument{plural} for this query, {given} {passed} \
             passed{hint}"
        ),
    )
}

/// The items of a sequence; None for other objects.
pub(crate) fn sequence<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let py = object.py();
    // A cast to a sequence would swallow a Ctrl-C raised in the object's methods.
    if !is_record(object) && !classes::SEQUENCE.is_instance(object)? {
        return Ok(None);
    }
    // No query takes more arguments, and the sequence may be larger than memory.
    let most = usize::from(u16::MAX) + 1;
    let items: Vec<_> = object.try_iter()?.take(most).collect::<PyResult<_>>()?;
    PyTuple::new(py, items).map(Some)
}

fn push(
    encoded: &mut EncodedParams,
    pg_type: &Type,
    codecs: &Codecs,
    argument: &Bound<'_, PyAny>,
) -> Result<(), Refusal> {
    if is_null(argument)? {
        return push_parameter(encoded, pg_type, &Value::Null)
            .map_err(|error| Refusal::of_encoder(&error, &Value::Null));
    }
    if scalars::is_foreign(argument) {
        if argument.is_instance_of::<PyString>() && classes::TEXT_VALUE.is_instance(argument)? {
            return push_text(encoded, argument);
        }
        // Buffers are never of Python's plain classes.
        if arrays::push(encoded, pg_type, argument)? {
            return Ok(());
        }
    }
    let argument = &arrays::objects(pg_type, argument)?;
    let value = to_value(pg_type, codecs, argument)?;
    push_parameter(encoded, pg_type, &value).map_err(|error| Refusal::of_encoder(&error, &value))
}

/// As `push`, where only binary values are allowed: an extension type must convert text itself.
fn push_binary(
    encoded: &mut EncodedParams,
    pg_type: &Type,
    codecs: &Codecs,
    argument: &Bound<'_, PyAny>,
) -> Result<(), Refusal> {
    push(encoded, pg_type, codecs, argument)?;
    // A NULL has no format.
    if encoded.formats() != [Format::Text] || encoded.bytes() == NULL_LENGTH {
        return Ok(());
    }
    if !pg_type.reads_text() {
        return Err(Refusal::because(
            "a text form cannot be sent among binary values: give the value's parts, or copy into \
             a text column first",
        ));
    }
    encoded.clear();
    let value = to_value(pg_type, codecs, argument)?;
    push_in_binary(encoded, pg_type, &value).map_err(|error| Refusal::of_encoder(&error, &value))
}

/// As `push`, for a column whose values are all sent as text.
fn push_as_text(
    encoded: &mut EncodedParams,
    pg_type: &Type,
    codecs: &Codecs,
    argument: &Bound<'_, PyAny>,
) -> Result<(), Refusal> {
    push(encoded, pg_type, codecs, argument)?;
    if encoded.formats() == [Format::Text] || encoded.bytes() == NULL_LENGTH {
        return Ok(());
    }
    Err(Refusal::because("the server accepts the type as text only: give the value as str"))
}

/// The text of a value, for any type that the server has inferred by now.
fn push_printed(
    encoded: &mut EncodedParams,
    pg_type: &Type,
    codecs: &Codecs,
    argument: &Bound<'_, PyAny>,
) -> Result<(), Refusal> {
    let argument = &arrays::objects(pg_type, argument)?;
    let value = to_value(pg_type, codecs, argument)?;
    push_in_text(encoded, pg_type, &value).map_err(|error| Refusal::of_encoder(&error, &value))
}

/// A text that the server parses, for any type.
fn push_text(encoded: &mut EncodedParams, argument: &Bound<'_, PyAny>) -> Result<(), Refusal> {
    let text = argument.cast::<PyString>().map_err(PyErr::from)?.to_str()?;
    if text.contains('\0') {
        return Err(Refusal::because("PostgreSQL's text cannot contain NUL characters"));
    }
    check_value_bytes(text.len())?;
    encoded.push(Format::Text, |out| {
        out.extend_from_slice(text.as_bytes());
        Ok(())
    })
}

/// Whether an object is None or the NULL of pandas or NumPy. A float NaN is a number.
fn is_null(argument: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(argument.is_none() || (scalars::is_foreign(argument) && times::is_missing(argument)?))
}

/// The value of an argument that is not NULL.
fn to_value<'a>(
    pg_type: &Type,
    codecs: &Codecs,
    argument: &'a Bound<'_, PyAny>,
) -> Result<Value<'a>, Refusal> {
    match &pg_type.shape {
        Shape::Scalar(line) => {
            if line.kind == Kind::TimestampTz && codecs.naive_moments() == NaiveMoments::Refused {
                moments::check_zone(argument, codecs.dates())?;
            }
            Ok(scalars::to_value(line, argument, codecs.dates())?)
        }
        Shape::Enum(_) => Ok(Value::Text(scalars::label(argument)?)),
        Shape::Domain { base, .. } => to_value(base, codecs, argument),
        Shape::Array(element) => nested::list(element, codecs, argument).map(Value::List),
        Shape::Composite(attributes) => nested::composite(attributes, codecs, argument),
        Shape::Range(subtype) => nested::range(subtype, codecs, argument),
        Shape::Multirange(subtype) => nested::multirange(subtype, codecs, argument),
        Shape::Record(_) => Err(Refusal::because(
            "PostgreSQL takes no anonymous records as input: cast the parameter to a composite \
             type",
        )),
        Shape::Opaque => Ok(unknown(&pg_type.name, argument)?),
        Shape::Custom { codec, format, under } => {
            let made = codecs.encode(*codec, argument)?;
            match format {
                CodecFormat::Text => match made.cast::<PyString>() {
                    Ok(text) => Ok(custom(*codec, text.to_str()?.as_bytes())),
                    Err(_) => Ok(expected("a str from the codec's encoder", &made)?),
                },
                CodecFormat::Binary => match scalars::bytes(&made) {
                    Ok(bytes) => Ok(custom(*codec, &bytes)),
                    Err(_) => Ok(expected("bytes from the codec's encoder", &made)?),
                },
                CodecFormat::Tuple => {
                    let value = nested::from_parts(under, codecs, &made)?;
                    Ok(value.into_owned())
                }
            }
        }
    }
}

fn custom(codec: usize, raw: &[u8]) -> Value<'static> {
    Value::Custom { codec, raw: Cow::Owned(raw.to_vec()) }
}

/// An unknown type takes its text format as `str` and its binary format as `bytes`.
fn unknown<'a>(name: &str, argument: &'a Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    if let Ok(text) = argument.cast::<PyString>() {
        return Ok(Value::Text(Cow::Borrowed(text.to_str()?)));
    }
    if let Ok(bytes) = argument.cast::<PyBytes>() {
        return Ok(Value::Bytes(Cow::Borrowed(bytes.as_bytes())));
    }
    let kind = argument.get_type().name()?;
    Err(pyo3::exceptions::PyTypeError::new_err(format!(
        "{name} is passed as str in its text form or as bytes in its binary form, not as {kind}"
    )))
}
