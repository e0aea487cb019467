//! Type definitions from a database's catalogs, shared by all of its connections.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use colonnade_protocol::Oid;

use crate::types::{
    Attribute, CodecFormat, EXTENSION_TYPES, PgType, RECORDS, Shape, TEXT_ONLY, TYPES, Type,
    built_in, printed_line, unprinted_line,
};

/// The maximum nesting of types; PostgreSQL's own are never this deep.
const DEPTH_MAX: usize = 64;

/// The maximum number of parts in a type, each counted as often as it occurs; a row of a table with
/// the most columns, each a composite, stays below it. Code that visits a type visits all of its
/// parts, and a composite of two composites of two, and so on, would never end.
const PARTS_MAX: usize = 20_000;

/// The types of one database that have been looked up. Clones share them.
#[derive(Clone, Default, Debug)]
pub struct Catalog(Arc<Known>);

#[derive(Default, Debug)]
struct Known {
    types: RwLock<HashMap<Oid, Learned>>,
    /// How often something was found to be out of date.
    generation: AtomicU64,
}

#[derive(Debug)]
struct Learned {
    pg_type: Arc<Type>,
    /// When the server was asked, since a moment that all sessions of the catalog share.
    at: Duration,
}

/// The most databases whose types one owner of connections keeps.
const DATABASES_MAX: usize = 16;

/// The types of the databases that the connections of one owner meet, by the identity that each
/// server tells: another cluster may answer at the same address.
#[derive(Default, Debug)]
pub struct Catalogs(Mutex<Vec<(Vec<u8>, Catalog)>>);

impl Catalogs {
    /// The catalog of a database; the one met longest ago makes room for it.
    pub fn of(&self, identity: &[u8]) -> Catalog {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().position(|(known, _)| known == identity);
        let (identity, catalog) = match found {
            Some(index) => kept.remove(index),
            None => (identity.to_vec(), Catalog::default()),
        };
        if kept.len() >= DATABASES_MAX {
            kept.remove(0);
        }
        kept.push((identity, catalog.clone()));
        catalog
    }

    /// The number of types looked up, in all databases.
    pub fn len(&self) -> usize {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().map(|(_, catalog)| catalog.len()).sum()
    }

    /// Whether no types have been looked up.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A type's row in the catalogs.
#[derive(Clone, Default, Debug)]
pub struct TypeRow {
    /// `pg_type.oid`
    pub oid: Oid,
    /// Name of its schema.
    pub schema: String,
    /// `pg_type.typname`
    pub name: String,
    /// `pg_type.typtype`: base, composite, domain, enum, multirange, pseudo-type, range.
    pub kind: u8,
    /// For an array, the type of its elements; otherwise 0.
    pub element: Oid,
    /// For a domain, its base type; otherwise 0.
    pub base: Oid,
    /// For a domain, `pg_type.typtypmod`.
    pub type_modifier: i32,
    /// For a range or multirange, the type of its bounds; otherwise 0.
    pub subtype: Oid,
    /// The send function, without schema; empty if there is none.
    pub send: String,
    /// Whether the send function is built in.
    pub send_is_built_in: bool,
    /// For a composite: name, type and type modifier of each column that was not dropped.
    pub attributes: Vec<(String, Oid, i32)>,
    /// For an enum, its labels in order.
    pub labels: Vec<String>,
}

impl Catalog {
    fn known(&self, oid: Oid) -> Option<Arc<Type>> {
        if let Some(found) = built_in(oid) {
            return Some(Arc::clone(found));
        }
        let types = self.0.types.read().unwrap_or_else(PoisonError::into_inner);
        types.get(&oid).map(|learned| Arc::clone(&learned.pg_type))
    }

    /// Records the answer to a lookup of `asked`, which was made `at` this time: a type that is not
    /// among `rows` is known to be unknown from now on.
    pub fn learn(&self, asked: &[Oid], rows: &[TypeRow], at: Duration) {
        let by_oid: HashMap<Oid, &TypeRow> = rows.iter().map(|row| (row.oid, row)).collect();
        let gone = asked.iter().copied().filter(|oid| !by_oid.contains_key(oid));
        let mut resolved = gone.map(|oid| (oid, Arc::new(Type::opaque(oid)))).collect();
        for row in rows {
            self.resolve(row.oid, &by_oid, &mut resolved, 0);
        }
        let learned = resolved.into_iter().map(|(oid, pg_type)| (oid, Learned { pg_type, at }));
        self.0.types.write().unwrap_or_else(PoisonError::into_inner).extend(learned);
    }

