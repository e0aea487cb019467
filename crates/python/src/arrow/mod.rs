//! Arrow data of other libraries, and NumPy's as Arrow.

pub(crate) mod import;
pub(crate) mod moments;
pub(crate) mod numpy_import;
pub(crate) mod series;
