//! Objects on the server (statements and portals) that are closed when their last user drops them.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use colonnade_protocol::frontend;

/// The kind of object that a Close message names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Statement,
    Portal,
}

/// A name on the server. Dropping the lease lets the server close the object, together with the
/// next exchange of the session; if there is none, the object ends with the session.
#[derive(Debug)]
pub(crate) struct Lease {
    target: Target,
    name: String,
    /// Tells this lease from another one of the same name.
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

/// The names dropped since the last exchange began. A lease may be dropped on any thread, even
/// while the session is at work.
#[derive(Clone, Default, Debug)]
pub(crate) struct Returned(Arc<Mutex<Names>>);

#[derive(Default, Debug)]
struct Names {
    dropped: Vec<(Target, String, u64)>,
    /// The latest lease of each statement name. An older lease names a statement that the server
    /// has already forgotten: it would not have given the name away twice.
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

    /// Writes the Close messages. Their answers may come at any time.
    pub(crate) fn close(&self, out: &mut Vec<u8>) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.dropped.is_empty() {
            return;
        }
        for (target, name, number) in mem::take(&mut names.dropped) {
            // The name has no NUL, as it was sent before, so encoding cannot fail.
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