    fn learned_where(&self, is_meant: impl Fn(Duration) -> bool) -> Vec<Oid> {
        let types = self.0.types.read().unwrap_or_else(PoisonError::into_inner);
        types.iter().filter(|(_, learned)| is_meant(learned.at)).map(|(oid, _)| *oid).collect()
    }

    fn learned_at(&self, oid: Oid) -> Option<Duration> {
        let types = self.0.types.read().unwrap_or_else(PoisonError::into_inner);
        types.get(&oid).map(|learned| learned.at)
    }

    /// When the type that was looked up longest ago was.
    fn oldest(&self) -> Option<Duration> {
        let types = self.0.types.read().unwrap_or_else(PoisonError::into_inner);
        types.values().map(|learned| learned.at).min()
    }

    fn resolve(
        &self,
        oid: Oid,
        rows: &HashMap<Oid, &TypeRow>,
        resolved: &mut HashMap<Oid, Arc<Type>>,
        depth: usize,
    ) -> Arc<Type> {
        if let Some(found) = built_in(oid).or_else(|| resolved.get(&oid)) {
            return Arc::clone(found);
        }
        let made = match rows.get(&oid) {
            Some(row) if depth < DEPTH_MAX => {
                let part = |part| self.resolve(part, rows, resolved, depth + 1);
                let made = type_of_row(row, part);
                let is_small = made.is_within(DEPTH_MAX, &mut { PARTS_MAX });
                Arc::new(if is_small { made } else { Type::opaque(oid) })
            }
            Some(_) => return Arc::new(Type::opaque(oid)),
            None => self.known(oid).unwrap_or_else(|| Arc::new(Type::opaque(oid))),
        };
        resolved.insert(oid, Arc::clone(&made));
        made
    }

    /// Forgets a type that was altered, and the types it is made of.
    pub fn forget(&self, pg_type: &Type) {
        {
            let mut types = self.0.types.write().unwrap_or_else(PoisonError::into_inner);
            types.remove(&pg_type.oid);
        }
        match &pg_type.shape {
            Shape::Array(part) | Shape::Range(part) | Shape::Multirange(part) => self.forget(part),
            Shape::Domain { base: part, .. } | Shape::Custom { under: part, .. } => {
                self.forget(part);
            }
            Shape::Composite(attributes) => {
                attributes.iter().for_each(|attribute| self.forget(&attribute.pg_type));
            }
            _ => {}
        }
    }

    /// Forgets types that may be out of date.
    pub fn forget_all(&self, oids: &[Oid]) {
        let mut types = self.0.types.write().unwrap_or_else(PoisonError::into_inner);
        types.retain(|oid, _| !oids.contains(oid));
    }

