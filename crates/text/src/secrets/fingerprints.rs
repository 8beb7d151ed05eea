//! The texts with which secrets begin, and a table that finds them at the beginning of a word.

use std::sync::LazyLock;

use super::kinds::{ALNUM, Class, PASSWORD, RUN, WORD, class, has};
use super::percent::percent_encoded;
use super::table::KINDS;

/// The anchor of passwords in URLs, which are found by the sign `@`.
const URL: &str = "://";

/// The anchor that is found by the sign `~`.
const TILDE: &str = "Q~";

/// The anchors of options of commands, which are found by a dash at the beginning of a word.
const OPTIONS: &[&str] = &["-", "--user", "--proxy-user"];

/// The anchors that are found at the beginnings of long words and very long runs ([`may_be_long`]). Some begin
/// before that.
const LONG_ANCHORS: &[&str] =
    &["", "M", "N", "O", "1//0", "2", "4b1d", "0.A", "1.A", "1000.", "!AQ", "!AR"];

/// The most bytes before a place that the search finds to which the secret may begin, with room for escaped slashes.
pub(super) const BEFORE: usize = 640;

/// The most bytes before a sign `@` to which the URL with the password begins: a user name, a password and their signs.
pub(super) const URL_BEFORE: usize = PASSWORD + 512;

/// A place where an anchor may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnchorPlace {
    /// The index in [`KINDS`].
    pub(super) kind: usize,
    pub(super) anchor: &'static [u8],
    /// The position of the text in the anchor.
    pub(super) offset: usize,
}

/// The compiled table, shared by all filters.
pub(super) struct Fingerprints {
    /// The texts with which a word begins that may be a secret. Each anchor contains one of them at the beginning of a word,
    /// except those that are found by something else.
    texts: Vec<String>,
    /// The texts of at least four bytes, by these.
    long_texts: TextTable<4>,
    /// The texts of three bytes.
    short_texts: TextTable<3>,
    /// One bit for each hash of three bytes: a text may begin with them.
    firsts: Box<[u64; 1 << (BITS - 6)]>,
    /// The text of two bytes, which is not in the table: too many bytes may follow it.
    pair: Option<TextPrefix>,
    /// For each text, the anchors that contain it, in the order of the kinds.
    places: Vec<Vec<AnchorPlace>>,
    /// The anchor of passwords in URLs.
    url: Vec<AnchorPlace>,
    tilde: Vec<AnchorPlace>,
    long: Vec<AnchorPlace>,
    options: Vec<AnchorPlace>,
    /// For each byte, the anchors that begin with it.
    by_first: Vec<Vec<AnchorPlace>>,
    /// The characters of all anchors.
    anchors: Class,
}

/// The first eight bytes of a text.
#[derive(Clone, Copy, Debug)]
struct TextPrefix {
    /// Its bytes, and zeros.
    bytes: u64,
    /// All ones in the bytes that it has.
    mask: u64,
    /// The index in the list of texts.
    text: usize,
}

impl TextPrefix {
    #[inline(always)]
    fn is_at(&self, eight: u64) -> bool {
        eight & self.mask == self.bytes
    }
}

/// Texts by the hash of their first bytes, of which there are `LEN`.
struct TextTable<const LEN: u32> {
    /// For each hash, the group of the texts that may begin with these bytes. Most have the first group.
    table: Box<[u16; 1 << BITS]>,
    /// Groups of texts. The first one is empty.
    groups: Vec<Vec<TextPrefix>>,
}

/// The number of bits of a hash.
const BITS: u32 = 14;

impl<const LEN: u32> TextTable<LEN> {
    fn new() -> Self {
        Self { table: Box::new([0; 1 << BITS]), groups: vec![Vec::new()] }
    }

    /// Returns the hash of the first bytes of eight.
    #[inline(always)]
    fn hash(eight: u64) -> usize {
        let bytes = eight as u32 & u32::MAX >> (u32::BITS - 8 * LEN);
        (bytes.wrapping_mul(0x9E37_79B1) >> (u32::BITS - BITS)) as usize
    }

    fn add(&mut self, text: TextPrefix) {
        let hash = Self::hash(text.bytes);
        let Some(group) = self.table.get_mut(hash) else { return };
        if *group == 0 {
            *group = u16::try_from(self.groups.len()).unwrap_or(0);
            self.groups.push(Vec::new());
        }
        self.groups.get_mut(usize::from(*group)).into_iter().for_each(|group| group.push(text));
    }

    /// Returns the index of the text that is at the beginning of eight bytes.
    fn find(&self, eight: u64) -> Option<usize> {
        let group = self.groups.get(usize::from(*self.table.get(Self::hash(eight))?))?;
        Some(group.iter().find(|text| text.is_at(eight))?.text)
    }
}

