//! What was probably meant by a word that is not known.

use strsim::damerau_levenshtein;

/// Words that are compared: more would take time for a name nobody can have meant.
const COMPARED: usize = 10_000;
/// A longer word is not compared.
const LONGEST: usize = 100;

/// The known word that is closest to `word`, if one is close.
pub(crate) fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let allowed = (word.chars().count() / 3).max(1);
    let known = known.into_iter().filter(|known| known.len() <= LONGEST).take(COMPARED);
    let close = known.map(|known| (damerau_levenshtein(word, known), known));
    let best = close.filter(|(distance, _)| *distance <= allowed).min_by_key(|(far, _)| *far);
    best.map(|(_, known)| known)
}

/// `unknown key ...`, with what is meant or what there is.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let shown = short(word);
    match closest(word, known.iter().copied()) {
        Some(close) => format!("unknown {what} `{shown}`; did you mean `{close}`?"),
        None => format!("unknown {what} `{shown}`; known are {}", known.join(", ")),
    }
}

/// `not ...`, with what is meant.
pub(crate) fn instead_of(word: &str, known: &[&str]) -> String {
    match closest(word, known.iter().copied()) {
        Some(close) => format!("not `{}`; did you mean `{close}`?", short(word)),
        None => format!("not `{}`", short(word)),
    }
}

/// A word of bearable length.
pub(crate) fn short(word: &str) -> String {
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
    use super::{closest, short};

    #[test]
    fn what_is_close_is_meant() {
        let known = ["select", "exclude", "root", "max_items"];
        for (word, close) in [
            ("slect", Some("select")),
            ("max_item", Some("max_items")),
            ("maxItems", Some("max_items")),
            ("rot", Some("root")),
            ("x", None),
            ("", None),
            ("somewhere", None),
        ] {
            assert_eq!(closest(word, known), close, "{word}");
        }
        assert_eq!(closest(&"x".repeat(1_000_000), known), None);
        assert_eq!(short(&"é".repeat(100)).chars().count(), 61);
    }
}
