//! The kinds of waits at places that were seen before, because to explain one takes microseconds.

use std::collections::HashMap;

const DEPTH_MAX: usize = 30;
const PLACES_MAX: usize = 4096;

/// A chain of objects, each of which awaits the next.
pub struct Place<T> {
    /// Their addresses, which stay theirs as long as `objects` holds them.
    addresses: Vec<usize>,
    objects: Vec<T>,
}

impl<T> Default for Place<T> {
    fn default() -> Self {
        Self { addresses: Vec::new(), objects: Vec::new() }
    }
}

impl<T> Place<T> {
    /// Whether the chain is as long as it may be.
    pub fn is_full(&self) -> bool {
        self.addresses.len() >= DEPTH_MAX
    }

    /// Adds an object, which keeps its address as long as `object` holds it.
    pub fn push(&mut self, address: usize, object: T) {
        self.addresses.push(address);
        self.objects.push(object);
    }
}

/// Kinds by place.
pub struct KnownWaits<T> {
    kinds: HashMap<Vec<usize>, (u8, Vec<T>)>,
}

impl<T> Default for KnownWaits<T> {
    fn default() -> Self {
        Self { kinds: HashMap::new() }
    }
}

impl<T> KnownWaits<T> {
    /// The kind of the waits at a place.
    pub fn kind(&self, place: &Place<T>) -> Option<u8> {
        self.kinds.get(&place.addresses).map(|(kind, _)| *kind)
    }

    /// Adds a place, unless there are very many.
    pub fn add(&mut self, place: Place<T>, kind: u8) {
        if self.kinds.len() < PLACES_MAX {
            self.kinds.insert(place.addresses, (kind, place.objects));
        }
    }
}
