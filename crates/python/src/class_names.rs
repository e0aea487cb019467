//! The names of classes.
//!
//! The name is read through `type` itself, because a metaclass may override it: naming a class runs
//! none of its code.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

/// The module; None if the class has none.
pub(crate) fn module<'py>(class: &Bound<'py, PyType>) -> Option<Bound<'py, PyString>> {
    let py = class.py();
    let plain = py.get_type::<PyType>();
    let name = intern!(py, "__module__");
    let found = if class.get_type().is(&plain) {
        class.getattr(name)
    } else {
        let of_type = plain.getattr(intern!(py, "__dict__")).and_then(|all| all.get_item(name));
        of_type.and_then(|getter| getter.call_method1(intern!(py, "__get__"), (class,)))
    };
    found.ok()?.cast_into_exact().ok()
}

/// Whether a class belongs to a package, in any of its modules.
pub(crate) fn is_of(class: &Bound<'_, PyType>, package: &str) -> bool {
    let Some(module) = module(class) else { return false };
    module.to_str().is_ok_and(|module| module.split('.').next() == Some(package))
}

/// The name with its module, except for builtins.
pub(crate) fn full(class: &Bound<'_, PyType>) -> String {
    let Ok(name) = class.qualname() else { return "an unnamed class".to_owned() };
    match module(class) {
        Some(module) if module != "builtins" && module != "__main__" => format!("{module}.{name}"),
        _ => name.to_string(),
    }
}
