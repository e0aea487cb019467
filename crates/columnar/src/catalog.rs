//! What a server's catalogs say of the types that users made, kept for all who ask the same
//! database.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use colonnade_protocol::Oid;

use crate::types::{
    Attribute, CodecFormat, EXTENSION_TYPES, PgType, Shape, TEXT_ONLY, TYPES, Type, built_in,
    printed_line, unprinted_line,
};

/// Types within types that are followed; PostgreSQL's own are never so deep.
const DEPTH_MAX: usize = 64;

/// Types that one is made of, each counted as often as it occurs; a row of a table with the most
/// columns, each a composite, is below that. What walks over a type walks over all of them, and a
/// composite of two that are composites of two, and so on, would keep it busy for ever.
const PARTS_MAX: usize = 20_000;

/// The types of one database that were asked for so far. Clones share what they know.
#[derive(Clone, Default, Debug)]
pub struct Catalog(Arc<Known>);

#[derive(Default, Debug)]
struct Known {
    types: RwLock<HashMap<Oid, Arc<Type>>>,
    /// How often something was found to be out of date.
    generation: AtomicU64,
}

/// What the catalogs say of one type.
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
    /// Of an array, the type of its elements; else 0.
    pub element: Oid,
    /// Of a domain, the type below it; else 0.
    pub base: Oid,
    /// Of a domain, `pg_type.typtypmod`.
    pub type_modifier: i32,
    /// Of a range or multirange, the type of its bounds; else 0.
    pub subtype: Oid,
    /// The function that writes its binary form, without schema; empty where there is none.
    pub send: String,
    /// Whether that function is one of PostgreSQL's own.
    pub send_is_built_in: bool,
    /// Of a composite: name, type and type modifier of each column that was not dropped.
    pub attributes: Vec<(String, Oid, i32)>,
    /// Of an enum, its labels in their order.
    pub labels: Vec<String>,
}

impl Catalog {
    fn known(&self, oid: Oid) -> Option<Arc<Type>> {
        if let Some(found) = built_in(oid) {
            return Some(Arc::clone(found));
        }
        self.0.types.read().unwrap_or_else(PoisonError::into_inner).get(&oid).map(Arc::clone)
    }

    /// Takes what the catalogs said of `asked`: a type that is not among `rows` is known from now
    /// on to be one that nobody knows.
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

    /// Forgets a type and what it is made of: it was altered.
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

    /// How many types were learned.
    pub fn len(&self) -> usize {
        self.0.types.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether none was learned.
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

/// A type by the name that it has in the table: a built-in one, or one of an extension.
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

/// A base type that a user or an extension made: known by the function that writes it. A name alone
/// says nothing about the bytes, and neither does an extension's function under another name.
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

/// The types as one connection sees them: the database's, and over them the user's codecs.
#[derive(Clone, Default, Debug)]
pub struct Types {
    catalog: Catalog,
    /// The catalog's generation that this connection's statements were made with, or a later one.
    generation: u64,
    /// By the type's OID: what the owner has put in its place.
    changes: Arc<BTreeMap<Oid, Change>>,
    /// Whether rows have the own values of extensions' types, and not their texts.
    extension_values: bool,
}

/// What the owner of a connection has put in the place of a type's own reading and writing.
#[derive(Clone, Debug)]
enum Change {
    /// A codec: its number and what it reads.
    Codec(usize, CodecFormat),
    /// The shape of another type.
    Alias(Shape),
}

impl Types {
    /// What a catalog knows, without codecs.
    pub fn new(catalog: Catalog) -> Self {
        let generation = catalog.generation();
        Self { catalog, generation, changes: Arc::default(), extension_values: false }
    }

    /// Lets rows have the own values of extensions' types from now on, and not their texts.
    pub fn show_extension_values(&mut self) {
        self.extension_values = true;
    }

    /// Takes a catalog that others have too, and keeps the codecs.
    pub fn share(&mut self, catalog: Catalog) {
        self.generation = catalog.generation();
        self.catalog = catalog;
    }

    /// Tells those who share the catalog that something is out of date: a type was altered, or the
    /// shape of a result.
    pub fn tell_outdated(&mut self) {
        let before = self.catalog.0.generation.fetch_add(1, Ordering::Relaxed);
        // What others have told meanwhile is still to be followed.
        if self.generation == before {
            self.generation = before.wrapping_add(1);
        }
    }

    /// Whether somebody has told so since this connection has looked.
    pub fn is_outdated(&mut self) -> bool {
        let latest = self.catalog.generation();
        std::mem::replace(&mut self.generation, latest) != latest
    }

    /// What is shared with other connections to the database.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The type of an OID; `None` when the catalogs must be asked.
    pub fn find(&self, oid: Oid) -> Option<Arc<Type>> {
        self.catalog.known(oid).map(|found| self.seen(&found))
    }

    /// The same, whatever the owner of the connection has put in its place.
    pub fn find_plain(&self, oid: Oid) -> Option<Arc<Type>> {
        self.catalog.known(oid)
    }

    /// Those of the OIDs that the catalogs must be asked for, each once.
    pub fn missing(&self, oids: impl IntoIterator<Item = Oid>) -> Vec<Oid> {
        let mut missing: Vec<Oid> =
            oids.into_iter().filter(|oid| self.catalog.known(*oid).is_none()).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Lets a codec read and write a type.
    pub fn set_codec(&mut self, oid: Oid, codec: usize, format: CodecFormat) {
        Arc::make_mut(&mut self.changes).insert(oid, Change::Codec(codec, format));
    }

    /// Lets a type be read and written as another one.
    pub fn set_alias(&mut self, oid: Oid, other: &Type) {
        Arc::make_mut(&mut self.changes).insert(oid, Change::Alias(other.shape.clone()));
    }

    /// Lets the type be read and written as it is.
    pub fn reset_type(&mut self, oid: Oid) {
        Arc::make_mut(&mut self.changes).remove(&oid);
    }

    /// A type as this connection sees it.
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

    /// The line that takes the place of one whose rows are printed.
    fn own_line(&self, line: &'static PgType) -> Option<&'static PgType> {
        if self.extension_values { unprinted_line(line) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A composite of so many fields of one type.
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
        // Each is two of the next one: the first would be 2^60 parts.
        let doubling: Vec<_> = (FIRST..FIRST + 60).map(|oid| composite(oid, oid + 1, 2)).collect();
        catalog.learn(&[FIRST], &doubling);
        // Each has two bounds that are such ranges.
        let range = |oid| TypeRow { oid, kind: b'r', subtype: oid + 1, ..TypeRow::default() };
        catalog.learn(&[], &(FIRST + 300..FIRST + 360).map(range).collect::<Vec<_>>());
        // Of itself, as no type can be.
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
