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

use super::hash;

/// The words of a phrase.
const WORDS: usize = 5;
/// How many of them have a letter, and the least letters of all of them: `in the end of the` has less.
const WITH_LETTERS: usize = 4;
const LETTERS: usize = 24;
/// The number of phrases for each one that is followed.
const SAMPLE: u64 = 8;
/// The most bytes of a word. Longer runs are data.
const LONGEST: usize = 48;

#[derive(Clone, Copy, Debug, Default)]
struct Word {
    start: usize,
    hash: u64,
    letters: usize,
}

const fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Calls `found` with each phrase of a text that is a fact, and its hash.
pub(crate) fn phrases(text: &str, found: &mut dyn FnMut(&str, u64)) {
    let bytes = text.as_bytes();
    let mut last = [Word::default(); WORDS];
    let (mut count, mut at) = (0, 0);
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let length = rest.iter().position(|byte| !is_part(*byte)).unwrap_or(rest.len());
        if length == 0 {
            if rest.first() == Some(&b'\n') {
                count = 0;
            }
            at += 1;
            continue;
        }
        let end = at + length;
        if length > LONGEST {
            (count, at) = (0, end);
            continue;
        }
        let word = rest.get(..length).unwrap_or_default();
        last.rotate_left(1);
        if let Some(place) = last.last_mut() {
            *place = Word { start: at, hash: word_hash(word), letters: letters(word) };
        }
        count += 1;
        at = end;
        if count < WORDS {
            continue;
        }
        let with_letters = last.iter().filter(|word| word.letters > 0).count();
        let letters: usize = last.iter().map(|word| word.letters).sum();
        if with_letters < WITH_LETTERS || letters < LETTERS {
            continue;
        }
        let hash = last.iter().fold(0x517c_c1b7_2722_0a95_u64, |hash, word| {
            (hash.rotate_left(23) ^ word.hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
        if (hash >> 32).is_multiple_of(SAMPLE)
            && let Some(phrase) = text.get(last.first().map_or(end, |word| word.start)..end)
        {
            found(phrase, hash);
        }
    }
}

fn letters(word: &[u8]) -> usize {
    word.iter().filter(|byte| byte.is_ascii_alphabetic() || **byte >= 0x80).count()
}

/// Returns the hash of a word in small letters.
fn word_hash(word: &[u8]) -> u64 {
    let mut small = [0; LONGEST];
    for (to, from) in small.iter_mut().zip(word) {
        *to = from.to_ascii_lowercase();
    }
    hash(small.get(..word.len()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn found(text: &str) -> HashMap<u64, String> {
        let mut found = HashMap::new();
        phrases(text, &mut |phrase, hash| _ = found.insert(hash, phrase.to_owned()));
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
            for quote in [format!("It says: \"{line}\"!"), format!("- **{upper}**")] {
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
        assert!(found("").is_empty() && found("äöü ñ é ü ß 漢字 漢字 漢字").len() < 2);
    }
}
