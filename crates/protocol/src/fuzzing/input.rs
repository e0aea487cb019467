//! A fuzzer's bytes, split up as a test needs them.

/// The rest of a fuzzer's bytes. At the end it yields zeros, so that taking never fails; a loop
/// that takes must check whether it is empty.
#[derive(Clone, Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// All bytes of a fuzzer.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All remaining bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Up to `len` bytes.
    pub fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// Whether a byte is odd.
    pub fn flag(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    /// A number below `end`, which must be 1 to 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    /// One of several.
    pub fn choose<'b, T>(&mut self, all: &'b [T]) -> Option<&'b T> {
        let [high, low] = [self.byte(), self.byte()].map(usize::from);
        all.get((high * 256 + low) % all.len().max(1))
    }

    /// A 32-bit number; small ones are frequent.
    pub fn number(&mut self) -> u32 {
        match self.byte() {
            0xff => u32::MAX,
            0xfe => {
                let bytes = self.take(4);
                bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
            }
            small => small.into(),
        }
    }

    /// Bytes preceded by their length in one byte.
    pub fn chunk(&mut self) -> &'a [u8] {
        let len = self.byte().into();
        self.take(len)
    }

    /// As `chunk`, as text.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.chunk()).into_owned()
    }
}
