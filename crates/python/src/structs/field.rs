//! The attributes of a class of structs.

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;

use super::definition::Definition;
use super::instance::Instance;

/// A field as an attribute of its class: it reads the field of an instance.
#[pyclass(frozen, module = "colonnade._core.structs")]
pub(crate) struct FieldDescriptor {
    definition: Py<Definition>,
    index: usize,
}

impl FieldDescriptor {
    fn name(&self) -> &str {
        let fields = self.definition.get().layout.fields();
        fields.get(self.index).map_or("", |field| &field.name)
    }

    fn refused(&self) -> PyErr {
        let (class, name) = (&self.definition.get().name, self.name());
        PyAttributeError::new_err(format!(
            "{class}.{name} cannot be changed: the instance is a view of its bytes; \
             replace({name}=...) makes another one"
        ))
    }
}

#[pymethods]
impl FieldDescriptor {
    #[new]
    fn new(definition: Py<Definition>, index: usize) -> Self {
        Self { definition, index }
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: &Bound<'py, PyAny>,
        _owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if instance.is_none() {
            return Ok(slf.clone().into_any());
        }
        let this = slf.get();
        match instance.cast::<Instance>() {
            Ok(instance) if instance.get().definition.is(&this.definition) => {
                instance.get().value(slf.py(), this.index)
            }
            _ => Err(PyTypeError::new_err(format!(
                "{:?} is a field of {}, not of {}",
                this.name(),
                this.definition.get().name,
                crate::class_names::full(&instance.get_type())
            ))),
        }
    }

    fn __set__(&self, _instance: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(self.refused())
    }

    fn __delete__(&self, _instance: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(self.refused())
    }

    fn __repr__(&self) -> String {
        let fields = self.definition.get().layout.fields();
        let kind = fields.get(self.index).map(|field| field.kind.to_string());
        format!("<field {}: {}>", self.name(), kind.unwrap_or_default())
    }
}