/// Returns the first eight bytes, and zeros for those that are missing.
#[inline(always)]
pub(super) fn first_eight(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => bytes.iter().rev().fold(0, |eight, byte| eight << 8 | u64::from(*byte)),
    }
}

static COMPILED: LazyLock<Fingerprints> = LazyLock::new(Fingerprints::compile);

impl Fingerprints {
    pub(super) fn shared() -> &'static Self {
        &COMPILED
    }

    fn compile() -> Self {
        let texts = texts_of_anchors();
        let mut compiled = Self {
            long_texts: TextTable::new(),
            short_texts: TextTable::new(),
            firsts: Box::new([0; 1 << (BITS - 6)]),
            pair: None,
            places: vec![Vec::new(); texts.len()],
            texts,
            url: Vec::new(),
            tilde: Vec::new(),
            long: Vec::new(),
            options: Vec::new(),
            by_first: vec![Vec::new(); 256],
            anchors: 0,
        };
        for (kind, one) in KINDS.iter().enumerate() {
            for anchor in one.anchors {
                compiled.add_anchor(kind, anchor);
            }
        }
        let prefixes: Vec<_> = compiled.texts.iter().enumerate().map(prefix).collect();
        prefixes.into_iter().for_each(|prefix| compiled.add_text(prefix));
        compiled
    }

    fn add_anchor(&mut self, kind: usize, anchor: &'static str) {
        for byte in anchor.bytes() {
            self.anchors |= 1 << byte;
        }
        let place = |offset| AnchorPlace { kind, anchor: anchor.as_bytes(), offset };
        let first = anchor.bytes().next();
        match first {
            Some(first) => self.by_first.get_mut(usize::from(first)).into_iter().for_each(|list| {
                list.push(place(0));
            }),
            None => (0..=u8::MAX).zip(&mut self.by_first).for_each(|(byte, list)| {
                list.extend(has(ALNUM, byte).then(|| place(0)));
            }),
        }
        match anchor {
            URL => self.url.push(place(0)),
            TILDE => self.tilde.push(place(0)),
            _ if OPTIONS.contains(&anchor) => self.options.push(place(0)),
            _ if LONG_ANCHORS.contains(&anchor) => {
                // A word begins at the sign after the number, or after the sign.
                let before = match anchor {
                    "1000." => anchor.len(),
                    _ => usize::from(anchor.starts_with('!')),
                };
                self.long.push(place(before));
            }
            _ => {}
        }
        let encoded = percent_encoded(anchor);
        for (spelled, is_encoded) in [(anchor, false), (encoded.as_str(), true)] {
            if !(is_encoded && encoded == anchor)
                && let Some((index, offset)) = text_of(&self.texts, spelled)
                && let Some(list) = self.places.get_mut(index)
                && !(is_encoded && (offset > 0 || list.iter().any(|place| place.kind == kind)))
            {
                list.push(place(offset));
            }
        }
    }

    /// Adds a text to the table of its length.
    fn add_text(&mut self, text: TextPrefix) {
        // Any byte may be the third one after the text of two.
        let is_short = text.mask.count_ones() < 24;
        for third in if is_short { 0..=u8::MAX } else { 0..=0 } {
            let hash = TextTable::<3>::hash(text.bytes | u64::from(third) << 16);
            if let Some(word) = self.firsts.get_mut(hash >> 6) {
                *word |= 1 << (hash & 63);
            }
        }
        match text.mask.count_ones() / 8 {
            2 => self.pair = Some(text),
            3 => self.short_texts.add(text),
            _ => self.long_texts.add(text),
        }
    }

    /// Returns whether a text may be at the beginning of a word, which is false for most words.
    #[inline(always)]
    pub(super) fn may_be_text(&self, word: &[u8]) -> bool {
        self.may_begin(first_eight(word))
    }

    /// Returns whether a text may begin with these eight bytes. Compares three of them, and has no branches.
    #[inline(always)]
    pub(super) fn may_begin(&self, eight: u64) -> bool {
        let hash = TextTable::<3>::hash(eight);
        self.firsts.get(hash >> 6).is_none_or(|word| word >> (hash & 63) & 1 != 0)
    }

    /// Returns the index of the text at the beginning of `rest`.
    pub(super) fn text_at(&self, rest: &[u8]) -> Option<usize> {
        let eight = first_eight(rest);
        if let Some(pair) = self.pair.as_ref().filter(|text| text.is_at(eight)) {
            return Some(pair.text);
        }
        self.long_texts.find(eight).or_else(|| self.short_texts.find(eight))
    }

    /// Returns the index of the text that ends `bytes` and is followed by a blank in every secret, and where it begins.
    pub(super) fn text_before_blanks(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let blanks = bytes.iter().rev().take(8).take_while(|byte| matches!(byte, b' ' | b'\t'));
        let end = bytes.len() - blanks.count();
        let word = bytes.get(..end)?;
        if !matches!(word.last()? | 0x20, b'r' | b'c' | b'd') {
            return None;
        }
        [6, 5, 8].into_iter().find_map(|len| {
            let begin = end.checked_sub(len)?;
            Some((self.text_at(word.get(begin..)?)?, begin))
        })
    }

    pub(super) fn places(&self, text: usize) -> &[AnchorPlace] {
        self.places.get(text).map_or(&[], Vec::as_slice)
    }

    /// Returns the anchor of passwords in URLs.
    pub(super) fn url(&self) -> &[AnchorPlace] {
        &self.url
    }

    /// Returns the anchor that is found by the sign `~`.
    pub(super) fn tilde(&self) -> &[AnchorPlace] {
        &self.tilde
    }

    /// Returns the anchors that are found at the beginnings of very long runs.
    pub(super) fn long(&self) -> &[AnchorPlace] {
        &self.long
    }

    /// Returns the anchors that are options of commands.
    pub(super) fn options(&self) -> &[AnchorPlace] {
        &self.options
    }

    pub(super) fn beginning_with(&self, byte: u8) -> &[AnchorPlace] {
        self.by_first.get(usize::from(byte)).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a character occurs in an anchor.
    pub(super) fn may_be_in_anchor(&self, byte: u8) -> bool {
        has(self.anchors, byte)
    }

    /// Returns whether the search may miss a secret because an escape spells this character.
    pub(super) fn may_hide(&self, byte: u8) -> bool {
        has(self.anchors | RUN | class(b" \t@\\"), byte)
    }
}

