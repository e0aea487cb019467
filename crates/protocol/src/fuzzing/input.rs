//! A fuzzer's bytes, taken apart as the test needs them.

/// What is left of a fuzzer's bytes. At the end there is nothing but zeros, so that taking never
/// fails; whoever takes in a loop asks whether it is empty.
#[derive(Clone, Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// All of them.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether there are none left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Up to so many bytes.
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

    /// A number below `end`, which is 256 at most and not 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    /// One of several.
    pub fn choose<'b, T>(&mut self, all: &'b [T]) -> Option<&'b T> {
        let [high, low] = [self.byte(), self.byte()].map(usize::from);
        all.get((high * 256 + low) % all.len().max(1))
    }

    /// A 32-bit number of which small ones are frequent.
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

    /// Bytes behind their length, which takes one.
    pub fn chunk(&mut self) -> &'a [u8] {
        let len = self.byte().into();
        self.take(len)
    }

    /// The same as text.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.chunk()).into_owned()
    }
}
