//! Memory that Python and this module share.

pub(crate) mod buffer;
pub(crate) mod foreign_buffer;
