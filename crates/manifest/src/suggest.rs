//! Messages about an unknown word.

pub use tamis_json::nearest::closest;

/// Returns `unknown key ...`, with the nearest known word or the list of known words.
pub fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let shown = short(word);
    match closest(word, known.iter().copied()) {
        Some(close) => format!("unknown {what} `{shown}`; did you mean `{close}`?"),
        None => format!("unknown {what} `{shown}`; expected one of {}", known.join(", ")),
    }
}

/// Returns `not ...`, with the nearest known word.
pub fn instead_of(word: &str, known: &[&str]) -> String {
    match closest(word, known.iter().copied()) {
        Some(close) => format!("not `{}`; did you mean `{close}`?", short(word)),
        None => format!("not `{}`", short(word)),
    }
}

/// Shortens a word for display.
pub fn short(word: &str) -> String {
    const SHOWN: usize = 60;
    if word.chars().count() <= SHOWN {
        return word.to_owned();
    }
    let mut head: String = word.chars().take(SHOWN).collect();
    head.push('…');
    head
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_long_word_is_shortened() {
        assert_eq!(short(&"é".repeat(100)).chars().count(), 61);
    }
}
