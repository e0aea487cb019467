//! Locks of objects that several threads may use.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Waits for the lock. A panic of an earlier holder is no reason to refuse: what these locks guard
/// is whole between any two steps.
pub(crate) fn locked<T: ?Sized>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As `locked`, without waiting; None if another call holds the lock.
pub(crate) fn locked_at_once<T: ?Sized>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match lock.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
