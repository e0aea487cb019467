//! Bit strings, network addresses and geometric types.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use colonnade_columnar::{Bits, Network, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use super::scalars::float;
use super::sequences::sized_items;
use super::{expected, scalars};
use crate::values::classes;

pub(super) fn bits<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let py = argument.py();
    let class = classes::BIT_STRING.get(py)?;
    let made = if argument.is_instance_of::<PyString>() {
        class.call1((argument,))?
    } else {
        argument.clone()
    };
    // Bit strings of other libraries have the same attributes.
    let (len, bytes) = match made.getattr_opt("bytes")? {
        Some(bytes) => (made.len()?, bytes),
        None => match scalars::bytes(&made) {
            Ok(bytes) => (bytes.len() * 8, PyBytes::new(py, &bytes).into_any()),
            Err(_) => return expected("a BitString, or a str of 0 and 1", argument),
        },
    };
    Ok(Value::Bits(Bits { len, bytes: Cow::Owned(bytes.extract::<Vec<u8>>()?) }))
}

/// The address or network from a text or an object; None for other objects.
fn parsed<'py>(argument: &Bound<'py, PyAny>, is_cidr: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Ok(text) = argument.cast::<PyString>() {
        let parse = if is_cidr { "ip_network" } else { "ip_interface" };
        let parse = PyModule::import(argument.py(), "ipaddress")?.getattr(parse)?;
        return parse.call1((text.to_str()?,)).map(Some);
    }
    for part in ["packed", "network", "network_address"] {
        if argument.hasattr(part)? {
            return Ok(Some(argument.clone()));
        }
    }
    Ok(None)
}

pub(super) fn network<'a>(argument: &Bound<'_, PyAny>, is_cidr: bool) -> PyResult<Value<'a>> {
    const EXPECTED: &str = "an address of ipaddress, or a str";
    // No address is longer, and Python's error would repeat the text.
    const CHARACTERS_MOST: usize = 100;
    if argument.is_instance_of::<PyString>() && argument.len()? > CHARACTERS_MOST {
        return Err(PyValueError::new_err("the text is too long to be an address"));
    }
    let Some(made) = parsed(argument, is_cidr)? else { return expected(EXPECTED, argument) };
    if made.str()?.to_str()?.contains('%') {
        return Err(PyValueError::new_err("PostgreSQL's addresses have no scope"));
    }
    // An interface has an address, a network its first address, and an address is one itself.
    let (address, prefix) = if let Some(network) = made.getattr_opt("network")? {
        let prefix: u8 = network.getattr("prefixlen")?.extract()?;
        if is_cidr && made.getattr("ip")?.ne(network.getattr("network_address")?)? {
            return Err(PyValueError::new_err(format!("{} has host bits set", made.str()?)));
        }
        (made.getattr("ip")?, Some(prefix))
    } else if let Some(first) = made.getattr_opt("network_address")? {
        (first, Some(made.getattr("prefixlen")?.extract()?))
    } else {
        (made, None)
    };
    let Some(packed) = address.getattr_opt("packed")? else { return expected(EXPECTED, argument) };
    let address = if let Ok(bytes) = packed.extract::<[u8; 4]>() {
        IpAddr::V4(Ipv4Addr::from(bytes))
    } else if let Ok(bytes) = packed.extract::<[u8; 16]>() {
        IpAddr::V6(Ipv6Addr::from(bytes))
    } else {
        return expected(EXPECTED, argument);
    };
    let prefix = prefix.unwrap_or(if address.is_ipv4() { 32 } else { 128 });
    Ok(Value::Network(Network { address, prefix, is_cidr }))
}

/// The items of a sequence of the given length.
fn parts<'py, const N: usize>(
    argument: &Bound<'py, PyAny>,
    what: &str,
) -> PyResult<[Bound<'py, PyAny>; N]> {
    let items = if let Ok(tuple) = argument.cast::<PyTuple>() {
        tuple.iter().collect::<Vec<_>>()
    } else if argument.is_instance_of::<PyList>() || argument.hasattr("__array_interface__")? {
        // One more item shows that there are too many; an array may be larger than memory.
        argument.try_iter()?.take(N + 1).collect::<PyResult<Vec<_>>>()?
    } else {
        return expected(what, argument);
    };
    let given = argument.len()?;
    items.try_into().map_err(|_: Vec<_>| {
        PyValueError::new_err(format!("expected {what}, got a sequence of {given}"))
    })
}

pub(super) fn point(argument: &Bound<'_, PyAny>) -> PyResult<[f64; 2]> {
    let [x, y] = parts(argument, "a point (x, y)")?;
    Ok([float(&x)?, float(&y)?])
}

pub(super) fn line<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let [a, b, c] = parts(argument, "a line (A, B, C)")?;
    Ok(Value::Line([float(&a)?, float(&b)?, float(&c)?]))
}

/// Two end points or two corners.
pub(super) fn two_points(argument: &Bound<'_, PyAny>) -> PyResult<[f64; 4]> {
    let [first, second] = parts(argument, "two points ((x, y), (x, y))")?;
    let ([x1, y1], [x2, y2]) = (point(&first)?, point(&second)?);
    Ok([x1, y1, x2, y2])
}

pub(super) fn circle<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let [center, radius] = parts(argument, "a circle ((x, y), radius)")?;
    let [x, y] = point(&center)?;
    Ok(Value::Circle([x, y, float(&radius)?]))
}

/// A path; as in asyncpg, a plain list is open and a plain tuple is closed.
pub(super) fn path<'a>(argument: &Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    let is_closed = match argument.getattr_opt("is_closed")? {
        Some(flag) => flag.extract()?,
        None => argument.is_instance_of::<PyTuple>(),
    };
    Ok(Value::Path { is_closed, points: points(argument)? })
}

pub(super) fn points(argument: &Bound<'_, PyAny>) -> PyResult<Vec<[f64; 2]>> {
    const WHAT: &str = "a sequence of points (x, y)";
    if argument.is_instance_of::<PyString>() {
        return expected(WHAT, argument);
    }
    let items = sized_items(argument, WHAT, size_of::<[f64; 2]>())?;
    let points = items.iter().map(point).collect::<PyResult<Vec<_>>>()?;
    if points.is_empty() {
        return Err(PyTypeError::new_err("expected at least one point"));
    }
    Ok(points)
}
