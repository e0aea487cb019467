//! Memory that Python and this module share, and where it comes from.

pub(crate) mod allocator;
pub(crate) mod buffer;
pub(crate) mod foreign_buffer;
