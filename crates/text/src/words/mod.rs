//! The words of a text: how many units have each, which ones are new, and which shapes lines repeat.
//!
//! A word is a run of letters, digits, `_` and bytes of other scripts. One table of fixed size has all of them: a word that finds
//! no place takes that of another, which then counts as new again. Each word of a unit is one number in a list, so that
//! scores are sums over this list, whatever they are.

mod query;

#[cfg(feature = "cut")]
use crate::failures;

pub use query::Query;

/// The kind of a word, as a reader would say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// A name: letters with digits, `_` or a capital inside.
    Name,
    /// A number of at least two digits.
    Number,
    /// A word of at least four letters.
    Plain,
}

/// A word of a unit: its place in the table, and its properties.
#[derive(Clone, Copy, Debug)]
pub struct Word(u32);

const NAME: u32 = 1 << 24;
const NUMBER: u32 = 2 << 24;
const PLAIN: u32 = 3 << 24;
const KIND: u32 = 3 << 24;
const LONG: u32 = 1 << 26;
const ASKED: u32 = 1 << 27;
const FAILURE: u32 = 1 << 28;
const FIRST: u32 = 1 << 29;
const PLACE: u32 = NAME - 1;

impl Word {
    /// Returns its kind.
    #[must_use]
    pub fn kind(self) -> WordKind {
        match self.0 & KIND {
            NAME => WordKind::Name,
            NUMBER => WordKind::Number,
            _ => WordKind::Plain,
        }
    }

    /// Whether it is the first occurrence of the word.
    #[must_use]
    pub fn is_first(self) -> bool {
        self.0 & FIRST != 0
    }

    /// Whether the word is one of the query.
    #[must_use]
    pub fn is_asked(self) -> bool {
        self.0 & ASKED != 0
    }

    /// Whether a plain word has at least five letters.
    #[must_use]
    pub fn is_long(self) -> bool {
        self.0 & LONG != 0
    }
}

/// Properties of a unit besides its words.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnitShape {
    /// A hash of the text in which numbers are equal.
    pub template: u64,
    /// About the number of bytes of that text.
    pub template_bytes: u32,
    /// Whether a word may be one of a failure.
    pub may_fail: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// A part of the hash. 0: the place is free.
    tag: u32,
    /// How many units have the word, and the last of them.
    units: u32,
    last: u32,
    traits: u32,
}

/// The words of a text.
#[derive(Debug)]
pub struct Words {
    table: Vec<Entry>,
    list: Vec<Word>,
}

/// The most places of the table: 2 MiB.
const MOST_PLACES: usize = 1 << 17;
const LEAST_PLACES: usize = 1 << 8;
/// How many places are tried for a word.
const TRIES: usize = 4;
/// The longest piece of a text without spaces between words, as in Chinese, that is one word.
const LONGEST_OTHER: usize = 12;

impl Words {
    /// Creates an empty table for a text of about this many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let places = (bytes / 8).next_power_of_two().clamp(LEAST_PLACES, MOST_PLACES);
        Self { table: vec![Entry::default(); places], list: Vec::with_capacity(bytes / 8) }
    }

    /// Returns how many words there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether there are no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns words by their numbers.
    pub fn of(&self, from: usize, to: usize) -> impl Iterator<Item = Word> + '_ {
        self.list.get(from..to).unwrap_or_default().iter().copied()
    }

    /// Returns how many units have a word.
    #[must_use]
    pub fn units(&self, word: Word) -> f32 {
        let entry = self.table.get((word.0 & PLACE) as usize);
        entry.map_or(1.0, |entry| entry.units.max(1) as f32)
    }

    /// Adds the words of a unit. `has_template`: whether its shape, and whether it may be a failure, are needed.
    pub fn add(&mut self, unit: u32, text: &[u8], query: &Query, has_template: bool) -> UnitShape {
        let mut shape = UnitShape::default();
        let mut at = 0;
        let mut template = 0u64;
        // The bytes between words count by the first one.
        let mut between = 0u8;
        while let Some(byte) = text.get(at) {
            if class(*byte) == 0 {
                between = *byte;
                let rest = text.get(at..).unwrap_or_default();
                at += rest.iter().position(|byte| class(*byte) != 0).unwrap_or(rest.len());
                continue;
            }
            let (end, first, rest) = word_end(text, at);
            let Some(word) = text.get(at..end.max(at + 1)) else { break };
            at += word.len();
            let hash = hash(word);
            let bits = first | rest;
            if has_template {
                let (hash, bytes) = match bits & DIGIT {
                    0 => (hash, word.len() as u32),
                    _ => without_numbers(word, bits),
                };
                if shape.template_bytes > 0 && between != 0 {
                    template ^= u64::from(between).rotate_right(8);
                    shape.template_bytes += 1;
                }
                template = mix(template ^ hash);
                shape.template_bytes += bytes;
                between = 0;
            }
            let kind = match (bits, word.len()) {
                (_, 0 | 1) => continue,
                (DIGIT, _) => NUMBER,
                (_, 2) => {
                    shape.may_fail |= has_template && begins_failure(word);
                    continue;
                }
                _ if bits & (UNDERSCORE | DIGIT) != 0 => NAME,
                _ if rest & UPPER != 0 && bits & LOWER != 0 => NAME,
                (_, 3) => {
                    shape.may_fail |= has_template && begins_failure(word);
                    continue;
                }
                _ => PLAIN,
            };
            let word = self.enter(unit, word, hash, kind, query);
            shape.may_fail |= word & FAILURE != 0;
        }
        if shape.template_bytes > 0 && between != 0 {
            template = mix(template ^ u64::from(between));
            shape.template_bytes += 1;
        }
        shape.template = template;
        shape
    }

    /// Enters a word into the table, and into the list if the unit does not have it yet. Returns its properties.
    fn enter(&mut self, unit: u32, word: &[u8], hash: u64, kind: u32, query: &Query) -> u32 {
        let mask = self.table.len() - 1;
        let tag = (hash >> 32) as u32 | 1;
        let home = hash as usize & mask;
        let mut place = home;
        for step in 0..TRIES {
            let at = (home + step) & mask;
            match self.table.get_mut(at) {
                Some(entry) if entry.tag == tag => {
                    if entry.last != unit {
                        entry.last = unit;
                        entry.units += 1;
                        self.list.push(Word(at as u32 | entry.traits));
                    }
                    return entry.traits;
                }
                Some(entry) if entry.tag == 0 => {
                    place = at;
                    break;
                }
                _ => {}
            }
        }
        let mut traits = kind;
        if kind == PLAIN && word.len() >= 5 {
            traits |= LONG;
        }
        if query.has(word) {
            traits |= ASKED;
        }
        if kind != NUMBER && begins_failure(word) {
            traits |= FAILURE;
        }
        if let Some(entry) = self.table.get_mut(place) {
            *entry = Entry { tag, units: 1, last: unit, traits };
        }
        self.list.push(Word(place as u32 | traits | FIRST));
        traits
    }
}

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const UNDERSCORE: u8 = 8;
const OTHER: u8 = 16;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::indexing_slicing, reason = "evaluated when compiled")]
        {
            classes[byte] = match byte as u8 {
                b'a'..=b'z' => LOWER,
                b'A'..=b'Z' => UPPER,
                b'0'..=b'9' => DIGIT,
                b'_' => UNDERSCORE,
                0x80.. => OTHER,
                _ => 0,
            };
        }
        byte += 1;
    }
    classes
};

