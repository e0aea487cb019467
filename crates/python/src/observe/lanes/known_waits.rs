//! The kinds of waits at places that were seen before, because to explain one takes microseconds.

use std::collections::HashMap;

use pyo3::prelude::*;

const DEPTH_MAX: usize = 30;
const PLACES_MAX: usize = 4096;

/// A chain of code objects that await each other, and what the last one awaits.
#[derive(Default)]
pub(super) struct Place {
    /// Their addresses, which stay theirs as long as `objects` holds them.
    addresses: Vec<usize>,
    objects: Vec<Py<PyAny>>,
}

impl Place {
    pub(super) fn is_full(&self) -> bool {
        self.addresses.len() >= DEPTH_MAX
    }

    pub(super) fn push(&mut self, object: Bound<'_, PyAny>) {
        self.addresses.push(object.as_ptr().addr());
        self.objects.push(object.unbind());
    }
}

/// Kinds by place.
#[derive(Default)]
pub(super) struct KnownWaits {
    kinds: HashMap<Vec<usize>, (u8, Vec<Py<PyAny>>)>,
}

impl KnownWaits {
    pub(super) fn kind(&self, place: &Place) -> Option<u8> {
        self.kinds.get(&place.addresses).map(|(kind, _)| *kind)
    }

    /// Adds a place, unless there are very many.
    pub(super) fn add(&mut self, place: Place, kind: u8) {
        if self.kinds.len() < PLACES_MAX {
            self.kinds.insert(place.addresses, (kind, place.objects));
        }
    }
}
