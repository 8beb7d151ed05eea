//! The last step before the sink: holds a short output until it is certain to be shorter than the input (SPEC §10),
//! and counts what is written.
//!
//! Memory: at most [`COMPARE_LIMIT`] bytes while undecided, or [`COMPARE_LIMIT_WITH_NOTICE`], and then a buffer of `GATHERED` bytes.

use tamis_json::sink::Sink;

/// Inputs up to this length are compared with their output, in bytes.
pub const COMPARE_LIMIT: usize = 4 << 10;
/// The limit of texts that end with a notice of what was left out, until more was left out than the notice can have.
pub const COMPARE_LIMIT_WITH_NOTICE: usize = 64 << 10;
/// Size of the buffer in which small writes are gathered, in bytes.
const GATHERED: usize = 16 << 10;

/// The length of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextSize {
    /// Its bytes.
    pub bytes: u64,
    /// Its characters.
    pub chars: u64,
}

impl TextSize {
    /// Adds the size of a piece of text.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.chars += chars(bytes);
    }
}

/// Number of characters that begin in these bytes. Every byte that is not a continuation byte counts, so the result
/// does not depend on where a text is cut.
fn chars(bytes: &[u8]) -> u64 {
    // The count of a block fits into a byte, which lets the compiler vectorise the loop.
    let blocks = bytes.chunks(255);
    blocks
        .map(|block| {
            u64::from(block.iter().map(|byte| u8::from(!is_continuation(*byte))).sum::<u8>())
        })
        .sum()
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

#[derive(Debug)]
pub(super) struct PendingText {
    /// Inputs up to this length are compared.
    limit: usize,
    /// Length of the input, while it is short.
    input: usize,
    out: Vec<u8>,
    /// Whether the output is certain to be used.
    open: bool,
    size: TextSize,
    /// The last byte of the output.
    last: Option<u8>,
}

impl Default for PendingText {
    fn default() -> Self {
        Self {
            limit: COMPARE_LIMIT,
            input: 0,
            out: Vec::new(),
            open: false,
            size: TextSize::default(),
            last: None,
        }
    }
}

impl PendingText {
    /// Sets the length up to which inputs are compared.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        if self.input > limit || self.out.len() > limit {
            self.open();
        }
    }

    /// Counts input. A long input decides in favour of the output.
    pub(super) fn input(&mut self, chunk: &[u8]) {
        if self.open {
            return;
        }
        self.input = self.input.saturating_add(chunk.len());
        if self.input > self.limit {
            self.open();
        }
    }

    /// Whether the output is certain to be used.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Adds output.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        self.last = bytes.last().copied().or(self.last);
        if self.out.len() + bytes.len() > GATHERED {
            self.flush(sink);
            if self.open && bytes.len() > GATHERED {
                self.size.add(bytes);
                sink.write(bytes);
                return;
            }
        }
        self.out.extend_from_slice(bytes);
        if !self.open && self.out.len() > self.limit {
            self.open();
        }
    }

    /// Appends a last line. It is short, and part of the comparison.
    pub(super) fn note(&mut self, text: &str) {
        if self.last.is_some_and(|last| last != b'\n') {
            self.out.push(b'\n');
        }
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'\n');
    }

    /// Decides in favour of the output, whatever its length.
    pub(super) fn open(&mut self) {
        self.open = true;
    }

    /// Writes the buffered output, once it is certain to be used.
    pub(super) fn flush(&mut self, sink: &mut dyn Sink) {
        if self.open && !self.out.is_empty() {
            self.size.add(&self.out);
            sink.write(&self.out);
            self.out.clear();
        }
    }

    /// Whether there is no output so far.
    pub(super) fn is_empty(&self) -> bool {
        self.size.bytes == 0 && self.out.is_empty()
    }

    /// Whether the input, given as a terminal shows it in `clean`, is to be used instead of the output. Call it at
    /// the end.
    pub(super) fn prefers(&self, clean: &[u8]) -> bool {
        !self.open && clean.len() <= self.out.len()
    }

    /// Writes the output, or the text that replaces it, and returns the size.
    pub(super) fn settle(&mut self, instead: Option<&[u8]>, sink: &mut dyn Sink) -> TextSize {
        if let Some(text) = instead {
            self.out.clear();
            self.out.extend_from_slice(text);
        }
        self.open();
        self.flush(sink);
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::{COMPARE_LIMIT, GATHERED, PendingText, TextSize};

    /// Runs inputs and outputs through a `PendingText`. Returns what is written, and whether that is the input.
    fn pass(input: &[u8], output: &[u8], stands: bool) -> (Vec<u8>, bool) {
        let (mut gate, mut sink) = (PendingText::default(), Vec::new());
        for chunk in input.chunks(1000) {
            gate.input(chunk);
        }
        for piece in output.chunks(700) {
            gate.put(piece, &mut sink);
        }
        if stands {
            gate.open();
        }
        let raw = gate.prefers(input);
        let size = gate.settle(raw.then_some(input), &mut sink);
        assert_eq!(size.bytes, sink.len() as u64);
        (sink, raw)
    }

    #[test]
    fn the_shorter_text_wins_and_the_input_if_none_is() {
        let (input, output) = (vec![b'i'; 9 << 10], vec![b'o'; 9 << 10]);
        for (inside, outside, raw) in [
            (0, 0, true),
            (5, 5, true),
            (5, 4, false),
            (5, 6, true),
            (COMPARE_LIMIT, COMPARE_LIMIT, true),
            (COMPARE_LIMIT, COMPARE_LIMIT - 1, false),
            // Nothing of a longer text is held.
            (COMPARE_LIMIT + 1, COMPARE_LIMIT, false),
            (COMPARE_LIMIT, COMPARE_LIMIT + 1, false),
            (COMPARE_LIMIT + 1, 2 * COMPARE_LIMIT, false),
        ] {
            let expected = if raw { &input[..inside] } else { &output[..outside] };
            let found = pass(&input[..inside], &output[..outside], false);
            assert_eq!(found, (expected.to_vec(), raw), "{inside} in, {outside} out");
            let found = pass(&input[..inside], &output[..outside], true);
            assert_eq!(found, (output[..outside].to_vec(), false), "{inside} in, stands");
        }
    }

    #[test]
    fn accepted_text_is_not_held() {
        let (mut gate, mut sink) = (PendingText::default(), Vec::new());
        gate.open();
        for piece in [10, GATHERED, 1, GATHERED + 1, 3] {
            gate.put(&vec![b'x'; piece], &mut sink);
            assert!(gate.out.len() <= GATHERED);
        }
        gate.flush(&mut sink);
        assert_eq!(sink.len(), 2 * GATHERED + 15);
    }

    #[test]
    fn characters_are_counted_where_they_begin() {
        let text = "aé€😀\u{0}".repeat(300);
        for cut in 0..40 {
            let mut size = TextSize::default();
            size.add(&text.as_bytes()[..cut]);
            size.add(&text.as_bytes()[cut..]);
            let expected =
                TextSize { bytes: text.len() as u64, chars: text.chars().count() as u64 };
            assert_eq!(size, expected);
        }
    }
}
