//! Arrow data of other libraries, and NumPy's as Arrow.

pub(crate) mod create_types;
pub(crate) mod foreign_column;
pub(crate) mod import;
pub(crate) mod moments;
pub(crate) mod names;
pub(crate) mod numpy_import;
pub(crate) mod series;
pub(crate) mod shape;
