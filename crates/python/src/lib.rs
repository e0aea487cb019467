//! `colonnade._core`: the thin Python face of the Rust core.
//!
//! Classes pass calls on to the crates below, release the interpreter around decoding, and convert
//! Python values to parameters and neutral values to Python objects. The crates below interpret the
//! bytes; the Python package above defines the public API.

mod adbc;
mod allocator;
mod arrow_column;
mod arrow_import;
mod arrow_names;
mod arrow_series;
mod arrow_shape;
mod batch;
mod block;
mod buffer;
mod catalog;
mod class_names;
mod codecs;
mod column;
mod conninfo;
mod copy_records;
mod copy_rows;
mod create_types;
mod errors;
mod foreign_buffer;
mod foreign_column;
mod formats;
mod groups;
mod held;
mod inexact;
mod lanes;
mod moments;
mod numpy_import;
mod parameters;
#[cfg(target_os = "linux")]
mod pause_timer;
mod pg_type;
mod pump;
mod record;
mod rows;
mod session;
mod shown;
mod sink;
mod statement;
mod stopwatch;
mod structs;
mod times;
mod type_table;
mod values;
#[cfg(target_os = "linux")]
mod watch;

use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

#[global_allocator]
static MEMORY: allocator::ColumnMemory = allocator::ColumnMemory;

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
    module.add_class::<arrow_column::ArrowColumn>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<inexact::Inexact>()?;
    module.add_class::<batch::Field>()?;
    module.add_class::<block::BlockEnd>()?;
    module.add_class::<buffer::Buffer>()?;
    module.add_class::<buffer::ReceiveWindow>()?;
    module.add_class::<catalog::Catalogs>()?;
    module.add_class::<column::Column>()?;
    module.add_class::<copy_records::RecordEncoder>()?;
    module.add_class::<copy_rows::ArrowSource>()?;
    module.add_class::<copy_rows::CopyEncoder>()?;
    module.add_class::<session::ManyArguments>()?;

    module.add_class::<conninfo::ConnInfo>()?;
    module.add_class::<held::HeldRows>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<pause_timer::PauseTimer>()?;
    module.add_class::<pg_type::PgType>()?;
    module.add_class::<pump::Pump>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<session::Completion>()?;
    module.add_class::<session::CopyIn>()?;
    module.add_class::<session::GssToken>()?;
    module.add_class::<session::Notice>()?;
    module.add_class::<session::Notification>()?;
    module.add_class::<statement::Portal>()?;
    module.add_class::<statement::Statement>()?;
    module.add_class::<stopwatch::QueryTiming>()?;

    module.add_function(wrap_pyfunction!(check_interpreter, module)?)?;
    add_submodule(module, "formats", formats::fill)?;
    add_submodule(module, "groups", groups::fill)?;
    add_submodule(module, "lanes", lanes::fill)?;
    add_submodule(module, "selection", batch::selected::fill)?;
    add_submodule(module, "structs", structs::fill)?;
    record::add_to(module)?;
    #[cfg(target_os = "linux")]
    add_submodule(module, "watch", watch::fill)?;
    type_table::add_tables(module)?;
    parameters::add_functions(module)?;
    times::add_functions(module)?;
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