    /// How often something was found to be out of date.
    pub fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Relaxed)
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.0.types.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The number of types looked up.
    pub fn len(&self) -> usize {
        self.0.types.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether no types have been looked up.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn type_of_row(row: &TypeRow, mut part: impl FnMut(Oid) -> Arc<Type>) -> Type {
    let mut name = row.name.clone();
    let shape = match row.kind {
        b'd' if row.base != 0 => {
            Shape::Domain { base: part(row.base), type_modifier: row.type_modifier }
        }
        b'e' => Shape::Enum(row.labels.clone().into()),
        b'r' if row.subtype != 0 => Shape::Range(part(row.subtype)),
        b'm' if row.subtype != 0 => Shape::Multirange(part(row.subtype)),
        b'c' => {
            let attributes = row.attributes.iter().map(|(name, oid, type_modifier)| Attribute {
                name: name.clone(),
                pg_type: part(*oid),
                type_modifier: *type_modifier,
            });
            Shape::Composite(attributes.collect())
        }
        _ if row.element != 0 => {
            let element = part(row.element);
            name = format!("{}[]", element.name);
            Shape::Array(element)
        }
        _ => scalar_shape(row),
    };
    Type { oid: row.oid, name, schema: row.schema.clone(), shape }
}

/// A type by its name in the tables, built in or from an extension.
pub fn named_type(name: &str) -> Option<Type> {
    let lines = TYPES.iter().chain(EXTENSION_TYPES);
    let line = lines.into_iter().find(|line| line.name == name)?;
    Some(Type {
        oid: line.oid,
        name: line.name.to_owned(),
        schema: String::new(),
        shape: Shape::Scalar(line),
    })
}

/// A base type made by a user or an extension, recognized by its send function. A name alone says
/// nothing about the bytes, and neither does an extension's function under another name.
fn scalar_shape(row: &TypeRow) -> Shape {
    if row.send.is_empty() {
        return Shape::Scalar(&TEXT_ONLY);
    }
    let line = if row.send_is_built_in {
        TYPES.iter().find(|line| line.send == row.send)
    } else {
        EXTENSION_TYPES.iter().find(|line| line.name == row.name && line.send == row.send)
    };
    line.map_or(Shape::Opaque, |line| Shape::Scalar(printed_line(line).unwrap_or(line)))
}

/// A connection's types: the database's, overlaid with the user's codecs.
#[derive(Clone, Default, Debug)]
pub struct Types {
    catalog: Catalog,
    /// The catalog that others share, while this connection has types that only it can see.
    shared: Option<Catalog>,
    /// The catalog's generation at the last check; this connection's statements are no older.
    generation: u64,
    /// The age at which a type has to be looked up again; `None` sets no limit.
    lifetime: Option<Duration>,
    /// The time, as the owner last told it.
    now: Duration,
    /// The owner's replacements, by type OID.
    changes: Arc<BTreeMap<Oid, Change>>,
    /// Whether rows get values of extension types as their own classes and not as text.
    extension_values: bool,
}

/// The owner's replacement for a type's own conversion.
#[derive(Clone, Debug)]
enum Change {
    /// A codec: its number and its format.
    Codec(usize, CodecFormat),
    /// The shape of another type.
    Alias(Shape),
}

impl Types {
    /// The types of a catalog, without codecs, each known for `lifetime`.
    pub fn new(catalog: Catalog, lifetime: Option<Duration>) -> Self {
        Self { generation: catalog.generation(), catalog, lifetime, ..Self::default() }
    }

    /// Takes note of the time since a moment that all sessions with this catalog share.
    pub const fn tell_time(&mut self, now: Duration) {
        self.now = now;
    }

    /// The time, as the owner last told it.
    pub const fn now(&self) -> Duration {
        self.now
    }

    /// Whether a fact that became known at a time may have been altered unseen since.
    pub fn is_too_old(&self, at: Duration) -> bool {
        self.lifetime.is_some_and(|lifetime| self.now.saturating_sub(at) >= lifetime)
    }

    /// When the oldest of these types became known, and `now` if they cannot be altered. A record
    /// can hold any of the types.
    pub fn known_since(&self, oids: impl IntoIterator<Item = Oid>) -> Duration {
        let known_at = |oid| {
            let is_any = RECORDS.contains(&oid);
            if is_any { self.catalog.oldest() } else { self.catalog.learned_at(oid) }
        };
        oids.into_iter().filter_map(known_at).fold(self.now, Duration::min)
    }

    /// From now on, rows get values of extension types as their own classes and not as text.
    pub fn show_extension_values(&mut self) {
        self.extension_values = true;
    }

    /// Uses a catalog that other connections share, and keeps the codecs.
    pub fn share(&mut self, catalog: Catalog) {
        self.generation = catalog.generation();
        self.catalog = catalog;
    }

    /// Begins with types that only this connection can see, within a transaction that has altered
    /// some.
    pub fn go_private(&mut self) {
        let shared = std::mem::take(&mut self.catalog);
        self.shared.get_or_insert(shared);
        self.generation = 0;
    }

    /// Returns to the shared types at the end of such a transaction; if they are altered, they are
    /// forgotten.
    pub fn leave_private(&mut self, are_altered: bool) {
        if let Some(shared) = self.shared.take() {
            self.share(shared);
        }
        if are_altered {
            self.catalog.clear();
            self.tell_outdated();
        }
    }

    /// Announces to all users of the catalog that a type or the columns of a result are out of
    /// date.
    pub fn tell_outdated(&mut self) {
        let before = self.catalog.0.generation.fetch_add(1, Ordering::Relaxed);
        // Announcements by others since then still have to be followed.
        if self.generation == before {
            self.generation = before.wrapping_add(1);
        }
    }

    /// Whether a change was announced since this connection looked.
    pub fn is_outdated(&mut self) -> bool {
        let latest = self.catalog.generation();
        std::mem::replace(&mut self.generation, latest) != latest
    }

    /// The catalog shared with other connections to the database.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The type of an OID; `None` if it must be looked up.
    pub fn find(&self, oid: Oid) -> Option<Arc<Type>> {
        self.catalog.known(oid).map(|found| self.seen(&found))
    }

    /// As `find`, but ignoring the owner's replacements.
    pub fn find_plain(&self, oid: Oid) -> Option<Arc<Type>> {
        self.catalog.known(oid)
    }

    /// The OIDs that must be looked up for these types, each once: of those that are unknown, and
    /// of those that are known for too long.
    pub fn missing(&self, oids: impl IntoIterator<Item = Oid>) -> Vec<Oid> {
        let mut missing = Vec::new();
        for oid in oids {
            if RECORDS.contains(&oid) {
                missing.extend(self.catalog.learned_where(|at| self.is_too_old(at)));
            } else if self.is_missing(oid) {
                missing.push(oid);
            }
        }
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    fn is_missing(&self, oid: Oid) -> bool {
        let is_built_in = || built_in(oid).is_some();
        self.catalog.learned_at(oid).map_or_else(|| !is_built_in(), |at| self.is_too_old(at))
    }

    /// Sets a codec to read and write a type.
    pub fn set_codec(&mut self, oid: Oid, codec: usize, format: CodecFormat) {
        Arc::make_mut(&mut self.changes).insert(oid, Change::Codec(codec, format));
    }

    /// Sets another type's conversion to read and write a type.
    pub fn set_alias(&mut self, oid: Oid, other: &Type) {
        Arc::make_mut(&mut self.changes).insert(oid, Change::Alias(other.shape.clone()));
    }

    /// Restores a type's own conversion.
    pub fn reset_type(&mut self, oid: Oid) {
        Arc::make_mut(&mut self.changes).remove(&oid);
    }

    /// A type with this connection's replacements.
    fn seen(&self, found: &Arc<Type>) -> Arc<Type> {
        if !self.sees_otherwise(found) {
            return Arc::clone(found);
        }
        let part = |part: &Arc<Type>| self.seen(part);
        let shape = match &found.shape {
            Shape::Array(element) => Shape::Array(part(element)),
            Shape::Range(subtype) => Shape::Range(part(subtype)),
            Shape::Multirange(subtype) => Shape::Multirange(part(subtype)),
            Shape::Domain { base, type_modifier } => {
                Shape::Domain { base: part(base), type_modifier: *type_modifier }
            }
            Shape::Composite(attributes) => Shape::Composite(
                attributes
                    .iter()
                    .map(|field| Attribute { pg_type: part(&field.pg_type), ..field.clone() })
                    .collect(),
            ),
            Shape::Record(_) => Shape::Record(self.clone()),
            Shape::Scalar(line) => Shape::Scalar(self.own_line(line).unwrap_or(line)),
            other => other.clone(),
        };
        let seen = Arc::new(Type { shape, ..found.as_ref().clone() });
        let shape = match self.changes.get(&found.oid) {
            Some(Change::Codec(codec, format)) => {
                Shape::Custom { codec: *codec, format: *format, under: Arc::clone(&seen) }
            }
            Some(Change::Alias(shape)) => shape.clone(),
            None => return seen,
        };
        Arc::new(Type { shape, ..seen.as_ref().clone() })
    }

    fn sees_otherwise(&self, found: &Type) -> bool {
        if self.changes.contains_key(&found.oid) {
            return true;
        }
        match &found.shape {
            Shape::Array(part) | Shape::Range(part) | Shape::Multirange(part) => {
                self.sees_otherwise(part)
            }
            Shape::Domain { base, .. } => self.sees_otherwise(base),
            Shape::Composite(attributes) => {
                attributes.iter().any(|attribute| self.sees_otherwise(&attribute.pg_type))
            }
            Shape::Record(_) => true,
            Shape::Scalar(line) => self.own_line(line).is_some(),
            _ => false,
        }
    }

    /// The replacement for a line whose rows are printed.
    fn own_line(&self, line: &'static PgType) -> Option<&'static PgType> {
        if self.extension_values { unprinted_line(line) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A composite of `count` fields of one type.
    fn composite(oid: Oid, field: Oid, count: usize) -> TypeRow {
        let attributes = (0..count).map(|number| (format!("f{number}"), field, -1)).collect();
        TypeRow { oid, name: format!("t{oid}"), kind: b'c', attributes, ..TypeRow::default() }
    }

    fn array(oid: Oid, element: Oid) -> TypeRow {
        TypeRow { oid, name: format!("_t{oid}"), kind: b'b', element, ..TypeRow::default() }
    }

    fn parts_of(catalog: &Catalog, oid: Oid) -> usize {
        let mut parts_left = 10 * PARTS_MAX;
        assert!(catalog.known(oid).unwrap().is_within(DEPTH_MAX, &mut parts_left), "{oid}");
        10 * PARTS_MAX - parts_left
    }

    #[test]
    fn types_of_types_have_an_end() {
        const FIRST: Oid = 100_000;
        const AT: Duration = Duration::ZERO;
        let catalog = Catalog::default();
        // Each is two of the next one: the first would have 2^60 parts.
        let doubling: Vec<_> = (FIRST..FIRST + 60).map(|oid| composite(oid, oid + 1, 2)).collect();
        catalog.learn(&[FIRST], &doubling, AT);
        // Each has two bounds that are such ranges.
        let range = |oid| TypeRow { oid, kind: b'r', subtype: oid + 1, ..TypeRow::default() };
        catalog.learn(&[], &(FIRST + 300..FIRST + 360).map(range).collect::<Vec<_>>(), AT);
        // A type made of itself, which cannot exist.
        catalog.learn(&[], &[composite(FIRST + 100, FIRST + 100, 1_000)], AT);
        catalog.learn(&[], &[array(FIRST + 101, FIRST + 101)], AT);
        // Deeper with each answer.
        for oid in FIRST + 400..FIRST + 2_000 {
            catalog.learn(&[oid], &[array(oid, oid - 1)], AT);
        }
        for oid in [0, 30, 59, 100, 101, 300, 330, 1_999].map(|nth| FIRST + nth) {
            assert!((1..=PARTS_MAX).contains(&parts_of(&catalog, oid)), "{oid}");
        }
        assert_eq!(parts_of(&catalog, FIRST + 55), 63, "what is not too much is known");
    }

    #[test]
    fn a_type_is_known_for_a_time() {
        const OID: Oid = 100_000;
        const RECORD: Oid = RECORDS[0];
        let seconds = Duration::from_secs;
        let mut types = Types::new(Catalog::default(), Some(seconds(300)));
        let learn = |types: &Types, rows: &[TypeRow]| {
            types.catalog().learn(&[OID], rows, types.now());
        };
        types.tell_time(seconds(1_000));
        assert_eq!(types.missing([23, RECORD, OID]), [OID], "what is built in is never missing");
        learn(&types, &[composite(OID, 23, 1)]);
        types.tell_time(seconds(1_299));
        assert!(types.missing([23, RECORD, OID]).is_empty());
        assert_eq!(types.known_since([23, OID]), seconds(1_000));
        assert_eq!(types.known_since([23, RECORD]), seconds(1_000), "it can hold any");
        assert_eq!(types.known_since([23]), seconds(1_299));
        types.tell_time(seconds(1_300));
        for asked in [vec![OID], vec![RECORD]] {
            assert_eq!(types.missing(asked), [OID]);
        }
        let mut patient = Types::new(types.catalog().clone(), None);
        patient.tell_time(seconds(1_000_000));
        assert!(patient.missing([OID]).is_empty());
        // Looked up again, it is young, and gone if it was dropped.
        learn(&types, &[]);
        assert!(types.missing([OID]).is_empty());
        assert!(matches!(types.find(OID).unwrap().shape, Shape::Opaque));
    }
}
