//! Bit strings, network addresses and geometric types: classes of `colonnade.types` and
//! `ipaddress`.

use std::net::IpAddr;

use colonnade_columnar::{Bits, Network};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyTuple};

use super::classes::{self, Class};

pub(super) fn bits(py: Python<'_>, bits: &Bits<'_>) -> PyResult<Py<PyAny>> {
    let bytes = PyBytes::new(py, &bits.bytes);
    let made = classes::BIT_STRING.get(py)?.call_method1("frombytes", (bytes, bits.len))?;
    Ok(made.unbind())
}

/// A host's address, an address with its network, or a network: three classes of `ipaddress`.
pub(super) fn network(py: Python<'_>, network: &Network) -> PyResult<Py<PyAny>> {
    let Network { address, prefix, is_cidr } = *network;
    let (number, alone, [host, interface, of_network]) = match address {
        IpAddr::V4(address) => (
            u32::from(address).into_pyobject(py)?.into_any(),
            32,
            [&classes::IPV4_ADDRESS, &classes::IPV4_INTERFACE, &classes::IPV4_NETWORK],
        ),
        IpAddr::V6(address) => (
            u128::from(address).into_pyobject(py)?.into_any(),
            128,
            [&classes::IPV6_ADDRESS, &classes::IPV6_INTERFACE, &classes::IPV6_NETWORK],
        ),
    };
    let made = match (is_cidr, prefix == alone) {
        (true, _) => of_network.get(py)?.call1(((number, prefix),)),
        (false, false) => interface.get(py)?.call1(((number, prefix),)),
        (false, true) => host.get(py)?.call1((number,)),
    };
    made.map(Bound::unbind)
}

/// A geometric value made of numbers.
pub(super) fn of_numbers<const N: usize>(
    py: Python<'_>,
    class: &'static Class,
    numbers: [f64; N],
) -> PyResult<Py<PyAny>> {
    class.get(py)?.call1(PyTuple::new(py, numbers)?).map(Bound::unbind)
}

/// A geometric value made of two points.
pub(super) fn of_points(
    py: Python<'_>,
    class: &'static Class,
    [x1, y1, x2, y2]: [f64; 4],
) -> PyResult<Py<PyAny>> {
    class.get(py)?.call1(((x1, y1), (x2, y2))).map(Bound::unbind)
}

pub(super) fn circle(py: Python<'_>, [x, y, radius]: [f64; 3]) -> PyResult<Py<PyAny>> {
    classes::CIRCLE.get(py)?.call1(((x, y), radius)).map(Bound::unbind)
}

pub(super) fn path(py: Python<'_>, is_closed: bool, points: &[[f64; 2]]) -> PyResult<Py<PyAny>> {
    let keywords = [("is_closed", is_closed)].into_py_dict(py)?;
    let points = PyTuple::new(py, points.iter().map(|[x, y]| (*x, *y)))?;
    classes::PATH.get(py)?.call(points, Some(&keywords)).map(Bound::unbind)
}

pub(super) fn polygon(py: Python<'_>, points: &[[f64; 2]]) -> PyResult<Py<PyAny>> {
    let points = PyTuple::new(py, points.iter().map(|[x, y]| (*x, *y)))?;
    classes::POLYGON.get(py)?.call1(points).map(Bound::unbind)
}
