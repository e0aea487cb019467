//! What the server keeps for somebody, and forgets when nobody has it any more.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use colonnade_protocol::frontend;

/// What a Close message names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Statement,
    Portal,
}

/// A name on the server. Dropping it lets the server close what it names, with the next exchange
/// that the session begins; a session that begins none takes it along when it ends.
#[derive(Debug)]
pub(crate) struct Lease {
    target: Target,
    name: String,
    /// Tells it from another lease of the same name.
    number: u64,
    returned: Returned,
}

impl Lease {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            self.returned.take((self.target, mem::take(&mut self.name), self.number));
        }
    }
}

/// The names that were dropped since the last exchange began. They may be dropped anywhere, also
/// while the session is at work.
#[derive(Clone, Default, Debug)]
pub(crate) struct Returned(Arc<Mutex<Names>>);

#[derive(Default, Debug)]
struct Names {
    dropped: Vec<(Target, String, u64)>,
    /// The last lease of a statement's name. An older one names what the server has forgotten: it
    /// would not have given the name away twice.
    owners: HashMap<String, u64>,
    leases_made: u64,
}

impl Returned {
    pub(crate) fn lease(&self, target: Target, name: String) -> Lease {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.leases_made += 1;
        let number = names.leases_made;
        if target == Target::Statement && !name.is_empty() {
            names.owners.insert(name.clone(), number);
        }
        Lease { target, name, number, returned: self.clone() }
    }

    fn take(&self, dropped: (Target, String, u64)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).dropped.push(dropped);
    }

    /// Writes the Close messages. Their answers are expected at any time.
    pub(crate) fn close(&self, out: &mut Vec<u8>) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.dropped.is_empty() {
            return;
        }
        for (target, name, number) in mem::take(&mut names.dropped) {
            // A name without NUL cannot fail to encode: it was sent before.
            let _ = match target {
                Target::Portal => frontend::close_portal(out, &name),
                Target::Statement if names.owners.get(&name) == Some(&number) => {
                    names.owners.remove(&name);
                    frontend::close_statement(out, &name)
                }
                Target::Statement => continue,
            };
        }
    }
}
