//! Values that callers give, before they are encoded: their shape, their place in a message, their
//! units of time, and their limits.

mod array_shape;
mod codec_parts;
mod date_limits;
mod float_limits;
mod path;
mod size;
mod time_units;

pub use array_shape::{ArrayShape, Containers, ShapeError};
pub use codec_parts::{Parts, parts_of, value_of};
pub use date_limits::{
    days_and_rest, infinite_day, infinite_moment, no_infinity, no_interval_infinity, timedelta_of,
    year_of_class,
};
pub use float_limits::{float4, nearest_float4};
pub use path::{Path, Step, indices};
pub use size::{TooLarge, check_array_elements, check_value_bytes};
pub use time_units::{Time, TimeError, Unit};
