//! Prepared statements, and the cache that keeps the most recently used ones.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use colonnade_columnar::{ResultColumn, Type};
use colonnade_protocol::Format;

/// So many texts are remembered where the server keeps no statements.
const DESCRIPTIONS_MAX: usize = 256;

/// A statement the server has parsed: what it takes and what it gives.
#[derive(Debug)]
pub struct Statement {
    /// Set when the server is told to forget it.
    pub(crate) is_closed: Arc<AtomicBool>,
    /// The server-side name; empty where the server does not keep it.
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
        let is_closed = Arc::clone(&self.is_closed);
        Arc::new(Self { is_closed, name, sql, parameters: self.parameters.clone(), columns })
    }

    /// The name under which the server knows it; none where a query has to bring the text along.
    pub fn server_name(&self) -> Option<&str> {
        let is_kept = !self.name.is_empty() && !self.is_closed.load(Ordering::Relaxed);
        is_kept.then_some(self.name.as_str())
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// The format in which each column's values come, where nothing else is asked for.
    pub fn formats(&self) -> Vec<Format> {
        self.columns.iter().map(|column| column.pg_type.format()).collect()
    }
}

/// The least recently used statement leaves when there is no room for a new one.
///
/// Where the server is to keep none, what it said of them is remembered all the same.
pub(crate) struct StatementCache {
    /// At most so many statements; the server keeps none where it is 0.
    capacity: usize,
    /// What this session's names begin with. No other session's do: behind a pooler they may meet
    /// on one server connection, and none must run another one's statement.
    prefix: String,
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
        // The standard library's only source of chance.
        let chance = RandomState::new().hash_one(0) >> 16;
        let prefix = format!("colonnade_{chance:012x}");
        Self { capacity, prefix, clock: 0, entries: HashMap::new(), names_given: 0 }
    }

    /// A name no statement of this session has had; empty (unnamed) where nothing is cached.
    pub(crate) fn next_name(&mut self) -> String {
        if self.capacity == 0 {
            return String::new();
        }
        self.names_given += 1;
        format!("{}_{}", self.prefix, self.names_given)
    }

    pub(crate) fn find(&mut self, sql: &str) -> Option<Arc<Statement>> {
        self.clock += 1;
        let entry = self.entries.get_mut(sql)?;
        entry.used_at = self.clock;
        Some(Arc::clone(&entry.statement))
    }

    /// Keeps a statement; returns the ones that left, which the server should close.
    pub(crate) fn insert(&mut self, statement: Arc<Statement>) -> Vec<Arc<Statement>> {
        if statement.name.is_empty() && self.capacity != 0 {
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
        let room = if self.capacity == 0 { DESCRIPTIONS_MAX } else { self.capacity };
        while self.entries.len() > room {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used_at);
            let Some(sql) = oldest.map(|(sql, _)| sql.clone()) else { break };
            gone.extend(self.entries.remove(&sql).map(|entry| entry.statement));
        }
        gone.retain(|statement| statement.server_name().is_some());
        gone.iter().for_each(|statement| statement.close());
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
        let statement = self.entries.remove(sql).map(|entry| entry.statement)?;
        let was_kept = statement.server_name().is_some();
        statement.close();
        was_kept.then_some(statement)
    }

    /// Takes everything out, for the server to close.
    pub(crate) fn drain(&mut self) -> Vec<Arc<Statement>> {
        let all = self.entries.drain().map(|(_, entry)| entry.statement);
        let kept: Vec<_> = all.filter(|statement| statement.server_name().is_some()).collect();
        kept.iter().for_each(|statement| statement.close());
        kept
    }

    /// Forgets everything without closing: the server has already done so.
    pub(crate) fn clear(&mut self) {
        self.entries.drain().for_each(|(_, entry)| entry.statement.close());
    }

    /// How many the server keeps.
    pub(crate) fn len(&self) -> usize {
        if self.capacity == 0 { 0 } else { self.entries.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(cache: &mut StatementCache, sql: &str) -> Arc<Statement> {
        let (name, sql) = (cache.next_name(), sql.to_owned());
        let is_closed = Arc::default();
        Arc::new(Statement { is_closed, name, sql, parameters: Vec::new(), columns: Arc::from([]) })
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
        assert!(cache.insert(Arc::clone(&one)).is_empty());
        assert!(one.server_name().is_none());
        assert!(cache.find("a").is_some(), "what it is made of is remembered");
        assert_eq!(cache.len(), 0);
        for number in 0..2 * DESCRIPTIONS_MAX {
            let next = statement(&mut cache, &number.to_string());
            assert!(cache.insert(next).is_empty(), "there is nothing to be closed");
        }
        assert_eq!(cache.entries.len(), DESCRIPTIONS_MAX);
    }

    #[test]
    fn a_statement_that_left_is_known_to_be_gone() {
        let mut cache = StatementCache::new(1);
        let (first, second) = (statement(&mut cache, "a"), statement(&mut cache, "b"));
        cache.insert(Arc::clone(&first));
        assert!(first.server_name().is_some());
        cache.insert(Arc::clone(&second));
        assert!(first.server_name().is_none() && second.server_name().is_some());
        cache.clear();
        assert!(second.server_name().is_none());
    }

    #[test]
    fn no_two_sessions_have_the_same_names() {
        let names = [0, 1].map(|_| StatementCache::new(1).next_name());
        assert_ne!(names[0], names[1]);
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
