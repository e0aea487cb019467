//! Bytes that were checked to be a struct.

use std::ops::Range;

use crate::kind::Kind;
use crate::layout::{FORMAT, HEADER_BYTES, IDENTITY_BYTES, MAGIC, folded};
use crate::list::ListView;
use crate::{Fault, Layout, Value};

/// A blob whose header fits its layout, and whose fields end within it, in order.
#[derive(Clone, Copy, Debug)]
pub struct Blob<'a> {
    bytes: &'a [u8],
    /// The number of its fields, which may be more or fewer than the layout's.
    fields: usize,
    /// The start of the tail.
    tail: usize,
}

/// A part of a blob.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    /// The whole blob: positions are aligned within it.
    pub(crate) blob: &'a [u8],
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl<'a> Span<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.blob.get(self.start..self.end).unwrap_or_default()
    }

    /// The part between two positions, whose bytes start at a multiple of `align`. Nothing is
    /// skipped in an empty part.
    pub(crate) fn between(
        blob: &'a [u8],
        previous_end: usize,
        end: usize,
        align: usize,
    ) -> Result<Self, Fault> {
        let start = if end > previous_end { previous_end.next_multiple_of(align) } else { end };
        if previous_end > end || start > end || end > blob.len() {
            return Err(Fault::new(format!(
                "its bytes go from {start} to {end} of {} bytes",
                blob.len()
            )));
        }
        Ok(Self { blob, start, end })
    }
}

pub(crate) fn word(bytes: &[u8], position: usize) -> Option<u32> {
    let found = bytes.get(position..position.checked_add(4)?)?;
    Some(u32::from_le_bytes(found.try_into().ok()?))
}

impl<'a> Blob<'a> {
    /// Checks the header, and where each field ends. A fault tells how the bytes differ.
    #[inline]
    pub fn open(layout: &Layout, bytes: &'a [u8]) -> Result<Self, Fault> {
        let template = layout.template();
        let is_same_version = bytes.get(..IDENTITY_BYTES) == template.get(..IDENTITY_BYTES)
            && bytes.get(20..HEADER_BYTES) == template.get(20..HEADER_BYTES);
        let opened = if is_same_version {
            Self { bytes, fields: layout.fields().len(), tail: template.len() }
        } else {
            Self::open_other(layout, bytes)?
        };
        let total = word(bytes, 16).unwrap_or_default() as usize;
        if total != bytes.len() || total < opened.tail {
            return Err(cut(layout, total, opened.tail, bytes.len()));
        }
        let mut previous = opened.tail;
        for (index, slot) in layout.tails() {
            if *index >= opened.fields {
                break;
            }
            let end = word(bytes, *slot).unwrap_or_default() as usize;
            if end < previous || end > total {
                return Err(misplaced(layout, *index, previous, end, total));
            }
            previous = end;
        }
        Ok(opened)
    }

    /// The number of its bytes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The result of `open`: the number of fields, and the start of the tail.
    #[must_use]
    pub fn parts(&self) -> (usize, usize) {
        (self.fields, self.tail)
    }

    /// A blob of the same bytes, opened before.
    #[must_use]
    pub fn opened_before(bytes: &'a [u8], (fields, tail): (usize, usize)) -> Self {
        Self { bytes, fields, tail }
    }

    /// A blob that a writer has made for this layout.
    pub(crate) fn trusted(layout: &Layout, bytes: &'a [u8]) -> Self {
        Self { bytes, fields: layout.fields().len(), tail: layout.template().len() }
    }

    /// A blob of an earlier or later version; or the reason why it is not one.
    #[cold]
    fn open_other(layout: &Layout, bytes: &'a [u8]) -> Result<Self, Fault> {
        let Some(header) = bytes.get(..HEADER_BYTES) else {
            let count = bytes.len();
            let reason = format!("{count} bytes are no struct: a header has {HEADER_BYTES}");
            return Err(Fault::new(reason));
        };
        if header.get(..4) != Some(&MAGIC) {
            return Err(Fault::new("the bytes are no struct: they do not start with its mark"));
        }
        let version = header.get(4).copied().unwrap_or_default();
        if version != FORMAT {
            return Err(Fault::new(format!(
                "the struct has the format {version}, and this version of the package reads the \
                 format {FORMAT}"
            )));
        }
        let checks = header.get(5).copied().unwrap_or_default().into();
        let fields = (word(header, 4).unwrap_or_default() >> 16) as usize;
        let fixed_end = word(header, 20).unwrap_or_default() as usize;
        let read = Other { bytes, checks, fields, fixed_end };
        read.check(layout)?;
        Ok(Self { bytes, fields, tail: fixed_end + 4 * checks })
    }