fn class(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Returns the end of the word that begins at `at`, the class of its first byte, and those of the others.
fn word_end(text: &[u8], at: usize) -> (usize, u8, u8) {
    let word = text.get(at..).unwrap_or_default();
    let Some((first, later)) = word.split_first() else { return (at, 0, 0) };
    let mut rest = 0;
    for (number, byte) in later.iter().enumerate() {
        let class = class(*byte);
        let end = at + 1 + number;
        if class == 0 || class == OTHER && *byte >= 0xE3 && ends_other(text, at, end) {
            return (end, self::class(*first), rest);
        }
        rest |= class;
    }
    (text.len(), class(*first), rest)
}

/// Whether a word ends before a character of three bytes: before East Asian punctuation, or because it is long.
fn ends_other(text: &[u8], start: usize, at: usize) -> bool {
    let next = text.get(at + 1).copied().unwrap_or_default();
    matches!((text.get(at), next), (Some(0xE3), 0x80) | (Some(0xEF), 0xBC))
        || at - start >= LONGEST_OTHER
}

/// Whether a word of a line may be one of a failure.
#[cfg(test)]
#[cfg(feature = "cut")]
pub(crate) fn may_fail(line: &[u8]) -> bool {
    Words::new(0).add(0, line, &Query::default(), true).may_fail
}

/// Whether a word may be one of a failure. `failures::is_failure` decides.
#[cfg(feature = "cut")]
fn begins_failure(word: &[u8]) -> bool {
    failures::may_be_word(word)
}

#[cfg(not(feature = "cut"))]
fn begins_failure(_: &[u8]) -> bool {
    false
}

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(hash: u64) -> u64 {
    let hash = hash.wrapping_mul(FACTOR);
    hash ^ hash >> 29
}

/// Returns a hash of a word. Both halves are well mixed.
pub(super) fn hash(word: &[u8]) -> u64 {
    let mut hash = mix(word.len() as u64 ^ FACTOR);
    let number =
        |four: Option<&[u8; 4]>| u64::from(u32::from_le_bytes(four.copied().unwrap_or_default()));
    if word.len() > 8 {
        for eight in word.chunks_exact(8) {
            let eight = eight.first_chunk().copied().unwrap_or_default();
            hash = mix(hash ^ u64::from_le_bytes(eight));
        }
        let last = word.last_chunk().copied().unwrap_or_default();
        hash = mix(hash ^ u64::from_le_bytes(last));
    } else if word.len() >= 4 {
        hash = mix(hash ^ number(word.first_chunk()) ^ number(word.last_chunk()) << 32);
    } else {
        for byte in word {
            hash = hash << 8 ^ u64::from(*byte);
        }
    }
    let hash = mix(hash);
    hash ^ hash >> 32
}

/// Returns a hash of a word in which each number is a `#`, and the length of that.
fn without_numbers(word: &[u8], bits: u8) -> (u64, u32) {
    let is_hex = word.len() >= 4 && word.iter().all(u8::is_ascii_hexdigit);
    if bits == DIGIT || is_hex {
        return (1, 1);
    }
    let (mut hash, mut bytes, mut in_number) = (2, 0, false);
    for byte in word {
        let is_digit = byte.is_ascii_digit();
        if !(is_digit && in_number) {
            hash = mix(hash ^ u64::from(if is_digit { b'#' } else { *byte }));
            bytes += 1;
        }
        in_number = is_digit;
    }
    (hash, bytes)
}
