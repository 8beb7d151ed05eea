//! Counts the tokens of a text by a vocabulary that is passed.
//!
//! A text is counted in pieces of at most [`PIECE`] bytes, so that it is not held. A piece ends where no token can continue: the
//! vocabulary splits a text into words, numbers and so on before it looks for tokens, and no word continues with a space or
//! punctuation after an ASCII letter or digit. A token can only be cut in a piece without such a place; it then counts as two.

use std::fmt;

use crate::test_work::{self, WorkKind, words};

/// A vocabulary of a model. `tamis_tokens::o200k_base` is one.
///
/// No token of it may go on after an ASCII letter or digit followed by white space or punctuation other than an apostrophe: long
/// texts are counted in pieces that end there.
pub trait CountTokens: fmt::Debug + Send + Sync {
    /// Returns the number of tokens of a text.
    fn count(&self, text: &str) -> u64;

    /// Returns the length of the longest token in bytes.
    fn longest(&self) -> u64;
}

/// The maximum number of bytes that are counted together.
#[doc(hidden)]
pub const PIECE: usize = 64 << 10;

/// Counts the tokens of a text that arrives in parts. The result does not depend on how the text is cut into parts.
///
/// Memory: 64 KiB, and the vocabulary. Time: linear in the text, if that of the vocabulary is.
///
/// ```
/// use tamis::tokens::TokenCounter;
///
/// let mut counter = TokenCounter::new(tamis_tokens::o200k_base());
/// for part in ["hello w", "orld"] {
///     counter.push(part.as_bytes());
/// }
/// let count = counter.end();
/// assert_eq!((count.tokens, count.exact), (2, true));
/// ```
#[derive(Debug)]
pub struct TokenCounter {
    vocabulary: &'static dyn CountTokens,
    pending: Vec<u8>,
    tokens: u64,
    /// Whether a piece had to end where a token may continue.
    cut: bool,
}

/// The number of tokens in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenCount {
    /// The number of tokens.
    pub tokens: u64,
    /// Whether the number is exact. It is not exact if 64 KiB of the text contain no certain end of a token; each such
    /// stretch may make the number too large by one.
    pub exact: bool,
}

impl TokenCounter {
    /// Creates a counter without text.
    #[must_use]
    pub fn new(vocabulary: &'static dyn CountTokens) -> Self {
        Self { vocabulary, pending: Vec::new(), tokens: 0, cut: false }
    }

    /// Adds the next part of the text. Invalid UTF-8 counts like the replacement character.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = PIECE.saturating_sub(self.pending.len()).max(1);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            test_work::count(WorkKind::Tail, words(now.len()));
            self.pending.extend_from_slice(now);
            bytes = later;
            if self.pending.len() >= PIECE {
                self.count_piece();
            }
        }
    }

    /// Returns the number of tokens in the whole text.
    #[must_use]
    pub fn end(mut self) -> TokenCount {
        let tokens = self.finish();
        TokenCount { tokens, exact: !self.cut }
    }

    /// Returns the number of tokens in the whole text, and resets the counter.
    pub fn finish(&mut self) -> u64 {
        self.count(self.pending.len());
        std::mem::take(&mut self.tokens)
    }

    /// Counts the buffered text up to the last certain end of a token. Without one, counts all of it except an
    /// incomplete character.
    fn count_piece(&mut self) {
        test_work::count(WorkKind::Tail, self.pending.len());
        let (end, cut) = piece_end(&self.pending);
        self.cut |= cut;
        self.count(end);
    }

    /// Counts the first bytes of the buffered text.
    fn count(&mut self, bytes: usize) {
        let text = String::from_utf8_lossy(self.pending.get(..bytes).unwrap_or_default());
        test_work::count(WorkKind::Tail, text.len() + words(self.pending.len() - bytes));
        self.tokens += self.vocabulary.count(&text);
        self.pending.drain(..bytes);
    }
}

/// Returns the last certain end of a token in a piece. Without one, returns the end of the last complete character, and
/// that a token may be cut there.
#[doc(hidden)]
#[must_use]
pub fn piece_end(piece: &[u8]) -> (usize, bool) {
    let pairs = piece.windows(2).enumerate().rev();
    let mut pairs = pairs.filter_map(|(at, pair)| Some((at, pair.try_into().ok()?)));
    match pairs.find(|(_, pair)| ends_token(*pair)) {
        Some((at, _)) => (at + 1, false),
        None => match std::str::from_utf8(piece) {
            Err(error) if error.error_len().is_none() => (error.valid_up_to(), true),
            _ => (piece.len(), true),
        },
    }
}

/// Returns whether a token ends between two bytes, whatever precedes and follows them.
#[doc(hidden)]
#[must_use]
pub fn ends_token([before, after]: [u8; 2]) -> bool {
    // An apostrophe may continue a word: `it's` is one word.
    before.is_ascii_alphanumeric()
        && after.is_ascii()
        && !after.is_ascii_alphanumeric()
        && after != b'\''
}
