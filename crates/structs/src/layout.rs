//! The places of a struct's fields, and the hashes that tell structs apart.

use crate::kind::Kind;
use crate::{Blob, Fault, Value, Writer};

/// The first bytes of a blob. The first one is never the start of a text.
pub const MAGIC: [u8; 4] = [0xC5, b'S', b'T', b'R'];

/// The version of the format, not of a struct.
pub const FORMAT: u8 = 1;

/// The size of the header.
pub const HEADER_BYTES: usize = 24;

/// The bytes of the header that are the same in all blobs of one version of a struct.
pub(crate) const IDENTITY_BYTES: usize = 16;

const FIELDS_MOST: usize = 4096;
const FIXED_BYTES_MOST: usize = 1 << 20;
const DEPTH_MOST: usize = 16;
/// The header counts them in a byte.
const CHECKS_MOST: usize = 255;

/// A field, before it has a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type.
    pub kind: Kind,
    /// Whether it may be NULL.
    pub optional: bool,
    /// Whether blobs without the field can be read: it is optional, or its owner has a default.
    pub can_be_missing: bool,
}

/// Where a field is, in bytes from the start of the blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The position of its slot.
    pub slot: usize,
    /// The byte and the bit in it that say that the field has a value; none if it always has one.
    pub flag: Option<(usize, u8)>,
    /// The slot of the field before it whose bytes are in the tail.
    pub previous_end: Option<usize>,
}

/// Why columns do not fill the fields of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmatched {
    /// No field has the name of this column.
    Column(String),
    /// There is no column for this field.
    Field(String),
}

/// The fields of a struct, with their places.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    fields: Vec<Field>,
    places: Vec<Place>,
    /// The hash of the first `n` fields, for each `n`.
    hashes: Vec<u64>,
    /// The end of the fixed part of the first `n` fields, for each `n`.
    ends: Vec<usize>,
    /// The fewest fields that a blob must have.
    required: usize,
    /// The slots of the fields whose bytes are in the tail, with the fields' numbers.
    tails: Vec<(usize, usize)>,
    /// A blob of NULLs without its total length: header, fixed part, checks.
    template: Vec<u8>,
    /// A blob whose values stand for those of fields that an older blob does not have.
    defaults: Vec<u8>,
}

/// Free places of the fixed part, and the byte whose bits are the next flags.
#[derive(Default)]
struct Room {
    taken: Vec<bool>,
    flags: Option<(usize, u8)>,
}

impl Room {
    /// The lowest free place. It depends only on what was placed before.
    fn place(&mut self, size: usize, align: usize) -> usize {
        let mut start = 0;
        while self.taken.iter().skip(start).take(size).any(|taken| *taken) {
            start += align;
        }
        if self.taken.len() < start + size {
            self.taken.resize(start + size, false);
        }
        self.taken.iter_mut().skip(start).take(size).for_each(|taken| *taken = true);
        HEADER_BYTES + start
    }

    fn flag(&mut self) -> (usize, u8) {
        let (byte, bit) = match self.flags {
            Some((byte, bit)) if bit < 7 => (byte, bit + 1),
            _ => (self.place(1, 1), 0),
        };
        self.flags = Some((byte, bit));
        (byte, bit)
    }

    /// The checks that follow are aligned to four bytes.
    fn end(&self) -> usize {
        HEADER_BYTES + self.taken.len().next_multiple_of(4)
    }
}

/// FNV-1a, 64 bits, continued from an earlier hash.
fn hashed(before: u64, bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(before, step)
}

/// The hash of the first field's predecessor.
const EMPTY_HASH: u64 = 0xcbf2_9ce4_8422_2325;

