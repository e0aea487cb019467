//! Type definitions from a database's catalogs, shared by all of its connections.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use colonnade_protocol::Oid;

use crate::types::{
    Attribute, CodecFormat, EXTENSION_TYPES, PgType, Shape, TEXT_ONLY, TYPES, Type, built_in,
    printed_line, unprinted_line,
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
    types: RwLock<HashMap<Oid, Arc<Type>>>,
    /// How often something was found to be out of date.
    generation: AtomicU64,
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
        self.0.types.read().unwrap_or_else(PoisonError::into_inner).get(&oid).map(Arc::clone)
    }

    /// Records the answer to a lookup of `asked`: a type that is not among `rows` is known to be
    /// unknown from now on.
    pub fn learn(&self, asked: &[Oid], rows: &[TypeRow]) {
        let by_oid: HashMap<Oid, &TypeRow> = rows.iter().map(|row| (row.oid, row)).collect();
        let mut resolved = HashMap::new();
        for oid in asked.iter().copied().chain(rows.iter().map(|row| row.oid)) {
            self.resolve(oid, &by_oid, &mut resolved, 0);
        }
        self.0.types.write().unwrap_or_else(PoisonError::into_inner).extend(resolved);
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

    fn generation(&self) -> u64 {
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
    /// The catalog's generation at the last check; this connection's statements are no older.
    generation: u64,
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
    /// The types of a catalog, without codecs.
    pub fn new(catalog: Catalog) -> Self {
        let generation = catalog.generation();
        Self { catalog, generation, changes: Arc::default(), extension_values: false }
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

    /// The OIDs among these that must be looked up, each once.
    pub fn missing(&self, oids: impl IntoIterator<Item = Oid>) -> Vec<Oid> {
        let mut missing: Vec<Oid> =
            oids.into_iter().filter(|oid| self.catalog.known(*oid).is_none()).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
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
        let catalog = Catalog::default();
        // Each is two of the next one: the first would have 2^60 parts.
        let doubling: Vec<_> = (FIRST..FIRST + 60).map(|oid| composite(oid, oid + 1, 2)).collect();
        catalog.learn(&[FIRST], &doubling);
        // Each has two bounds that are such ranges.
        let range = |oid| TypeRow { oid, kind: b'r', subtype: oid + 1, ..TypeRow::default() };
        catalog.learn(&[], &(FIRST + 300..FIRST + 360).map(range).collect::<Vec<_>>());
        // A type made of itself, which cannot exist.
        catalog.learn(&[], &[composite(FIRST + 100, FIRST + 100, 1_000)]);
        catalog.learn(&[], &[array(FIRST + 101, FIRST + 101)]);
        // Deeper with each answer.
        for oid in FIRST + 400..FIRST + 2_000 {
            catalog.learn(&[oid], &[array(oid, oid - 1)]);
        }
        for oid in [0, 30, 59, 100, 101, 300, 330, 1_999].map(|nth| FIRST + nth) {
            assert!((1..=PARTS_MAX).contains(&parts_of(&catalog, oid)), "{oid}");
        }
        assert_eq!(parts_of(&catalog, FIRST + 55), 63, "what is not too much is known");
    }
}
