//! Prepared statements, and the cache that keeps the most recently used ones.

use std::collections::HashMap;
use std::sync::Arc;

use colonnade_columnar::{ResultColumn, Type};
use colonnade_protocol::Format;

/// A statement the server has parsed: what it takes and what it gives.
#[derive(Debug)]
pub struct Statement {
    /// The server-side name; empty for the unnamed statement.
    pub name: String,
    /// The text that was prepared.
    pub sql: String,
    /// The type of each parameter.
    pub parameters: Vec<Arc<Type>>,
    /// The columns; none for a command.
    pub columns: Arc<[ResultColumn]>,
}

impl Statement {
    /// The same statement, of whose columns more is known.
    pub(crate) fn with_columns(&self, columns: Arc<[ResultColumn]>) -> Arc<Self> {
        let (name, sql) = (self.name.clone(), self.sql.clone());
        Arc::new(Self { name, sql, parameters: self.parameters.clone(), columns })
    }

    /// The format in which each column's values come, where nothing else is asked for.
    pub fn formats(&self) -> Vec<Format> {
        self.columns.iter().map(|column| column.pg_type.format()).collect()
    }
}

/// The least recently used statement leaves when there is no room for a new one.
pub(crate) struct StatementCache {
    /// At most so many statements; 0 keeps none.
    capacity: usize,
    /// Grows with each use; orders the entries.
    clock: u64,
    entries: HashMap<String, Entry>,
    names_given: u64,
}

struct Entry {
    statement: Arc<Statement>,
    used_at: u64,
}

impl StatementCache {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, clock: 0, entries: HashMap::new(), names_given: 0 }
    }

    /// A name no statement of this session has had; empty (unnamed) where nothing is cached.
    pub(crate) fn next_name(&mut self) -> String {
        if self.capacity == 0 {
            return String::new();
        }
        self.names_given += 1;
        format!("colonnade_{}", self.names_given)
    }

    pub(crate) fn find(&mut self, sql: &str) -> Option<Arc<Statement>> {
        self.clock += 1;
        let entry = self.entries.get_mut(sql)?;
        entry.used_at = self.clock;
        Some(Arc::clone(&entry.statement))
    }

    /// Keeps a statement; returns the ones that left, which the server should close.
    pub(crate) fn insert(&mut self, statement: Arc<Statement>) -> Vec<Arc<Statement>> {
        if self.capacity == 0 || statement.name.is_empty() {
            return Vec::new();
        }
        self.clock += 1;
        let entry = Entry { statement: Arc::clone(&statement), used_at: self.clock };
        let mut gone: Vec<_> = self
            .entries
            .insert(statement.sql.clone(), entry)
            .map(|entry| entry.statement)
            .into_iter()
            .collect();
        while self.entries.len() > self.capacity {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used_at);
            let Some(sql) = oldest.map(|(sql, _)| sql.clone()) else { break };
            gone.extend(self.entries.remove(&sql).map(|entry| entry.statement));
        }
        gone
    }

    /// Puts a statement in the place of the same one.
    pub(crate) fn renew(&mut self, statement: &Arc<Statement>) {
        let entry = self.entries.get_mut(&statement.sql);
        if let Some(entry) = entry.filter(|entry| entry.statement.name == statement.name) {
            entry.statement = Arc::clone(statement);
        }
    }

    pub(crate) fn remove(&mut self, sql: &str) -> Option<Arc<Statement>> {
        self.entries.remove(sql).map(|entry| entry.statement)
    }

    /// Takes everything out, for the server to close.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Arc<Statement>> {
        self.entries.drain().map(|(_, entry)| entry.statement)
    }

    /// Forgets everything without closing: the server has already done so.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(cache: &mut StatementCache, sql: &str) -> Arc<Statement> {
        let (name, sql) = (cache.next_name(), sql.to_owned());
        Arc::new(Statement { name, sql, parameters: Vec::new(), columns: Arc::from([]) })
    }

    #[test]
    fn the_least_recently_used_statement_leaves() {
        let mut cache = StatementCache::new(2);
        for sql in ["a", "b"] {
            let one = statement(&mut cache, sql);
            assert!(cache.insert(one).is_empty());
        }
        assert!(cache.find("a").is_some());
        let third = statement(&mut cache, "c");
        let gone = cache.insert(third);
        assert_eq!(gone.iter().map(|s| s.sql.as_str()).collect::<Vec<_>>(), ["b"]);
        assert!(cache.find("b").is_none());
        assert_eq!(cache.len(), 2);
    }

    #[test]
    fn a_cache_of_none_uses_the_unnamed_statement() {
        let mut cache = StatementCache::new(0);
        let one = statement(&mut cache, "a");
        assert_eq!(one.name, "");
        assert!(cache.insert(one).is_empty());
        assert!(cache.find("a").is_none());
    }

    #[test]
    fn preparing_the_same_text_again_closes_the_former() {
        let mut cache = StatementCache::new(2);
        let first = statement(&mut cache, "a");
        let second = statement(&mut cache, "a");
        assert_ne!(first.name, second.name);
        cache.insert(Arc::clone(&first));
        assert_eq!(cache.insert(second).first().map(|s| s.name.clone()), Some(first.name.clone()));
    }
}