/// The texts at fixed positions of secrets that have none at their beginning: in words that have only letters, digits and
/// underscores for a while, and in other runs.
const MARKS_IN_WORDS: &[(usize, [u8; 4])] =
    &[(36, *b"NRAL"), (36, *b"_mmk"), (42, *b"AzSe"), (52, *b"JQQJ"), (76, *b"AZDO")];
const MARKS: &[(usize, [u8; 4])] = &[
    (44, *b"AzFu"),
    (76, *b"+ASt"),
    (76, *b"+ABa"),
    // The sign of these two in a query.
    (76, *b"%2BA"),
    (76, *b"%2bA"),
    (76, *b"ACDb"),
    (76, *b"APIM"),
];

/// Returns whether a secret without a text at its beginning may begin here or shortly before, which is false for most words
/// that are long or begin a very long run: a refresh token, the base64 of a number, or a key of Azure.
#[inline]
pub(super) fn may_be_long(before: &[u8], run: &[u8]) -> bool {
    let is_beginning = match run {
        [b'1', b'/' | b'\\' | b'%', ..]
        | [b'M'..=b'O', b'D' | b'T' | b'j' | b'z', ..]
        | [b'0' | b'1', b'.', b'A', ..]
        | [b'A', b'Q' | b'R', ..]
        | [b'4', b'b', b'1', b'd', ..] => true,
        [b'2', ..] => run.get(27) == Some(&b'_'),
        _ => false,
    };
    is_beginning
        || before.ends_with(b"1000.")
        || may_have_mark(run)
            && (run.get(32) == Some(&b'-')
                || run.get(10..13) == Some(b"msh")
                || has_mark(run, MARKS_IN_WORDS)
                || has_mark(run, MARKS))
}

/// Returns whether a run may have one of the marks, by their first bytes only: one branch for all of them.
#[inline]
fn may_have_mark(run: &[u8]) -> bool {
    const MOST: usize = 80;
    let Some(run) = run.first_chunk::<MOST>() else { return true };
    let is = |at: usize, byte: u8| run.get(at) == Some(&byte);
    let all = MARKS_IN_WORDS.iter().chain(MARKS);
    let is_first = |any, (at, [first, ..]): &(usize, [u8; 4])| any | is(*at, *first);
    all.fold(is(10, b'm') | is(32, b'-'), is_first)
}

#[inline]
fn has_mark(run: &[u8], marks: &[(usize, [u8; 4])]) -> bool {
    marks.iter().any(|(at, mark)| {
        run.get(*at..).and_then(<[u8]>::first_chunk::<4>).is_some_and(|found| found == mark)
    })
}