    /// Whether the field has a value.
    pub fn has_value(&self, layout: &Layout, index: usize) -> bool {
        let Some((_, place)) = layout.field(index) else { return false };
        let source = if index < self.fields { *self } else { layout.defaults() };
        source.is_set(place.flag)
    }

    #[inline]
    fn is_set(&self, flag: Option<(usize, u8)>) -> bool {
        flag.is_none_or(|(byte, bit)| {
            self.bytes.get(byte).is_some_and(|flags| flags >> bit & 1 == 1)
        })
    }

    /// This blob, or the one with the defaults, whichever has the field.
    #[inline]
    fn with_field<'b>(self, layout: &'b Layout, index: usize) -> Blob<'b>
    where
        'a: 'b,
    {
        if index < self.fields { self } else { layout.defaults() }
    }

    /// The bytes of a scalar; none if it is NULL.
    #[inline]
    pub(crate) fn slot<'b>(
        self,
        layout: &'b Layout,
        index: usize,
        position: usize,
        size: usize,
        flag: Option<(usize, u8)>,
    ) -> Option<&'b [u8]>
    where
        'a: 'b,
    {
        let source = self.with_field(layout, index);
        if !source.is_set(flag) {
            return None;
        }
        source.bytes.get(position..position + size)
    }

    /// The part of the tail that a field has; none if it is NULL.
    pub(crate) fn span<'b>(
        self,
        layout: &'b Layout,
        index: usize,
    ) -> Result<Option<Span<'b>>, Fault>
    where
        'a: 'b,
    {
        let Some((field, place)) = layout.field(index) else { return Ok(None) };
        let source = self.with_field(layout, index);
        if !source.is_set(place.flag) {
            return Ok(None);
        }
        let end_at = |slot| word(source.bytes, slot).unwrap_or_default() as usize;
        let previous = place.previous_end.map_or(source.tail, end_at);
        let align = field.kind.tail_align();
        Span::between(source.bytes, previous, end_at(place.slot), align).map(Some)
    }

    /// The value of a field. A fault names the field.
    pub fn value<'b>(self, layout: &'b Layout, index: usize) -> Result<Value<'b>, Fault>
    where
        'a: 'b,
    {
        let Some((field, place)) = layout.field(index) else {
            return Err(Fault::new(format!("there is no field {index}")));
        };
        let read = match field.kind {
            Kind::Scalar(scalar) => {
                let slot = self.slot(layout, index, place.slot, scalar.size(), place.flag);
                slot.map_or(Ok(Value::Null), |slot| scalar.read(slot))
            }
            _ => match self.span(layout, index) {
                Ok(span) => span.map_or(Ok(Value::Null), |span| tail_value(&field.kind, span)),
                Err(fault) => Err(fault),
            },
        };
        read.map_err(|fault| fault.within(&field.name))
    }

    /// Where the bytes of a field are in its tail, and whether in the blob of defaults instead of
    /// this one; none if it is NULL.
    pub fn part(
        self,
        layout: &Layout,
        index: usize,
    ) -> Result<Option<(Range<usize>, bool)>, Fault> {
        let name = layout.field(index).map_or("", |(field, _)| &field.name);
        let span = self.span(layout, index).map_err(|fault| fault.within(name))?;
        Ok(span.map(|span| (span.start..span.end, index >= self.fields)))
    }
}

