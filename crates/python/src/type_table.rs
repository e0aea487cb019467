//! The tables of types as Python sees them: what the documentation and its tests are made of.

use colonnade_columnar::PgType;
use colonnade_columnar::types::{EXTENSION_TYPES, RANGES, TYPES};
use colonnade_protocol::Format;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A type's line in the table.
#[pyclass(frozen, get_all, module = "colonnade._core")]
pub(crate) struct TypeLine {
    /// PostgreSQL's own name, as `pg_type` has it.
    name: &'static str,
    /// 0 for a type of an extension, which has another one in every database.
    oid: u32,
    /// 0 where there is none.
    array_oid: u32,
    /// Name of the function that writes the binary form; empty where there is none.
    send: &'static str,
    /// Its Arrow type, for people.
    arrow: &'static str,
    /// Which neutral value its rows give: "Bool", "Int" and so on.
    kind: String,
    /// The Arrow types that a schema may ask for instead.
    casts: Vec<&'static str>,
    /// Whether a parameter is sent in its text form.
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

/// Adds the tables: lines of types, and of each range its name, its multirange's, and five OIDs.
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
