//! Lists in the tail of a blob.
//!
//! Elements of a fixed size stand side by side, with the flags of optional ones after them. Other
//! lists start with the number of elements and the end of each; then come the flags, and the bytes.

use crate::blob::{Span, tail_value, word};
use crate::kind::{Kind, Scalar};
use crate::{Fault, Layout, Value};

/// A list whose parts were checked to lie within it.
pub(crate) struct ListView<'a, 'k> {
    kind: &'k Kind,
    span: Span<'a>,
    count: usize,
    /// The position of the flags in the span; none if no element can be NULL.
    flags: Option<usize>,
}

/// The number of elements of this size, with a flag each, that take up this many bytes.
fn flagged_count(bytes: usize, size: usize) -> Option<usize> {
    let count = bytes.saturating_mul(8) / (8 * size + 1);
    (count * size + count.div_ceil(8) == bytes).then_some(count)
}

impl<'a, 'k> ListView<'a, 'k> {
    pub(crate) fn new(kind: &'k Kind, optional: bool, span: Span<'a>) -> Result<Self, Fault> {
        let bytes = span.end - span.start;
        let wrong = || Fault::new(format!("a list of {kind} does not have {bytes} bytes"));
        if bytes == 0 {
            return Ok(Self { kind, span, count: 0, flags: None });
        }
        let (count, flags) = match kind {
            Kind::Scalar(scalar) if optional => {
                let count = flagged_count(bytes, scalar.size()).ok_or_else(wrong)?;
                (count, Some(count * scalar.size()))
            }
            Kind::Scalar(scalar) if bytes.is_multiple_of(scalar.size()) => {
                (bytes / scalar.size(), None)
            }
            Kind::Scalar(_) => return Err(wrong()),
            _ => {
                let count = word(span.bytes(), 0).ok_or_else(wrong)? as usize;
                let ends = count.checked_mul(4).and_then(|ends| ends.checked_add(4));
                let ends = ends.filter(|ends| *ends <= bytes).ok_or_else(wrong)?;
                let flags = optional.then_some(ends);
                if optional && ends + count.div_ceil(8) > bytes {
                    return Err(wrong());
                }
                (count, flags)
            }
        };
        Ok(Self { kind, span, count, flags })
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    fn has_value(&self, index: usize) -> bool {
        self.flags.is_none_or(|flags| {
            let byte = self.span.bytes().get(flags + index / 8);
            byte.is_some_and(|byte| byte >> (index % 8) & 1 == 1)
        })
    }

    /// The bytes of an element of a fixed size; none if it is NULL.
    pub(crate) fn slot(&self, index: usize, size: usize) -> Option<&'a [u8]> {
        if !self.has_value(index) {
            return None;
        }
        self.span.bytes().get(index * size..(index + 1) * size)
    }

    /// The part of the list that an element of varying length has; none if it is NULL.
    pub(crate) fn part(&self, index: usize) -> Result<Option<Span<'a>>, Fault> {
        if !self.has_value(index) {
            return Ok(None);
        }
        let head = 4 + 4 * self.count + self.flags.map_or(0, |_| self.count.div_ceil(8));
        let end_of = |index: usize| word(self.span.bytes(), 4 + 4 * index).unwrap_or_default();
        let previous = index.checked_sub(1).map_or(head, |before| end_of(before) as usize);
        let end = end_of(index) as usize;
        let start = self.span.start;
        if previous < head || end > self.span.end - start {
            let reason = format!("element {index} of the list is not within it");
            return Err(Fault::new(reason));
        }
        let align = self.kind.tail_align();
        let part = Span::between(self.span.blob, start + previous, start + end, align);
        part.map(Some)
            .map_err(|_| Fault::new(format!("element {index} of the list ends before it starts")))
    }

    pub(crate) fn value(&self, index: usize) -> Result<Value<'a>, Fault> {
        match self.kind {
            Kind::Scalar(scalar) => {
                self.slot(index, scalar.size()).map_or(Ok(Value::Null), |slot| scalar.read(slot))
            }
            kind => self.part(index)?.map_or(Ok(Value::Null), |part| tail_value(kind, part)),
        }
    }
}

/// The type of a list's elements, if they are of a fixed size and none of them can be NULL.
#[must_use]
pub fn fixed_elements(layout: &Layout, index: usize) -> Option<Scalar> {
    match &layout.field(index)?.0.kind {
        Kind::List { element, optional: false } => match element.as_ref() {
            Kind::Scalar(scalar) => Some(*scalar),
            _ => None,
        },
        _ => None,
    }
}
