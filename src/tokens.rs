//! Counts the tokens of a text, as `o200k_base` does.
//!
//! Use it to measure what a filter saves for a model. Budgets in tokens count with the same vocabulary if the feature
//! `tokens` is enabled.
//!
//! ```
//! use tamis::tokens::TokenCounter;
//!
//! let mut counter = TokenCounter::new();
//! counter.push(b"hello world");
//! assert_eq!(counter.end().tokens, 2);
//! ```

// The only vocabulary is `o200k_base` (feature `tokens`); JSON is counted as text. A text is counted in pieces of at most
// `PIECE` bytes, so that the text is not held. A piece ends where no token can continue: the vocabulary splits a text
// into words, numbers and so on before it looks for tokens, and no word continues with a space or punctuation after an
// ASCII letter or digit. A token can only be cut in a piece without such a place; it then counts as two.

use std::sync::OnceLock;

use tiktoken::CoreBpe;

use tamis_json::test_work::{self, WorkKind, words};

/// Returns the vocabulary `o200k_base`. The first call unpacks it, which takes about a tenth of a second and 32 MB.
fn o200k_base() -> &'static CoreBpe {
    static VOCABULARY: OnceLock<CoreBpe> = OnceLock::new();
    VOCABULARY.get_or_init(tiktoken::encoding::o200k_base)
}

/// The maximum number of bytes that are counted together.
#[doc(hidden)]
pub const PIECE: usize = 64 << 10;
/// The length of the longest token in bytes.
#[doc(hidden)]
pub const LONGEST: u64 = 128;

/// Counts the tokens of a text that arrives in parts, with the vocabulary `o200k_base`. The result does not depend on
/// how the text is cut into parts.
///
/// Memory: 64 KiB, and the vocabulary, which all counters share. Time: linear in the text.
///
/// ```
/// use tamis::tokens::TokenCounter;
///
/// let mut counter = TokenCounter::new();
/// for part in ["hello w", "orld"] {
///     counter.push(part.as_bytes());
/// }
/// let count = counter.end();
/// assert_eq!((count.tokens, count.exact), (2, true));
/// ```
#[derive(Debug, Default)]
pub struct TokenCounter {
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
    pub fn new() -> Self {
        Self::default()
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
    #[doc(hidden)]
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
        self.tokens += o200k_base().count(&text) as u64;
        self.pending.drain(..bytes);
    }
}

/// Returns the last certain end of a token in a piece. Without one, returns the end of the last complete character, and
/// that a token may be cut there.
#[doc(hidden)]
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

/// Returns the length in bytes of each token of a text.
#[doc(hidden)]
pub fn token_lengths(text: &str) -> impl Iterator<Item = usize> {
    static LENGTHS: OnceLock<Vec<u8>> = OnceLock::new();
    let vocabulary = o200k_base();
    let lengths = LENGTHS.get_or_init(|| {
        let tokens = 0..u32::try_from(vocabulary.vocab_size()).unwrap_or(u32::MAX);
        let length = |token| u8::try_from(vocabulary.decode(&[token]).len()).unwrap_or(u8::MAX);
        tokens.map(length).collect()
    });
    let tokens = vocabulary.encode(text).into_iter();
    tokens.map(|token| lengths.get(token as usize).copied().map_or(0, usize::from))
}

