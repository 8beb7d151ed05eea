//! Counts tokens as `o200k_base` does, the vocabulary of recent models of OpenAI.
//!
//! A budget in tokens is estimated at four bytes each, unless the call has a vocabulary. This one is unpacked at its first use.
//!
//! ```
//! use tamis::spec::{Budget, Omitted};
//! use tamis::{CallOptions, Program, Spec, filter_slice};
//!
//! let program = Program::compile(&Spec::new().budget(Budget::Tokens(8)).omitted(Omitted::Silent))?;
//! let options = CallOptions::new().with_token_counter(tamis_tokens::o200k_base());
//! let document = br#"["harbour","lighthouse","pier","quay"]"#;
//! let (output, report) = filter_slice(program.with_options(&options), document)?;
//! assert_eq!(output, br#"["harbour","lighthouse"]"#);
//! assert!(report.tokens_result.is_some_and(|tokens| tokens <= 8));
//! assert!(!report.tokens_estimated);
//! # Ok::<(), tamis::Error>(())
//! ```

use std::fmt;
use std::sync::OnceLock;

use tamis_json::tokens::{CountTokens, TokenCounter};
use tiktoken::CoreBpe;

/// Returns the vocabulary `o200k_base`. Its first use takes about a tenth of a second and 30 MiB.
#[must_use]
pub fn o200k_base() -> &'static dyn CountTokens {
    &O200kBase
}

/// Creates a counter with this vocabulary.
#[must_use]
pub fn counter() -> TokenCounter {
    TokenCounter::new(o200k_base())
}

struct O200kBase;

impl CountTokens for O200kBase {
    fn count(&self, text: &str) -> u64 {
        vocabulary().count(text) as u64
    }

    fn longest(&self) -> u64 {
        128
    }
}

impl fmt::Debug for O200kBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("o200k_base")
    }
}

fn vocabulary() -> &'static CoreBpe {
    static VOCABULARY: OnceLock<CoreBpe> = OnceLock::new();
    VOCABULARY.get_or_init(tiktoken::encoding::o200k_base)
}

/// Returns the length in bytes of each token of a text.
pub fn token_lengths(text: &str) -> impl Iterator<Item = usize> {
    static LENGTHS: OnceLock<Vec<u8>> = OnceLock::new();
    let vocabulary = vocabulary();
    let lengths = LENGTHS.get_or_init(|| {
        let tokens = 0..u32::try_from(vocabulary.vocab_size()).unwrap_or(u32::MAX);
        let length = |token| u8::try_from(vocabulary.decode(&[token]).len()).unwrap_or(u8::MAX);
        tokens.map(length).collect()
    });
    let tokens = vocabulary.encode(text).into_iter();
    tokens.map(|token| lengths.get(token as usize).copied().map_or(0, usize::from))
}

#[cfg(test)]
mod tests {
    use tamis_json::tokens::{PIECE, ends_token};

    use super::{counter, o200k_base, vocabulary};

    fn count(parts: &[&[u8]]) -> u64 {
        let mut counter = counter();
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
            let mut counter = counter();
            counter.push(text.as_bytes());
            let count = counter.end();
            let whole = o200k_base().count(&text);
            assert_eq!((count.tokens, count.exact), (whole, true));
        }
    }

    /// Each place at which a piece may end, in every short text.
    #[test]
    fn a_token_ends_at_each_such_place() {
        let letters = ["a", "S", "1", " ", "'", ".", "\n", "é", "²"];
        let count = |text: &str| o200k_base().count(text);
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
                if ends_token(pair) {
                    let (before, after) = text.split_at(at);
                    assert_eq!(count(before) + count(after), count(&text), "{before:?} {after:?}");
                }
            }
        }
    }

    #[test]
    fn a_piece_without_such_a_place_is_said_to_be_cut() {
        for text in ["x".repeat(PIECE + 1), "日".repeat(PIECE), " ".repeat(2 * PIECE)] {
            let mut counter = counter();
            counter.push(text.as_bytes());
            assert!(!counter.end().exact);
        }
        let mut counter = counter();
        counter.push("x".repeat(PIECE - 1).as_bytes());
        assert!(counter.end().exact);
    }

    #[test]
    fn no_token_is_longer() {
        let lengths = (0..200_000).map(|token| vocabulary().decode(&[token]).len() as u64);
        assert_eq!(lengths.max(), Some(o200k_base().longest()));
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
        let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
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
