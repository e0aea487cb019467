//! `colonnade._core`: the thin Python face of the Rust core.
//!
//! Classes pass calls on to the crates below, release the interpreter around decoding, and convert
//! Python values to parameters and neutral values to Python objects. The crates below interpret the
//! bytes; the Python package above defines the public API.

mod adbc;
mod arrow;
mod batch;
mod block;
mod class_names;
mod column;
mod copy;
mod errors;
mod formats;
mod groups;
mod held;
mod locks;
mod memory;
mod observe;
mod parameters;
mod record;
mod rows;
mod session;
mod shown;
mod structs;
mod types;
mod values;

use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

#[global_allocator]
static MEMORY: colonnade_memory::ColumnMemory = colonnade_memory::ColumnMemory;

/// Raises ImportError in every interpreter of the process except the first that imported the
/// module: the objects that are made once, such as classes, belong to that one. Older versions of
/// Python copy a module into another interpreter without calling it, so the package has to.
#[pyfunction]
fn check_interpreter(py: Python<'_>) -> PyResult<()> {
    static OWNER: AtomicUsize = AtomicUsize::new(0);
    // Each interpreter has its own `sys` module for its whole life.
    let own = PyModule::import(py, "sys")?.as_ptr().addr();
    match OWNER.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Err(owner) if owner != own => Err(PyImportError::new_err(
            "colonnade does not support subinterpreters: another interpreter of this process has \
             imported it",
        )),
        _ => Ok(()),
    }
}

#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("__build_profile__", build_profile())?;
    module.add("ChangedError", module.py().get_type::<parameters::ChangedError>())?;
    module.add_class::<copy::column::ArrowColumn>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<values::inexact::Inexact>()?;
    module.add_class::<batch::Field>()?;
    module.add_class::<block::BlockEnd>()?;
    module.add_class::<memory::buffer::Buffer>()?;
    module.add_class::<memory::buffer::ReceiveWindow>()?;
    module.add_class::<types::catalog::Catalogs>()?;
    module.add_class::<column::Column>()?;
    module.add_class::<copy::records::RecordEncoder>()?;
    module.add_class::<copy::rows::ArrowSource>()?;
    module.add_class::<copy::rows::CopyEncoder>()?;
    module.add_class::<session::ManyArguments>()?;

    module.add_class::<session::conninfo::ConnInfo>()?;
    module.add_class::<held::HeldRows>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<observe::pause_timer::PauseTimer>()?;
    module.add_class::<types::pg_type::PgType>()?;
    module.add_class::<session::transport_base::TransportBase>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<session::Completion>()?;
    module.add_class::<session::CopyIn>()?;
    module.add_class::<session::GssToken>()?;
    module.add_class::<session::Notice>()?;
    module.add_class::<session::Notification>()?;
    module.add_class::<session::statement::Portal>()?;
    module.add_class::<session::statement::Statement>()?;
    module.add_class::<observe::stopwatch::QueryTiming>()?;

    module.add_function(wrap_pyfunction!(check_interpreter, module)?)?;
    add_submodule(module, "formats", formats::fill)?;
    add_submodule(module, "groups", groups::fill)?;
    add_submodule(module, "timeline", observe::timeline::fill)?;
    add_submodule(module, "selection", batch::selected::fill)?;
    add_submodule(module, "structs", structs::fill)?;
    record::add_to(module)?;
    #[cfg(target_os = "linux")]
    add_submodule(module, "watch", observe::watch::fill)?;
    types::table::add_tables(module)?;
    parameters::add_functions(module)?;
    values::times::add_functions(module)?;
    session::add_functions(module)
}

/// Cargo's profile of this build, on which every figure depends. Cargo tells a crate only whether
/// it is a debug build; the Makefile names the others.
fn build_profile() -> &'static str {
    if cfg!(debug_assertions) {
        return "debug";
    }
    option_env!("COLONNADE_PROFILE").unwrap_or("release")
}

/// Adds a module that can be imported like any other.
fn add_submodule(
    parent: &Bound<'_, PyModule>,
    name: &str,
    fill: fn(&Bound<'_, PyModule>) -> PyResult<()>,
) -> PyResult<()> {
    let py = parent.py();
    let module = PyModule::new(py, name)?;
    fill(&module)?;
    parent.add_submodule(&module)?;
    let whole_name = format!("colonnade._core.{name}");
    module.setattr("__name__", &whole_name)?;
    py.import("sys")?.getattr("modules")?.set_item(whole_name, module)
}
