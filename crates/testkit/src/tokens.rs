//! Tokens, counted without the library.

/// The number of tokens of `text` in the vocabulary `o200k_base`.
pub fn count(text: &str) -> u64 {
    bpe_openai::o200k_base().count(text) as u64
}
