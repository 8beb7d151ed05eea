//! [`Query`]: the words of the call that asked for a text.

use crate::words;

/// Words that say nothing about what is looked for.
const COMMON: &[&str] = &[
    "about",
    "also",
    "bash",
    "code",
    "command",
    "could",
    "description",
    "echo",
    "file",
    "file_path",
    "files",
    "from",
    "have",
    "head",
    "into",
    "limit",
    "make",
    "offset",
    "output_mode",
    "path",
    "pattern",
    "please",
    "should",
    "sure",
    "tail",
    "that",
    "their",
    "then",
    "there",
    "this",
    "timeout",
    "used",
    "using",
    "what",
    "when",
    "where",
    "which",
    "will",
    "with",
    "would",
    "your",
];

/// The most words of a text that count.
const MOST: usize = 64;
/// The most bytes of a query that are read.
const LONGEST: usize = 2000;

/// The words of the call that asked for a text, such as a pattern to search for: passages that have them are kept first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Hashes of the words in lower case, sorted.
    words: Vec<u64>,
    /// The lengths of the words, as bits. Longer ones count as the longest.
    lengths: u64,
}

/// The longest length that has a bit of its own, less one.
const LAST_LENGTH: usize = 63;

impl Query {
    /// Finds the words of at least four letters or digits in a text, such as the arguments of a call. Common words do not count,
    /// nor does anything after the first 2,000 bytes.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let text = text.as_bytes();
        let text = text.get(..text.len().min(LONGEST)).unwrap_or_default();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        let mut lengths = 0;
        let mut words: Vec<u64> = text
            .split(|byte| !is_word(byte))
            .filter(|word| word.len() > 3)
            .map(<[u8]>::to_ascii_lowercase)
            .filter(|word| !COMMON.iter().any(|common| common.as_bytes() == word.as_slice()))
            .map(|word| {
                lengths |= 1 << word.len().min(LAST_LENGTH);
                words::hash(&word)
            })
            .take(MOST)
            .collect();
        words.sort_unstable();
        words.dedup();
        Self { words, lengths }
    }

    /// Adds the words of another query. All of them count: a query of a text has at most 64 words, and two have twice as many.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.words.extend(&other.words);
        self.words.sort_unstable();
        self.words.dedup();
        self.lengths |= other.lengths;
        self
    }

    /// Whether there are no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether a word of a text is one of the query.
    pub(super) fn has(&self, word: &[u8]) -> bool {
        if self.lengths & 1 << word.len().min(LAST_LENGTH) == 0 {
            return false;
        }
        let mut short = [0; LAST_LENGTH + 1];
        let hash = match short.get_mut(..word.len()) {
            Some(lower) => {
                lower.copy_from_slice(word);
                lower.make_ascii_lowercase();
                words::hash(lower)
            }
            None => words::hash(&word.to_ascii_lowercase()),
        };
        self.words.binary_search(&hash).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Query};

    #[test]
    fn joined_queries_have_all_words_of_both() {
        let words = |name: &str| -> Vec<String> {
            (0..MOST).map(|number| format!("{name}_{number}")).collect()
        };
        let (first, second) = (words("first"), words("second"));
        let both = Query::of(&first.join(" ")).and(&Query::of(&second.join(" ")));
        assert!(first.iter().chain(&second).all(|word| both.has(word.as_bytes())));
    }
}
