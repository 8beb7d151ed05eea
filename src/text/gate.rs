//! The way out: a short output waits until it is certain that it is shorter than the input (SPEC §10), and what goes out
//! is counted.
//!
//! Knows bytes. Holds at most [`HOLD`] bytes, and what a chunk's output is gathered in.

use crate::sink::Sink;

/// Texts up to this length are compared with what became of them.
pub(crate) const HOLD: usize = 4 << 10;
/// Small pieces are gathered to pieces of about this length.
const GATHERED: usize = 16 << 10;

/// A text in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: u64,
    pub(super) chars: u64,
}

impl Size {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.chars += chars(bytes);
    }
}

/// Characters that begin in these bytes: each that is no continuation of one, so that it does not matter where a text is
/// cut.
fn chars(bytes: &[u8]) -> u64 {
    // Blocks whose count fits into a byte: the compiler counts many bytes at once.
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

#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Bytes of the input, while it is short.
    input: usize,
    out: Vec<u8>,
    /// The output has won.
    open: bool,
    size: Size,
    /// The last byte that came out.
    last: Option<u8>,
}

impl Gate {
    /// What goes in.
    pub(super) fn input(&mut self, chunk: &[u8]) {
        if self.open {
            return;
        }
        self.input = self.input.saturating_add(chunk.len());
        if self.input > HOLD {
            self.open();
        }
    }

    /// Whether the output has won.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// What comes out.
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
        if !self.open && self.out.len() > HOLD {
            self.open();
        }
    }

    /// A last line behind what came out: short, and part of what is compared.
    pub(super) fn note(&mut self, text: &str) {
        if self.last.is_some_and(|last| last != b'\n') {
            self.out.push(b'\n');
        }
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'\n');
    }

    /// The output is to win, however long it is beside the input.
    pub(super) fn open(&mut self) {
        self.open = true;
    }

    /// Hands on what does not have to wait.
    pub(super) fn flush(&mut self, sink: &mut dyn Sink) {
        if self.open && !self.out.is_empty() {
            self.size.add(&self.out);
            sink.write(&self.out);
            self.out.clear();
        }
    }

    /// Whether nothing came out.
    pub(super) fn is_empty(&self) -> bool {
        self.size.bytes == 0 && self.out.is_empty()
    }

    /// Whether `clean`, all of the input as a terminal shows it, is to be preferred: all is known now.
    pub(super) fn prefers(&self, clean: &[u8]) -> bool {
        !self.open && clean.len() <= self.out.len()
    }

    /// Hands on the output, or what stands instead of it.
    pub(super) fn settle(&mut self, instead: Option<&[u8]>, sink: &mut dyn Sink) -> Size {
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
    use super::{GATHERED, Gate, HOLD, Size};

    /// What comes out of a gate for these inputs and outputs, and whether that is the input.
    fn pass(input: &[u8], output: &[u8], stands: bool) -> (Vec<u8>, bool) {
        let (mut gate, mut sink) = (Gate::default(), Vec::new());
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
            (HOLD, HOLD, true),
            (HOLD, HOLD - 1, false),
            // Nothing of what is longer is held.
            (HOLD + 1, HOLD, false),
            (HOLD, HOLD + 1, false),
            (HOLD + 1, 2 * HOLD, false),
        ] {
            let expected = if raw { &input[..inside] } else { &output[..outside] };
            let found = pass(&input[..inside], &output[..outside], false);
            assert_eq!(found, (expected.to_vec(), raw), "{inside} in, {outside} out");
            let found = pass(&input[..inside], &output[..outside], true);
            assert_eq!(found, (output[..outside].to_vec(), false), "{inside} in, stands");
        }
    }

    #[test]
    fn what_has_won_is_not_held() {
        let (mut gate, mut sink) = (Gate::default(), Vec::new());
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
            let mut size = Size::default();
            size.add(&text.as_bytes()[..cut]);
            size.add(&text.as_bytes()[cut..]);
            let expected = Size { bytes: text.len() as u64, chars: text.chars().count() as u64 };
            assert_eq!(size, expected);
        }
    }
}
