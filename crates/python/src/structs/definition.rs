//! The definition of a class of structs: its fields, and how they are read and written.

use std::sync::Arc;

use colonnade_structs::{Blob, Fault, Field, Kind, Layout, Writer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType};

use super::face::{self, Face};
use super::instance::Instance;
use super::to_value::{of_items, to_value};
use super::{exception, from_value};
use crate::memory::foreign_buffer::copied;

/// The fields of a class of structs, in order.
#[pyclass(frozen, module = "colonnade._core.structs")]
pub(crate) struct Definition {
    pub(super) layout: Arc<Layout>,
    pub(super) faces: Vec<Face>,
    /// Interned, so that keyword arguments are found fast.
    names: Vec<Py<PyString>>,
    has_default: Vec<bool>,
    /// Names of arguments that are not fields.
    extras: Vec<String>,
    pub(super) name: String,
    class: PyOnceLock<Py<PyType>>,
}

impl Definition {
    pub(super) fn class<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyType>> {
        let class = self.class.get(py).map(|class| class.bind(py));
        class.ok_or_else(|| PyTypeError::new_err("the class is not complete yet"))
    }

    pub(super) fn exception(&self, py: Python<'_>, fault: &Fault) -> PyErr {
        exception(py, &self.name, fault)
    }

    /// Checks bytes, and makes an instance over them.
    pub(super) fn open<'py>(
        this: &Bound<'py, Self>,
        bytes: Bound<'py, PyBytes>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let definition = this.get();
        let parts = match Blob::open(&definition.layout, bytes.as_bytes()) {
            Ok(blob) => blob.parts(),
            Err(fault) => return Err(definition.exception(py, &fault)),
        };
        let instance = Instance::new(this.clone().unbind(), bytes.unbind(), parts);
        instance.into_object(definition.class(py)?)
    }

    /// The bytes of an instance with these values.
    pub(super) fn written(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<u8>> {
        if arguments.len() > self.names.len() {
            return Err(PyTypeError::new_err(format!(
                "{} has {} fields, and {} values were given",
                self.name,
                self.names.len(),
                arguments.len()
            )));
        }
        let mut writer = Writer::begin(&self.layout, Vec::new());
        let (given_count, mut used) = (arguments.len(), 0);
        let fields = self.layout.fields().iter().zip(&self.faces).zip(&self.names);
        for (index, ((field, face), name)) in fields.enumerate() {
            let named = match keywords {
                Some(keywords) => keywords.get_item(name.bind(py))?,
                None => None,
            };
            used += usize::from(named.is_some());
            let given = (index < given_count).then(|| arguments.get_borrowed_item(index));
            let given = given.transpose()?;
            match (&given, &named) {
                (Some(_), Some(_)) => {
                    let text = format!("{}: {:?} was given twice", self.name, field.name);
                    return Err(PyTypeError::new_err(text));
                }
                (Some(object), None) => self.push(&mut writer, face, field, object)?,
                (None, Some(object)) => self.push(&mut writer, face, field, object)?,
                (None, None) if self.has_default.get(index) == Some(&true) => {
                    let default = self.layout.default_value(index);
                    let pushed = default.and_then(|value| writer.push(&value));
                    pushed.map_err(|fault| self.exception(py, &fault))?;
                }
                (None, None) => return Err(self.missing(&field.name)),
            }
        }
        if let Some(keywords) = keywords
            && keywords.len() > used
        {
            self.refuse_unknown(keywords)?;
        }
        writer.finish().map_err(|fault| self.exception(py, &fault))
    }

    #[inline]
    fn push(
        &self,
        writer: &mut Writer<'_>,
        face: &Face,
        field: &Field,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = object.py();
        let pushed = match (face, &field.kind) {
            (Face::List(face), Kind::List { element, .. })
                if matches!(**face, Face::Plain) && object.is_exact_instance_of::<PyList>() =>
            {
                let items: Vec<_> = object.cast::<PyList>()?.iter().collect();
                of_items(element, &items).map(|value| writer.push(&value))
            }
            (face, kind) => to_value(kind, face, object).map(|value| writer.push(&value)),
        };
        match pushed {
            Ok(Ok(())) => Ok(()),
            Ok(Err(fault)) => Err(self.exception(py, &fault)),
            Err(refusal) => Err(refusal.into_error(py, &self.name, &field.name)),
        }
    }

    fn missing(&self, name: &str) -> PyErr {
        let (class, names) = (&self.name, self.layout.names());
        PyTypeError::new_err(format!("{class} needs {name:?}; its fields are {names}"))
    }

    fn refuse_unknown(&self, keywords: &Bound<'_, PyDict>) -> PyResult<()> {
        for (name, _) in keywords {
            let name: String = name.extract()?;
            if self.layout.index_of(&name).is_none() && !self.extras.contains(&name) {
                let (class, names) = (&self.name, self.layout.names());
                let text = format!("{class} has no field {name:?}; its fields are {names}");
                return Err(PyTypeError::new_err(text));
            }
        }
        Ok(())
    }
}

/// A field: name, type, whether it is optional, whether it has a default, and that.
type FieldSpec<'py> = (String, Bound<'py, PyAny>, bool, bool, Bound<'py, PyAny>);

