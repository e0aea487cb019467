//! Plans that an owner derives from a statement's columns, kept as long as the statement.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use colonnade_columnar::ResultColumn;

/// With fewer plans, those of dropped statements are not looked for.
const PLANS_MIN: usize = 16;

/// Plans by the address of the columns that they are for.
///
/// Plans of dropped statements are removed whenever the number of plans has doubled, so it stays in
/// proportion to the statements in use.
#[derive(Debug)]
pub struct ColumnPlans<T> {
    plans: HashMap<usize, (Weak<[ResultColumn]>, Arc<T>)>,
    remove_at: usize,
}

impl<T> Default for ColumnPlans<T> {
    fn default() -> Self {
        Self { plans: HashMap::new(), remove_at: 0 }
    }
}

impl<T> ColumnPlans<T> {
    /// The plan for a statement's columns.
    ///
    /// # Errors
    /// That of `make`, which makes one.
    pub fn find<E>(
        &mut self,
        columns: &Arc<[ResultColumn]>,
        make: impl FnOnce(&[ResultColumn]) -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        // The weak reference keeps the allocation, so the address is not reused.
        let address = Arc::as_ptr(columns).cast::<ResultColumn>().addr();
        if columns.is_empty() {
            return Ok(Arc::new(make(columns)?));
        }
        if let Some((_, plan)) = self.plans.get(&address) {
            return Ok(Arc::clone(plan));
        }
        if self.plans.len() >= self.remove_at {
            self.plans.retain(|_, (columns, _)| columns.strong_count() > 0);
            self.remove_at = PLANS_MIN.max(2 * self.plans.len());
        }
        let plan = Arc::new(make(columns)?);
        self.plans.insert(address, (Arc::downgrade(columns), Arc::clone(&plan)));
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use colonnade_columnar::Type;

    use super::*;

    fn columns(count: usize) -> Arc<[ResultColumn]> {
        (0..count).map(|_| ResultColumn::new("n", Arc::new(Type::opaque(0)), -1)).collect()
    }

    fn find(plans: &mut ColumnPlans<usize>, columns: &Arc<[ResultColumn]>) -> Arc<usize> {
        plans.find(columns, |columns| Ok::<_, ()>(columns.len())).unwrap()
    }

    #[test]
    fn a_plan_is_made_once() {
        let (mut plans, columns) = (ColumnPlans::default(), columns(2));
        let first = find(&mut plans, &columns);
        assert_eq!(*first, 2);
        let again = plans.find(&columns, |_| Err("made again")).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
    }

    #[test]
    fn equal_columns_of_another_statement_have_their_own() {
        let (mut plans, one, other) = (ColumnPlans::default(), columns(1), columns(1));
        let first = find(&mut plans, &one);
        assert!(!Arc::ptr_eq(&first, &find(&mut plans, &other)));
    }

    #[test]
    fn a_failure_is_not_kept() {
        let (mut plans, columns) = (ColumnPlans::default(), columns(3));
        assert_eq!(plans.find(&columns, |_| Err("no")).unwrap_err(), "no");
        assert_eq!(*find(&mut plans, &columns), 3);
    }

    #[test]
    fn statements_without_columns_leave_nothing() {
        let mut plans = ColumnPlans::default();
        assert_eq!(*find(&mut plans, &columns(0)), 0);
        assert!(plans.plans.is_empty());
    }

    #[test]
    fn plans_of_dropped_statements_are_removed() {
        let (mut plans, kept) = (ColumnPlans::default(), columns(5));
        find(&mut plans, &kept);
        for _ in 0..1000 {
            find(&mut plans, &columns(1));
        }
        assert!(plans.plans.len() <= 2 * PLANS_MIN, "{} plans", plans.plans.len());
        assert_eq!(*find(&mut plans, &kept), 5);
    }
}