/// Half of a hash, for the table of checks.
pub(crate) fn folded(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

impl Layout {
    /// Places the fields. A fault if there are none or too many of them, or if they are too large.
    pub fn new(fields: Vec<Field>) -> Result<Self, Fault> {
        if fields.is_empty() || fields.len() > FIELDS_MOST {
            return Err(Fault::new(format!("a struct has from 1 to {FIELDS_MOST} fields")));
        }
        let (mut room, mut previous_end) = (Room::default(), None);
        let (mut hashes, mut ends) = (vec![EMPTY_HASH], vec![room.end()]);
        let (mut places, mut hash) = (Vec::new(), EMPTY_HASH);
        for field in &fields {
            if field.kind.depth() > DEPTH_MOST {
                let reason = format!("lists and structs stand in each other {DEPTH_MOST} deep");
                return Err(Fault::new(format!("at most, {reason}")).within(&field.name));
            }
            let flag = field.optional.then(|| room.flag());
            let (size, align) = field.kind.slot();
            let slot = room.place(size, align);
            places.push(Place { slot, flag, previous_end });
            if !matches!(field.kind, Kind::Scalar(_)) {
                previous_end = Some(slot);
            }
            if room.end() > FIXED_BYTES_MOST {
                let reason = format!("the fixed part ends after {FIXED_BYTES_MOST} bytes");
                return Err(Fault::new(reason).within(&field.name));
            }
            let mark = if field.optional { "?" } else { "" };
            let token = format!("{}\0{}{mark}\0", field.name, field.kind);
            hash = hashed(hash, token.as_bytes());
            hashes.push(hash);
            ends.push(room.end());
        }
        let last_required = fields.iter().rposition(|field| !field.can_be_missing);
        let required = last_required.map_or(1, |index| index + 1);
        let is_tail = |(index, (field, place)): (usize, (&Field, &Place))| {
            (!matches!(field.kind, Kind::Scalar(_))).then_some((index, place.slot))
        };
        let tails = fields.iter().zip(&places).enumerate().filter_map(is_tail).collect();
        let (template, defaults) = (Vec::new(), Vec::new());
        let mut made = Self { fields, places, hashes, ends, required, tails, template, defaults };
        made.template = made.new_template();
        let mut writer = Writer::begin(&made, Vec::new());
        (0..made.fields.len()).for_each(|_| writer.skip());
        made.defaults = writer.finish()?;
        Ok(made)
    }

    /// The same layout, with a blob of the values that fields have in older blobs.
    #[must_use]
    pub fn with_defaults(mut self, defaults: Vec<u8>) -> Self {
        self.defaults = defaults;
        self
    }

    /// The values of fields that an older blob does not have.
    pub(crate) fn defaults(&self) -> Blob<'_> {
        Blob::trusted(self, &self.defaults)
    }

    /// The bytes of the blob of defaults.
    #[must_use]
    pub fn default_bytes(&self) -> &[u8] {
        &self.defaults
    }

    /// The value that a field has in an older blob.
    pub fn default_value(&self, index: usize) -> Result<Value<'_>, Fault> {
        self.defaults().value(self, index)
    }

    /// The fields whose bytes are in the tail, and the slots where their bytes end.
    pub(crate) fn tails(&self) -> &[(usize, usize)] {
        &self.tails
    }

    fn new_template(&self) -> Vec<u8> {
        let count = self.fields.len();
        let checks = self.checks();
        let mut made = Vec::with_capacity(self.fixed_end() + 4 * checks.len());
        made.extend_from_slice(&MAGIC);
        made.extend_from_slice(&[FORMAT, checks.len() as u8]);
        made.extend_from_slice(&(count as u16).to_le_bytes());
        made.extend_from_slice(&self.hash(count).unwrap_or_default().to_le_bytes());
        made.extend_from_slice(&[0; 4]);
        made.extend_from_slice(&(self.fixed_end() as u32).to_le_bytes());
        made.resize(self.fixed_end(), 0);
        for (field, place) in self.fields.iter().zip(&self.places) {
            if let Kind::Scalar(scalar) = field.kind
                && let Some(slot) = made.get_mut(place.slot..place.slot + scalar.size())
            {
                scalar.write_null(slot);
            }
        }
        made.extend(checks.iter().flat_map(|check| check.to_le_bytes()));
        made
    }

    /// The folded hashes of the shorter versions that may read these blobs, the shortest first.
    fn checks(&self) -> Vec<u32> {
        let shortest = self.required.max(self.fields.len().saturating_sub(CHECKS_MOST));
        let shorter = self.hashes.get(shortest..self.fields.len()).unwrap_or_default();
        shorter.iter().map(|hash| folded(*hash)).collect()
    }

    /// The fields.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// A field and its place.
    #[must_use]
    pub fn field(&self, index: usize) -> Option<(&Field, Place)> {
        Some((self.fields.get(index)?, *self.places.get(index)?))
    }

    /// The position of the field of this name.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// The names of the fields, in a sentence.
    #[must_use]
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
        names.join(", ")
    }

    /// The place of each field's column among columns of these names; none for a field that can be
    /// missing.
    ///
    /// # Errors
    /// A column of no field, or a field without its column.
    pub fn matched(&self, columns: &[String]) -> Result<Vec<Option<usize>>, Unmatched> {
        if let Some(name) = columns.iter().find(|name| self.index_of(name).is_none()) {
            return Err(Unmatched::Column(name.clone()));
        }
        let place = |field: &Field| match columns.iter().position(|name| *name == field.name) {
            None if !field.can_be_missing => Err(Unmatched::Field(field.name.clone())),
            place => Ok(place),
        };
        self.fields.iter().map(place).collect()
    }

    /// The hash of the first `count` fields; none if there are fewer.
    #[must_use]
    pub fn hash(&self, count: usize) -> Option<u64> {
        self.hashes.get(count).copied()
    }

    /// The fewest fields of a blob that can be read: up to the last one without which none can.
    #[must_use]
    pub fn required(&self) -> usize {
        self.required
    }

    /// The end of the fixed part of a blob of `count` fields.
    pub(crate) fn end_of(&self, count: usize) -> Option<usize> {
        self.ends.get(count).copied()
    }

    /// The end of the fixed part.
    #[must_use]
    pub fn fixed_end(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// The start of each blob: a blob of NULLs without its total length.
    #[must_use]
    pub fn template(&self) -> &[u8] {
        &self.template
    }

    pub(crate) fn depth(&self) -> usize {
        self.fields.iter().map(|field| field.kind.depth()).max().unwrap_or_default()
    }
}