/// Returns whether a token ends between two bytes, whatever precedes and follows them.
fn ends_token([before, after]: [u8; 2]) -> bool {
    // An apostrophe may continue a word: `it's` is one word.
    before.is_ascii_alphanumeric()
        && after.is_ascii()
        && !after.is_ascii_alphanumeric()
        && after != b'\''
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, PIECE, TokenCounter};

    fn count(parts: &[&[u8]]) -> u64 {
        let mut counter = TokenCounter::default();
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

    /// The count of a text in pieces is that of the text as a whole.
    #[test]
    fn pieces_end_where_tokens_do() {
        let words = [
            "it's",
            " don't",
            "I'LL",
            "x1",
            "007",
            " ",
            "  ",
            "\n\n  ",
            "\t",
            "://",
            "é",
            "日本語",
            "ſ",
            "½",
            "²",
            "\u{301}",
            "\u{1f600}",
            "{\"id\":1,",
            "\"name\":\"a b\"},",
            "CamelCase",
            "snake_case",
            "--",
            "   def f(x):\r\n",
            "'s",
            "'",
        ];
        let mut prng = 7_u64;
        for _ in 0..20 {
            let mut text = String::new();
            while text.len() < PIECE + PIECE / 2 {
                prng = prng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push_str(words[(prng >> 33) as usize % words.len()]);
            }
            let mut counter = TokenCounter::new();
            counter.push(text.as_bytes());
            let count = counter.end();
            let whole = super::o200k_base().count(&text) as u64;
            assert_eq!((count.tokens, count.exact), (whole, true));
        }
    }

    /// Each place at which a piece may end, in every short text.
    #[test]
    fn a_token_ends_at_each_such_place() {
        let letters = ["a", "S", "1", " ", "'", ".", "\n", "é", "²"];
        let count = |text: &str| super::o200k_base().count(text);
        for number in 0..letters.len().pow(5) {
            let mut left = number;
            let text: String = (0..5)
                .map(|_| {
                    let letter = letters[left % letters.len()];
                    left /= letters.len();
                    letter
                })
                .collect();
            for at in 1..text.len() {
                let pair = [text.as_bytes()[at - 1], text.as_bytes()[at]];
                if super::ends_token(pair) {
                    let (before, after) = text.split_at(at);
                    assert_eq!(count(before) + count(after), count(&text), "{before:?} {after:?}");
                }
            }
        }
    }

    #[test]
    fn a_piece_without_such_a_place_is_said_to_be_cut() {
        for text in ["x".repeat(PIECE + 1), "日".repeat(PIECE), " ".repeat(2 * PIECE)] {
            let mut counter = TokenCounter::new();
            counter.push(text.as_bytes());
            assert!(!counter.end().exact);
        }
        let mut counter = TokenCounter::new();
        counter.push("x".repeat(PIECE - 1).as_bytes());
        assert!(counter.end().exact);
    }

    #[test]
    fn no_token_is_longer() {
        let vocabulary = super::o200k_base();
        let lengths = (0..200_000).map(|token| vocabulary.decode(&[token]).len() as u64);
        assert_eq!(lengths.max(), Some(LONGEST));
    }

    /// Counts that two other implementations of `o200k_base` agree on.
    #[test]
    fn counts_are_those_of_the_vocabulary() {
        let texts = [
            ("a", 4000, 500),
            ("ab1", 1000, 2000),
            ("é", 1000, 1000),
            ("日本語", 1000, 2000),
            ("😀\u{200d}", 500, 1000),
            (" \n", 3000, 1500),
            ("\t", 3000, 188),
            ("-", 3000, 47),
            ("=-", 3000, 375),
            ("it's I'LL don'T ", 300, 1501),
            ("{\"id\":1,\"name\":\"a b\"},", 300, 2701),
            ("CamelCaseWords snake_case_words ", 200, 1201),
            ("½²٣Ⅷ", 200, 1000),
            ("a\u{301}ſ ǅ", 300, 1800),
            ("\r\n  def f(x):", 300, 1501),
            ("https://example.com/a?b=c&d=%20", 200, 2400),
        ];
        for (text, times, tokens) in texts {
            assert_eq!(count(&[text.repeat(times).as_bytes()]), tokens, "{text:?}");
        }
    }

    /// Counts of the corpus, recorded with another implementation of `o200k_base`.
    #[test]
    fn counts_of_the_corpus() {
        let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        let files = [
            ("github-list-repos.json", 34537),
            ("github-list-issues.json", 14568),
            ("graphql-depth8.json", 3260),
            ("notion-query-database.json", 8018),
            ("slack-get-channel-history.json", 6626),
            ("pages/news.html", 1240),
            ("commands/cargo-test-fail.txt", 1954),
        ];
        for (file, tokens) in files {
            let text = std::fs::read(corpus.join(file)).unwrap();
            assert_eq!(count(&[&text]), tokens, "{file}");
        }
    }

    /// A text of one long word is counted in linear time.
    #[test]
    fn hostile_texts_are_counted_soon() {
        for unit in ["a", "\n", "-", "é", "日", " \t"] {
            let begun = tamis_testkit::clock::cpu_time();
            count(&[unit.repeat((1 << 20) / unit.len()).as_bytes()]);
            let took = tamis_testkit::clock::cpu_time() - begun;
            assert!(took.as_secs() < 30, "{unit:?}: {took:?}");
        }
    }
}