/// The value of bytes in the tail.
pub(crate) fn tail_value<'a>(kind: &Kind, span: Span<'a>) -> Result<Value<'a>, Fault> {
    match kind {
        Kind::Str => match std::str::from_utf8(span.bytes()) {
            Ok(text) => Ok(Value::Text(text.into())),
            Err(_) => Err(Fault::new("its bytes are not UTF-8")),
        },
        Kind::Bytes => Ok(Value::Bytes(span.bytes().into())),
        Kind::Struct(layout) => {
            Blob::open(layout, span.bytes())?;
            Ok(Value::Struct(span.bytes().into()))
        }
        Kind::List { element, optional } => {
            let list = ListView::new(element, *optional, span)?;
            let mut values = Vec::with_capacity(list.len());
            for index in 0..list.len() {
                values.push(list.value(index)?);
            }
            Ok(Value::List(values))
        }
        Kind::Scalar(scalar) => scalar.read(span.bytes()),
    }
}

#[cold]
fn cut(layout: &Layout, total: usize, tail: usize, found: usize) -> Fault {
    let fault = Fault::new(format!(
        "the struct has {total} bytes, {tail} of them before the fields of varying length, and \
         {found} are there"
    ));
    // The first field whose place is beyond the end.
    let lost = layout.fields().iter().enumerate().find(|(index, field)| {
        let place = layout.field(*index).map(|(_, place)| place.slot + field.kind.slot().0);
        place.is_some_and(|end| end > found)
    });
    match lost {
        Some((_, field)) => fault.within(&field.name),
        None => fault,
    }
}

#[cold]
fn misplaced(layout: &Layout, index: usize, previous: usize, end: usize, total: usize) -> Fault {
    let name = layout.field(index).map_or("", |(field, _)| field.name.as_str());
    Fault::new(format!("its bytes go from {previous} to {end} of {total} bytes")).within(name)
}

/// The header of a blob of another version, or of another struct.
struct Other<'a> {
    bytes: &'a [u8],
    checks: usize,
    fields: usize,
    fixed_end: usize,
}

impl Other<'_> {
    fn check(&self, layout: &Layout) -> Result<(), Fault> {
        let known = layout.fields().len();
        if self.fields == 0 || self.checks >= self.fields || !self.fixed_end.is_multiple_of(4) {
            return Err(Fault::new("the header of the struct contradicts itself"));
        }
        let hash = self.bytes.get(8..16).and_then(|hash| hash.try_into().ok());
        let hash = u64::from_le_bytes(hash.unwrap_or_default());
        if self.fields <= known {
            if layout.hash(self.fields) != Some(hash) {
                return Err(self.stranger(layout));
            }
            if self.fields < layout.required() {
                let missing = layout.field(self.fields).map_or("", |(field, _)| &field.name);
                let reason = "an older version of the struct does not have it, and it has no \
                              default and is not optional";
                return Err(Fault::new(reason).within(missing));
            }
            return match layout.end_of(self.fields) == Some(self.fixed_end) {
                true => Ok(()),
                false => Err(Fault::new("the header of the struct contradicts itself")),
            };
        }
        match layout.hash(known) {
            Some(hash) if self.check_of(known) == Some(folded(hash)) => {}
            _ => return Err(self.stranger(layout)),
        }
        if self.fixed_end < layout.fixed_end() || self.fixed_end > self.bytes.len() {
            return Err(Fault::new("the header of the struct contradicts itself"));
        }
        Ok(())
    }

    /// The blob's own record of the hash of its first `count` fields.
    fn check_of(&self, count: usize) -> Option<u32> {
        let index = count.checked_sub(self.fields - self.checks)?;
        if index >= self.checks {
            return None;
        }
        word(self.bytes, self.fixed_end.checked_add(4 * index)?)
    }

    /// The fault of a struct with other fields. It names the first one that differs, if the blob
    /// tells.
    #[cold]
    fn stranger(&self, layout: &Layout) -> Fault {
        let known = layout.fields().len();
        let shortest = self.fields - self.checks;
        let reason = |what: &str| {
            Fault::new(format!(
                "the bytes are of another struct, with {} fields: {what} another name or type",
                self.fields
            ))
        };
        let differs = (shortest..self.fields.min(known + 1))
            .find(|count| layout.hash(*count).map(folded) != self.check_of(*count));
        let first = match differs {
            Some(count) if count > shortest => count - 1,
            Some(_) => return reason(&format!("one of its first {shortest} has")),
            None => self.fields.min(known) - 1,
        };
        match layout.field(first) {
            Some((field, _)) => reason("it has").within(&field.name),
            None => reason("one of them has"),
        }
    }
}
