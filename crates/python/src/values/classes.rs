//! The Python classes of values, each looked up once.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A class of the standard library or of `colonnade.types`.
pub(crate) struct Class {
    module: &'static str,
    name: &'static str,
    found: PyOnceLock<Py<PyAny>>,
}

impl Class {
    const fn new(module: &'static str, name: &'static str) -> Self {
        Self { module, name, found: PyOnceLock::new() }
    }

    pub(crate) fn get<'py>(&'static self, py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
        let import = || PyModule::import(py, self.module)?.getattr(self.name).map(Bound::unbind);
        Ok(self.found.get_or_try_init(py, import)?.bind(py))
    }

    pub(crate) fn is_instance(&'static self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        object.is_instance(self.get(object.py())?)
    }
}

pub(crate) static DATETIME: Class = Class::new("datetime", "datetime");
pub(crate) static DECIMAL: Class = Class::new("decimal", "Decimal");
pub(crate) static ENUM: Class = Class::new("enum", "Enum");
pub(crate) static MAPPING: Class = Class::new("collections.abc", "Mapping");
pub(crate) static NUMBER: Class = Class::new("numbers", "Number");
pub(crate) static SEQUENCE: Class = Class::new("collections.abc", "Sequence");
pub(crate) static TIME: Class = Class::new("datetime", "time");
pub(crate) static TIMEZONE: Class = Class::new("datetime", "timezone");
pub(crate) static UUID: Class = Class::new("uuid", "UUID");
pub(crate) static ZONE_INFO: Class = Class::new("zoneinfo", "ZoneInfo");

pub(crate) static IPV4_ADDRESS: Class = Class::new("ipaddress", "IPv4Address");
pub(crate) static IPV4_INTERFACE: Class = Class::new("ipaddress", "IPv4Interface");
pub(crate) static IPV4_NETWORK: Class = Class::new("ipaddress", "IPv4Network");
pub(crate) static IPV6_ADDRESS: Class = Class::new("ipaddress", "IPv6Address");
pub(crate) static IPV6_INTERFACE: Class = Class::new("ipaddress", "IPv6Interface");
pub(crate) static IPV6_NETWORK: Class = Class::new("ipaddress", "IPv6Network");

pub(crate) static BIT_STRING: Class = Class::new("colonnade.types", "BitString");
pub(crate) static BOX: Class = Class::new("colonnade.types", "Box");
pub(crate) static CIRCLE: Class = Class::new("colonnade.types", "Circle");
pub(crate) static LINE: Class = Class::new("colonnade.types", "Line");
pub(crate) static LINE_SEGMENT: Class = Class::new("colonnade.types", "LineSegment");
pub(crate) static PATH: Class = Class::new("colonnade.types", "Path");
pub(crate) static POINT: Class = Class::new("colonnade.types", "Point");
pub(crate) static POLYGON: Class = Class::new("colonnade.types", "Polygon");
pub(crate) static RANGE: Class = Class::new("colonnade.types", "Range");
pub(crate) static TEXT_VALUE: Class = Class::new("colonnade.types", "TextValue");
