//! Work on columns in Arrow's layout: rows chosen by a mask or by their positions, groups of
//! rows with equal keys.
//!
//! The crate does no I/O, and knows neither connections nor Python. The kernels are arrow-rs' own
//! wherever they keep the value in the slot of a NULL, which NumPy reads as its missing value.

pub mod grouping;
pub mod null_slots;
pub mod selection;
