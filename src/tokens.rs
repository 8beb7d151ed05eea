//! How many tokens a text is, for budgets in tokens.
//!
//! Knows one vocabulary, `o200k_base` (feature `tokens`), and no JSON. A text is counted in pieces of [`PIECE`] bytes, so that
//! none need be held; a token across the end of a piece counts as two.

use crate::work::{self, Work, words};

/// Bytes that are counted together.
const PIECE: usize = 64 << 10;
/// Bytes of the longest token.
pub(crate) const LONGEST: u64 = 128;

/// Counts a text that comes in parts; how it is cut does not matter.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    pending: Vec<u8>,
    tokens: u64,
}

impl Counter {
    /// Takes more of the text.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = PIECE.saturating_sub(self.pending.len()).max(1);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            work::count(Work::Tail, words(now.len()));
            self.pending.extend_from_slice(now);
            bytes = later;
            if self.pending.len() >= PIECE {
                self.count(false);
            }
        }
    }

    /// The tokens of the whole text; another one may begin.
    pub(crate) fn finish(&mut self) -> u64 {
        self.count(true);
        self.pending.clear();
        std::mem::take(&mut self.tokens)
    }

    /// Counts what has come, without a character that is cut, unless that is `all`.
    fn count(&mut self, all: bool) {
        let (text, valid) = match std::str::from_utf8(&self.pending) {
            Ok(text) => (text.into(), self.pending.len()),
            Err(error) if !all && error.error_len().is_none() => {
                let valid = error.valid_up_to();
                (String::from_utf8_lossy(self.pending.get(..valid).unwrap_or_default()), valid)
            }
            Err(_) => (String::from_utf8_lossy(&self.pending), self.pending.len()),
        };
        work::count(Work::Tail, text.len() + words(self.pending.len() - valid));
        self.tokens += bpe_openai::o200k_base().count(&text) as u64;
        self.pending.drain(..valid);
    }
}

#[cfg(test)]
mod tests {
    use super::{Counter, LONGEST, PIECE};

    fn count(parts: &[&[u8]]) -> u64 {
        let mut counter = Counter::default();
        parts.iter().for_each(|part| counter.push(part));
        counter.finish()
    }

    #[test]
    fn counts_as_the_vocabulary_does() {
        assert_eq!(count(&[b""]), 0);
        assert_eq!(count(&[b"hello world"]), 2);
        assert_eq!(count(&[b"hello w", b"orld"]), 2);
        assert_eq!(
            count(&["\u{1f600}".as_bytes().split_at(2).0, "\u{1f600}".as_bytes().split_at(2).1]),
            count(&["\u{1f600}".as_bytes()])
        );
        assert!(count(&[b"\xff\xfe"]) > 0, "what is no text is counted all the same");
    }

    #[test]
    fn pieces_do_not_depend_on_parts() {
        let text = "some words, and more of them \u{e9}\u{4e2d}; ".repeat(4000);
        assert!(text.len() > 2 * PIECE);
        let whole = count(&[text.as_bytes()]);
        for size in [1, 7, 4096, PIECE - 1, PIECE + 1] {
            let parts: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            assert_eq!(count(&parts), whole, "{size}");
        }
    }

    #[test]
    fn no_token_is_longer() {
        let bpe = &bpe_openai::o200k_base().bpe;
        let longest = (0..bpe.num_tokens() as u32).map(|token| bpe.token_len(token)).max();
        assert_eq!(longest.map(|bytes| bytes as u64), Some(LONGEST));
    }
}
