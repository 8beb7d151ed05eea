//! Finds the known word that is closest to an unknown one.
//!
//! This module uses no other module.

use strsim::damerau_levenshtein;

use crate::test_work::{WorkKind, count};

/// The number of pairs of characters that may still be compared. When it is used up, no more words are compared.
#[derive(Debug)]
pub struct ComparisonBudget(usize);

impl Default for ComparisonBudget {
    fn default() -> Self {
        Self(2_000_000)
    }
}

/// Maximum length of a word that is compared.
pub const LONGEST: usize = 100;

/// Returns the known word that is closest to `word`, if one is close.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    closest_within(word, known, &mut ComparisonBudget::default())
}

/// Returns the closest known word, like [`closest`], with one budget for the work on several words.
pub fn closest_within<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    pairs: &mut ComparisonBudget,
) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let length = word.chars().count();
    // At most a third of a short word may differ; two characters of a longer one, and three from eighteen characters
    // on. Longer words often differ in a part that is a word itself (`creationTimestamp`, `deletionTimestamp`).
    let allowed = (length / 3).max(1).min((length / 6).max(2)).min(length.saturating_sub(1));
    let ComparisonBudget(left) = pairs;
    let mut best: Option<(usize, &str)> = None;
    for known in known {
        // The distance is at least the difference of the lengths.
        let near = known.len() <= LONGEST && known.chars().count().abs_diff(length) <= allowed;
        let compared = if near { length * known.len() } else { 1 };
        count(WorkKind::Names, compared);
        *left = left.saturating_sub(compared);
        if *left == 0 {
            break;
        }
        if near {
            let far = damerau_levenshtein(word, known);
            if far <= allowed && best.is_none_or(|(best, _)| far < best) {
                best = Some((far, known));
            }
        }
    }
    best.map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn close_words_are_suggested() {
        let known = ["select", "exclude", "root", "max_items"];
        for (word, close) in [
            ("slect", Some("select")),
            ("max_item", Some("max_items")),
            ("maxItems", Some("max_items")),
            ("rot", Some("root")),
            ("x", None),
            ("", None),
            ("somewhere", None),
            ("rooot", Some("root")),
            ("rx", None),
        ] {
            assert_eq!(closest(word, known), close, "{word}");
        }
        assert_eq!(closest(&"x".repeat(1_000_000), known), None);
        assert_eq!(closest("deletionTimestamp", ["creationTimestamp"]), None);
        for word in ["a", "é"] {
            assert_eq!(closest(word, ["b", "ab"]), None, "nothing of it is left");
        }
    }

    #[test]
    fn the_work_for_a_word_is_bounded() {
        let looked_at = |word: &str, known: &str| {
            let mut count = 0_usize;
            let known = std::iter::repeat_n(known, 1_000_000).inspect(|_| count += 1);
            assert_eq!(closest(word, known), None);
            count
        };
        let (long, other) = ("a".repeat(100), "b".repeat(100));
        assert!(looked_at(&long, &other) <= 201);
        // Words of very different length cost almost nothing.
        assert_eq!(looked_at(&long, "b"), 1_000_000);
        assert!(looked_at("github.list-repos", "something.else-all") > 5_000);
    }
}