/// Returns the first eight bytes of a text, for comparisons.
fn prefix((index, text): (usize, &String)) -> TextPrefix {
    let mask = u64::MAX >> (u64::BITS - 8 * text.len().min(8) as u32);
    TextPrefix { bytes: first_eight(text.as_bytes()), mask, text: index }
}

/// Returns the texts of all anchors that are found by one: what is at the first beginning of a word in the anchor, up to
/// eight bytes. None of them is the beginning of another.
fn texts_of_anchors() -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for anchor in KINDS.iter().flat_map(|kind| kind.anchors) {
        if [URL, TILDE].contains(anchor)
            || OPTIONS.contains(anchor)
            || LONG_ANCHORS.contains(anchor)
        {
            continue;
        }
        for spelled in [(*anchor).to_owned(), percent_encoded(anchor)] {
            let begin = word_beginnings(spelled.as_bytes())
                .find(|at| spelled.as_bytes().get(*at).is_some_and(u8::is_ascii_alphabetic));
            texts.extend(begin.and_then(|begin| {
                // The digits after a sign `%` are written in both cases.
                let sign = spelled.find('%').map_or(spelled.len(), |sign| sign + 1);
                let end = sign.min(begin + 8);
                Some(spelled.get(begin..end)?.to_owned())
            }));
        }
    }
    texts.sort();
    // A text that begins with another one comes after it.
    texts.dedup_by(|text, before| text.starts_with(before.as_str()));
    texts
}

/// Returns where words begin in an anchor.
fn word_beginnings(anchor: &[u8]) -> impl Iterator<Item = usize> + '_ {
    (0..anchor.len()).filter(|at| {
        let before = at.checked_sub(1).and_then(|before| anchor.get(before));
        before.is_none_or(|before| !has(WORD, *before))
    })
}

/// Returns the text that an anchor has at the beginning of a word, and its position.
fn text_of(texts: &[String], anchor: &str) -> Option<(usize, usize)> {
    let anchor = anchor.as_bytes();
    word_beginnings(anchor).find_map(|at| {
        let rest = anchor.get(at..)?;
        let text = texts.iter().position(|text| rest.starts_with(text.as_bytes()))?;
        Some((text, at))
    })
}

#[cfg(test)]
mod tests {
    use super::{BEFORE, Fingerprints, LONG_ANCHORS, OPTIONS, TILDE, URL, text_of};
    use crate::secrets::kinds::{RUN, WORD, has};
    use crate::secrets::search::AHEAD;
    use crate::secrets::table::KINDS;

    #[test]
    fn each_anchor_has_a_text_at_the_beginning_of_a_word() {
        let texts = &Fingerprints::shared().texts;
        for kind in KINDS {
            let has_text = |anchor: &&&str| {
                let others = [URL, TILDE].contains(*anchor) || OPTIONS.contains(*anchor);
                !others && !LONG_ANCHORS.contains(*anchor)
            };
            for anchor in kind.anchors.iter().filter(has_text) {
                let Some((_, offset)) = text_of(texts, anchor) else { panic!("{anchor}") };
                assert!(offset > 0 || kind.not_after & WORD == WORD, "{anchor}");
                assert!(anchor.len() - offset < AHEAD);
                // Each slash may have a backslash before it.
                assert!(anchor.len() + anchor.matches('/').count() < BEFORE);
                assert!(!anchor.contains(['"', '\\', ' ', '\n']), "{anchor}");
            }
        }
    }

    #[test]
    fn each_text_is_found_whatever_follows() {
        let found = Fingerprints::shared();
        for (index, text) in found.texts.iter().enumerate() {
            for after in (0..=u8::MAX).filter(|byte| has(RUN, *byte)) {
                let bytes = [text.as_bytes(), &[after; 8]].concat();
                assert_eq!(found.text_at(&bytes), Some(index), "{text} and {after:#x}");
            }
        }
        assert_eq!(found.text_at(b"github_rat_"), None);
        assert_eq!(found.text_at(b""), None);
    }

    #[test]
    fn no_text_is_the_beginning_of_another() {
        let texts = &Fingerprints::shared().texts;
        for (index, text) in texts.iter().enumerate() {
            assert!(text.len() >= 2 && text.bytes().all(|byte| byte < 128), "{text}");
            assert!(text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic()));
            let others = texts.iter().enumerate().filter(|(other, _)| *other != index);
            let is_prefix = others.into_iter().any(|(_, other)| other.starts_with(text.as_str()));
            assert!(!is_prefix, "{text}");
        }
    }

    #[test]
    fn words_are_those_of_the_masks() {
        for byte in 0..=u8::MAX {
            let is_word = byte.is_ascii_alphanumeric() || byte == b'_';
            assert_eq!(has(WORD, byte), is_word, "{byte}");
        }
    }
}