#[pymethods]
impl Definition {
    /// Places the fields. Raises StructError for fields that cannot be placed, and for a default
    /// that its field does not take.
    #[new]
    fn new(
        py: Python<'_>,
        name: String,
        specs: Vec<FieldSpec<'_>>,
        extras: Vec<String>,
    ) -> PyResult<Self> {
        let (mut fields, mut faces, mut names) = (Vec::new(), Vec::new(), Vec::new());
        let mut has_default = Vec::new();
        for (field, spec, optional, is_given, _) in &specs {
            let (kind, face) = face::read(spec)?;
            let can_be_missing = *optional || *is_given;
            names.push(PyString::intern(py, field).unbind());
            fields.push(Field { name: field.clone(), kind, optional: *optional, can_be_missing });
            faces.push(face);
            has_default.push(*is_given);
        }
        let layout = Layout::new(fields).map_err(|fault| exception(py, &name, &fault))?;
        let made = Self {
            layout: Arc::new(layout),
            faces,
            names,
            has_default,
            extras,
            name,
            class: PyOnceLock::new(),
        };
        let mut writer = Writer::begin(&made.layout, Vec::new());
        let fields = made.layout.fields().iter().zip(&made.faces);
        for ((field, face), (_, _, _, is_given, default)) in fields.zip(&specs) {
            if *is_given {
                made.push(&mut writer, face, field, default)?;
            } else {
                writer.skip();
            }
        }
        let defaults = writer.finish().map_err(|fault| made.exception(py, &fault))?;
        let layout = Layout::clone(&made.layout).with_defaults(defaults);
        Ok(Self { layout: Arc::new(layout), ..made })
    }

    /// Completes the definition with the class of its instances.
    fn complete(&self, class: &Bound<'_, PyType>) -> PyResult<()> {
        self.class
            .set(class.py(), class.clone().unbind())
            .map_err(|_| PyValueError::new_err("the class is complete already"))
    }

    /// The names of the fields.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.layout.fields().iter().map(|field| field.name.as_str()).collect()
    }

    /// The names of the fields' types, in the way of the hash.
    #[getter]
    fn types(&self) -> Vec<String> {
        let mark = |optional| if optional { "?" } else { "" };
        let fields = self.layout.fields().iter();
        fields.map(|field| format!("{}{}", field.kind, mark(field.optional))).collect()
    }

    /// The position of each field's slot, and the position of its flag in bits; None for a field
    /// that always has a value.
    #[getter]
    fn places(&self) -> Vec<(usize, Option<usize>, Option<usize>)> {
        let places = (0..self.layout.fields().len()).filter_map(|index| self.layout.field(index));
        places
            .map(|(_, place)| {
                let flag = place.flag.map(|(byte, bit)| 8 * byte + usize::from(bit));
                (place.slot, flag, place.previous_end)
            })
            .collect()
    }

    /// The hash of the first fields, as many as are asked for.
    fn hash_of(&self, count: usize) -> PyResult<u64> {
        let hash = self.layout.hash(count);
        hash.ok_or_else(|| PyValueError::new_err("there are fewer fields"))
    }

    /// The fewest fields of a blob that can be read.
    #[getter]
    fn required(&self) -> usize {
        self.layout.required()
    }

    /// The start of each blob, up to the tail.
    #[getter]
    fn template<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.layout.template())
    }

    /// The end of the fixed part.
    #[getter]
    fn fixed_end(&self) -> usize {
        self.layout.fixed_end()
    }

    /// The value of a field in older blobs, as a Python object.
    fn default_of<'py>(this: &Bound<'py, Self>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let bytes = PyBytes::new(py, this.get().layout.default_bytes());
        let parts = (this.get().layout.fields().len(), this.get().layout.template().len());
        from_value::of_field(this, &bytes, parts, index)
    }

    fn __repr__(&self) -> String {
        format!("<Definition of {} with {} fields>", self.name, self.names.len())
    }
}

/// Opens the bytes of a struct: `Facts.from_bytes`.
#[pyclass(frozen, module = "colonnade._core.structs")]
pub(crate) struct Opener(Py<Definition>);

#[pymethods]
impl Opener {
    #[new]
    fn new(definition: Py<Definition>) -> Self {
        Self(definition)
    }

    /// An instance over these bytes. Other buffers than `bytes` may change, so they are copied.
    #[pyo3(signature = (data, /))]
    fn __call__<'py>(&self, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let definition = self.0.bind(data.py());
        if let Ok(bytes) = data.cast_exact::<PyBytes>() {
            return Definition::open(definition, bytes.clone());
        }
        let buffer = match pyo3::buffer::PyBuffer::<u8>::get(data) {
            Ok(buffer) => copied(&buffer, data.py())?,
            Err(_) => {
                let class = crate::class_names::full(&data.get_type());
                return Err(PyTypeError::new_err(format!(
                    "{}.from_bytes takes bytes, not {class}",
                    definition.get().name
                )));
            }
        };
        Definition::open(definition, PyBytes::new(data.py(), &buffer))
    }

    fn __repr__(&self) -> String {
        format!("<method from_bytes of {}>", self.0.get().name)
    }
}
