//! The data that COPY sends: records, columns, Arrow data.

pub(crate) mod column;
pub(crate) mod records;
pub(crate) mod rows;
