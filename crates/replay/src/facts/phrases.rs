//! Finds phrases: five words in a row on one line.
//!
//! ```text
//! - the borrowed value `ships` does not live long enough
//!   └────────── words 1 to 5 ───────┘
//!       └────────── words 2 to 6 ──────────┘  …
//! ```
//!
//! Punctuation, quotes and capitals make no difference, so that a line that is quoted in a sentence has the phrases of the line.
//! There are almost as many phrases as words. One in [`SAMPLE`] is a fact: its hash decides, so that it is the same in every text.

/// The words of a phrase.
const WORDS: usize = 5;
/// How many of them have a letter, and the least letters of all of them: `in the end of the` has less.
const WITH_LETTERS: usize = 4;
const LETTERS: usize = 24;
/// The number of phrases for each one that is followed.
const SAMPLE: u64 = 8;
/// The most characters of a word. Longer runs are data.
const LONGEST: usize = 48;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A run of letters, digits and `_`.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    start: usize,
    /// The hash of the word in small letters.
    hash: u64,
    characters: usize,
    letters: usize,
}

impl Word {
    fn push(&mut self, char: char) {
        self.characters += 1;
        self.letters += usize::from(char.is_alphabetic());
        if char.is_ascii() {
            return self.mix(char.to_ascii_lowercase());
        }
        char.to_lowercase().for_each(|small| self.mix(small));
    }

    fn mix(&mut self, char: char) {
        let state = (self.hash ^ u64::from(char)).wrapping_mul(MULTIPLIER);
        self.hash = state ^ state >> 29;
    }
}

/// Calls `found` with each phrase of a line that is a fact, and its hash.
pub(crate) fn phrases<'a>(line: &'a str, found: &mut dyn FnMut(&'a str, u64)) {
    let mut last = [Word::default(); WORDS];
    let mut count = 0;
    let mut open: Option<Word> = None;
    let end = std::iter::once((line.len(), ' '));
    for (at, char) in line.char_indices().chain(end) {
        if char.is_alphanumeric() || char == '_' {
            open.get_or_insert(Word { start: at, ..Word::default() }).push(char);
            continue;
        }
        let Some(word) = open.take() else { continue };
        if word.characters > LONGEST {
            count = 0;
            continue;
        }
        last.rotate_left(1);
        if let Some(place) = last.last_mut() {
            *place = word;
        }
        count += 1;
        if count < WORDS {
            continue;
        }
        let with_letters = last.iter().filter(|word| word.letters > 0).count();
        let letters: usize = last.iter().map(|word| word.letters).sum();
        if with_letters < WITH_LETTERS || letters < LETTERS {
            continue;
        }
        let hash = last.iter().fold(0x517c_c1b7_2722_0a95_u64, |hash, word| {
            (hash.rotate_left(23) ^ word.hash).wrapping_mul(MULTIPLIER)
        });
        if (hash >> 32).is_multiple_of(SAMPLE)
            && let Some(phrase) = line.get(last.first().map_or(at, |word| word.start)..at)
        {
            found(phrase, hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::{FactKind, each};

    fn found(text: &str) -> HashMap<u64, String> {
        let mut found = HashMap::new();
        each(text, &mut |fact| {
            if fact.kind == FactKind::Phrase {
                found.insert(fact.hash, fact.text.to_owned());
            }
        });
        found
    }

    fn lines() -> Vec<String> {
        let things = ["harbour", "borrowed", "gauge", "tidal", "northern", "fender"];
        let line = |n: usize| {
            let thing = |k: usize| things[(n * (k + 3) + n / 6 + k) % 6];
            format!(
                "the {} of {} berth_{n} does not {} long enough {}",
                thing(0),
                thing(1),
                thing(2),
                thing(3)
            )
        };
        (0..400).map(line).collect()
    }

    /// A line that is quoted in a sentence has the phrases of the line, and about one in eight of all.
    #[test]
    fn quotes_have_the_phrases_of_their_line() {
        let lines = lines();
        let mut sum = 0;
        for line in &lines {
            let alone = found(line);
            sum += alone.len();
            let upper = line.to_uppercase().replace(' ', ", ");
            for quote in [
                format!("It says: \"{line}\"!"),
                format!("- **{upper}**"),
                format!("It says “{line}”—yes"),
                format!("«{}»", line.replace(' ', "—")),
                format!("    12→{line}"),
                format!("12\t{line}"),
                format!("L12: {line}"),
            ] {
                let quoted = found(&quote);
                assert!(alone.keys().all(|hash| quoted.contains_key(hash)), "{quote}");
            }
        }
        let windows = lines.len() * 6;
        assert!((windows / 16..windows / 5).contains(&sum), "{sum} of {windows}");
    }

    #[test]
    fn phrases_end_at_lines_data_and_short_words() {
        let text = lines().join("\n");
        let all = found(&text);
        assert!(all.values().all(|phrase| !phrase.contains('\n')));
        assert!(found(&text.replace(' ', "\n")).is_empty());
        assert!(found(&text.replace(' ', &"x".repeat(60))).is_empty());
        let short: String = (0..2_000).map(|n| format!("{} of {n} is in ", n % 7)).collect();
        assert!(found(&short).is_empty());
        assert!(found("").is_empty());
    }

    /// Characters are counted, not bytes, and capitals beyond ASCII make no difference either.
    #[test]
    fn letters_are_those_of_any_script() {
        let line = |n: usize| format!("größe über {n} ärger straße");
        assert!((0..400).all(|n| found(&line(n)).is_empty()), "20 letters in more than 24 bytes");
        let line = |n: usize| format!("größere straßen über {n} nördliche häfen");
        let lines: String = (0..400).map(|n| line(n) + "\n").collect();
        let (small, large) = (found(&lines), found(&lines.replace('ö', "Ö").replace('ä', "Ä")));
        assert!(!small.is_empty() && small.keys().all(|hash| large.contains_key(hash)));
    }
}
