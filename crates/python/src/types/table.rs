//! The tables of types for Python: the documentation and its tests are made from them.

use colonnade_columnar::PgType;
use colonnade_columnar::types::{EXTENSION_TYPES, RANGES, TYPES};
use colonnade_protocol::Format;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A type's line in the table.
#[pyclass(frozen, get_all, module = "colonnade._core")]
pub(crate) struct TypeLine {
    /// PostgreSQL's own name, as in `pg_type`.
    name: &'static str,
    /// 0 for an extension type, whose OID differs between databases.
    oid: u32,
    /// 0 for none.
    array_oid: u32,
    /// The name of the send function; empty for none.
    send: &'static str,
    /// Its Arrow type, for documentation.
    arrow: &'static str,
    /// The neutral value of its rows: "Bool", "Int" and so on.
    kind: String,
    /// Whether its values are numbers, which have a sum and a mean.
    is_number: bool,
    /// How its values are compared: "Ordered", "Padded", "EqualityOnly" or "Neither".
    comparison: String,
    /// The length in bytes of its binary format; None if values differ in it.
    width: Option<usize>,
    /// The Arrow types that a schema may request instead.
    casts: Vec<&'static str>,
    /// Whether a parameter is sent in its text format.
    is_sent_as_text: bool,
}

impl From<&PgType> for TypeLine {
    fn from(line: &PgType) -> Self {
        Self {
            name: line.name,
            oid: line.oid,
            array_oid: line.array_oid,
            send: line.send,
            arrow: line.arrow,
            kind: format!("{:?}", line.kind),
            is_number: line.kind.is_number(),
            comparison: format!("{:?}", line.comparison),
            width: line.width,
            casts: line.casts.to_vec(),
            is_sent_as_text: line.parameter == Format::Text,
        }
    }
}

#[pymethods]
impl TypeLine {
    fn __repr__(&self) -> String {
        format!("<TypeLine {}>", self.name)
    }
}

/// Adds the tables: the types, and for each range its name, its multirange's name, and five OIDs.
pub(crate) fn add_tables(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<TypeLine>()?;
    module.add("TYPES", PyTuple::new(py, TYPES.iter().map(TypeLine::from))?)?;
    module.add("EXTENSION_TYPES", PyTuple::new(py, EXTENSION_TYPES.iter().map(TypeLine::from))?)?;
    let ranges = RANGES.iter().map(|line| {
        let oids = (line.oid, line.array_oid, line.multirange_oid, line.multirange_array_oid);
        (line.name, line.multirange_name, line.subtype, oids)
    });
    module.add("RANGES", PyTuple::new(py, ranges)?)
}
