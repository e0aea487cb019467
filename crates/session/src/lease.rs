//! What the server keeps for somebody, and forgets when nobody has it any more.

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
            self.returned.take((self.target, mem::take(&mut self.name)));
        }
    }
}

/// The names that were dropped since the last exchange began. They may be dropped anywhere, also
/// while the session is at work.
#[derive(Clone, Default, Debug)]
pub(crate) struct Returned(Arc<Mutex<Vec<(Target, String)>>>);

impl Returned {
    pub(crate) fn lease(&self, target: Target, name: String) -> Lease {
        Lease { target, name, returned: self.clone() }
    }

    fn take(&self, dropped: (Target, String)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(dropped);
    }

    /// Writes the Close messages. Their answers are expected at any time.
    pub(crate) fn close(&self, out: &mut Vec<u8>) {
        let dropped = {
            let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if names.is_empty() {
                return;
            }
            mem::take(&mut *names)
        };
        for (target, name) in dropped {
            // A name without NUL cannot fail to encode: it was sent before.
            let _ = match target {
                Target::Statement => frontend::close_statement(out, &name),
                Target::Portal => frontend::close_portal(out, &name),
            };
        }
    }
}
