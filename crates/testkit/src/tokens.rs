//! Tokens, counted without the library's pieces.

use std::sync::OnceLock;

use tiktoken::CoreBpe;

/// Counts the tokens of a whole text in the vocabulary `o200k_base`.
pub fn count(text: &str) -> u64 {
    static VOCABULARY: OnceLock<CoreBpe> = OnceLock::new();
    VOCABULARY.get_or_init(tiktoken::encoding::o200k_base).count(text) as u64
}
