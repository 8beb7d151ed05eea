//! Finds the places where a secret may begin.
//!
//! Almost every secret begins a word, and is part of a long run of characters without white space. Both are read from bit
//! masks of 64 bytes at once ([`WordMasks`]). Only at such a place, the beginning of the word is compared with a table
//! ([`Fingerprints`]):
//!
//! ```text
//! bytes      use token ghp_16C7e42F292c6912E7 now
//! starts     1   1     1                      1     letters after a byte that belongs to no word
//! long                 1111111                      a run of at least 14 bytes begins here
//!                      ghp_                         the hash of four bytes is in the table
//! ```
//!
//! The others have marks of their own: `-----BEGIN` is a word after dashes, the token after `Bearer` is a run after a
//! blank, and a password in a URL ends with the sign `@`. An escape may spell any of them.

use memchr::memchr_iter;
use tamis_json::scan::{BLOCK, Scanner, WORD_BLOCKS, WordMasks, WordMasksReader};

use super::before::{MOST_SIGNS, REACH};
use super::before_text::OPTION;
use super::encoded::may_hide;
use super::fingerprints::{Fingerprints, first_eight, may_be_long};
use super::kinds::has;
use super::names::{BETWEEN, may_end_with_name};
use super::table_files::FLAGS;

/// The number of bytes at the end of the text in which a place is only found if more text follows.
pub(super) const AHEAD: usize = 96;

/// The number of bytes of the shortest run that a word begins.
const SHORTEST: u32 = 14;

/// The number of bytes of a long run. Some secrets have no text at their beginning, but are that long.
const LONG: u32 = 4 * SHORTEST;

/// The number of bytes of a long word. Digits and letters of that number are rarely a word.
const LONG_WORD: u32 = 28;

/// The kind of a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hit {
    /// The text with this number.
    Text(usize),
    /// The sign `@`.
    At,
    /// The beginning of the encoded signs `://`.
    EncodedUrl,
    /// A text that ends before the sign `~`.
    Tilde,
    /// A sign after a name that announces a secret.
    Name,
    /// Such a sign, or a quote before it, that is spelled as an escape.
    EscapedName,
    /// A word that begins a long run, or that is long.
    Long,
    /// The dash of an option of a command whose argument has a password.
    Option,
    /// The beginning of a percent-encoded character that may hide a secret.
    Encoded,
    /// The beginning of an escape for an ASCII character.
    Escape,
}

/// A place where a secret may begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) hit: Hit,
    /// Where the text begins, or the position of the sign or the escape.
    pub(super) at: usize,
    /// The position at which the search noticed it, not before `at`.
    pub(super) noticed: usize,
}

/// The number of blocks that are read at once, and of their bytes. The masks are also those of the neighbours.
const BLOCKS: usize = WORD_BLOCKS - 2;
const WINDOW: usize = BLOCK * BLOCKS;

/// The search through one buffer, in windows that begin at multiples of [`WINDOW`].
#[derive(Clone, Debug)]
pub(super) struct Search {
    scanner: Scanner,
    /// The masks of the block before the window, of its blocks, and of the one after it.
    masks: Box<WordMasks>,
    /// The places of each block.
    places: Box<Places>,
    /// The positions in the window where a word begins that may be a text.
    words: Box<[u16; WINDOW + STEP]>,
    /// The places that were found in the window, in the order in which they were noticed.
    found: Vec<Found>,
    /// The number of places that were returned.
    returned: usize,
    /// The position of the window, if `found` belongs to the present buffer.
    window: Option<usize>,
}

/// The places where something may be: for each block, one bit per byte.
#[derive(Clone, Debug)]
struct Places {
    /// A word begins.
    words: [u64; BLOCKS],
    /// A run begins after a blank.
    tokens: [u64; BLOCKS],
    /// A word begins a very long run.
    longs: [u64; BLOCKS],
    /// A sign comes after what may be a name.
    names: [u64; BLOCKS],
    /// A dash begins a word.
    options: [u64; BLOCKS],
}

/// The number of positions that are written at once, so that fewer branches depend on the text.
const STEP: usize = 4;

impl Search {
    pub(super) fn new() -> Self {
        Self {
            scanner: Scanner::new(),
            masks: Box::new(WordMasks::new()),
            places: Box::new(Places {
                words: [0; BLOCKS],
                tokens: [0; BLOCKS],
                longs: [0; BLOCKS],
                names: [0; BLOCKS],
                options: [0; BLOCKS],
            }),
            words: Box::new([0; WINDOW + STEP]),
            found: Vec::new(),
            returned: 0,
            window: None,
        }
    }

    /// Forgets the buffer, because its bytes have changed.
    pub(super) fn restart(&mut self) {
        self.window = None;
    }

    /// Returns the next place at or after `from` where a secret may begin, or a part of one may be. Places come in the order in
    /// which they are noticed, each one once until the next restart.
    pub(super) fn find(&mut self, bytes: &[u8], from: usize) -> Option<Found> {
        let mut at = from;
        while at < bytes.len() {
            let window = at / WINDOW * WINDOW;
            if self.window != Some(window) {
                self.read(bytes, window);
            }
            let ahead = self.found.partition_point(|found| found.noticed < at);
            self.returned = self.returned.max(ahead);
            if let Some(found) = self.found.get(self.returned) {
                self.returned += 1;
                return Some(*found);
            }
            at = window + WINDOW;
        }
        None
    }

    /// Finds the places of a window.
    fn read(&mut self, bytes: &[u8], window: usize) {
        self.window = Some(window);
        self.found.clear();
        self.returned = 0;
        let end = bytes.len().min(window + WINDOW + BLOCK);
        let (begin, first) = match window.checked_sub(BLOCK) {
            Some(begin) => (begin, 0),
            None => (window, 1),
        };
        let bytes_around = bytes.get(begin..end).unwrap_or_default();
        self.scanner.words(bytes_around, first, &mut self.masks, &mut *self.places);
        let mut words = 0;
        for block in 0..BLOCKS {
            let of = |masks: &[u64]| masks.get(block).copied().unwrap_or(0);
            words = self.list_words(of(&self.places.words), block, words);
            let of_masks = |masks: &[u64; WORD_BLOCKS]| of(masks.get(1..).unwrap_or_default());
            let (tokens, longs) = (of(&self.places.tokens), of(&self.places.longs));
            let signs = of_masks(&self.masks.at)
                | of_masks(&self.masks.numeric_escape)
                | of(&self.places.names)
                | of(&self.places.options);
            let begin = window + block * BLOCK;
            // A loop for each, so that the branches in it depend less on the text.
            if tokens | longs != 0 {
                self.find_runs([tokens, longs], bytes, begin);
            }
            if signs != 0 {
                self.find_signs(signs, bytes, begin);
            }
        }
        self.find_after_percent(bytes, window);
        self.find_words(bytes, window, words);
    }

    /// Writes the positions of words after the first `count` ones. Returns the new count.
    #[inline]
    fn list_words(&mut self, mut words: u64, block: usize, count: usize) -> usize {
        let (total, mut next) = (count + words.count_ones() as usize, count);
        while words != 0 {
            let step = self.words.get_mut(next..).and_then(<[u16]>::first_chunk_mut::<STEP>);
            for place in step.into_iter().flatten() {
                *place = (block * BLOCK) as u16 + words.trailing_zeros() as u16;
                words &= words.wrapping_sub(1);
            }
            next += STEP;
        }
        total
    }

    /// Finds the secrets after a scheme and blanks, and those without a text at their beginning, in the block that begins at a
    /// position.
    fn find_runs(&mut self, [tokens, longs]: [u64; 2], bytes: &[u8], begin: usize) {
        for at in bits(tokens).map(|bit| begin + bit) {
            let before = bytes.get(..at).unwrap_or_default();
            if let Some((text, begin)) = Fingerprints::shared().text_before_blanks(before) {
                self.found.push(Found { hit: Hit::Text(text), at: begin, noticed: at });
            }
        }
        for at in bits(longs).map(|bit| begin + bit) {
            let (before, rest) = bytes.split_at(at.min(bytes.len()));
            if may_be_long(before, rest) {
                self.found.push(Found { hit: Hit::Long, at, noticed: at });
            }
        }
    }

    /// Finds signs after names, signs of URLs, escapes and options in the block that begins at a position.
    fn find_signs(&mut self, signs: u64, bytes: &[u8], begin: usize) {
        for at in bits(signs).map(|bit| begin + bit) {
            let (before, rest) = bytes.split_at(at.min(bytes.len()));
            let mut push = |hit, begin| self.found.push(Found { hit, at: begin, noticed: at });
            match rest.first() {
                Some(b':' | b'=' | b'>') if may_end_with_name(before) => push(Hit::Name, at),
                Some(b'@') => push(Hit::At, at),
                // The text is `Q~`.
                Some(b'~') if before.last() == Some(&b'Q') => push(Hit::Tilde, at - 1),
                Some(b'-') => match option(rest) {
                    Some(LoginOption::Login) => push(Hit::Option, at),
                    Some(LoginOption::Password(text, len)) => {
                        let (hit, at) = (Hit::Text(text), at + len);
                        self.found.push(Found { hit, at, noticed: at });
                    }
                    None => {}
                },
                Some(b'\\') => {
                    if is_name_sign_escaped(rest) && may_end_with_name(before) {
                        push(Hit::EscapedName, at);
                    } else if rest.starts_with(br"\u00") {
                        push(Hit::Escape, at);
                    }
                    if let Some(len) = terminal_sequence(rest) {
                        self.find_word(bytes, at + len);
                    }
                }
                _ => {}
            }
        }
    }

    /// Finds the texts after characters of URLs that are spelled by their numbers, such as `%3D`.
    fn find_after_percent(&mut self, bytes: &[u8], window: usize) {
        let end = bytes.len().min(window + WINDOW);
        for at in memchr_iter(b'%', bytes.get(window..end).unwrap_or_default()) {
            let at = window + at;
            self.find_word(bytes, at + 3);
            if let Some([b'%', b'3', b'A' | b'a', b'%' | b'/' | b'\\']) = bytes.get(at..at + 4) {
                self.found.push(Found { hit: Hit::EncodedUrl, at, noticed: at });
            }
            if may_hide(bytes, at) {
                self.found.push(Found { hit: Hit::Encoded, at, noticed: at });
            }
        }
    }

    /// Finds the text at a position where a word begins although a character of a word is before it.
    fn find_word(&mut self, bytes: &[u8], at: usize) {
        let (word, texts) = (bytes.get(at..).unwrap_or_default(), Fingerprints::shared());
        let signs = word.iter().take(MOST_SIGNS).take_while(|byte| **byte == b'_').count();
        let (at, word) = (at + signs, word.get(signs..).unwrap_or_default());
        if texts.may_be_text(word)
            && let Some(text) = texts.text_at(word)
        {
            self.found.push(Found { hit: Hit::Text(text), at, noticed: at });
        }
        if may_be_long(bytes.get(..at).unwrap_or_default(), word) {
            self.found.push(Found { hit: Hit::Long, at, noticed: at });
        }
    }

    /// Finds the texts among the listed words.
    fn find_words(&mut self, bytes: &[u8], window: usize, count: usize) {
        let (others, texts) = (self.found.len(), Fingerprints::shared());
        let bytes_of_window = bytes.get(window..).unwrap_or_default();
        let words = self.words.get_mut(..count).unwrap_or_default();
        // The loop has no branch, because few words are texts, and the processor would often guess wrong.
        let mut kept = 0;
        for index in 0..words.len() {
            let Some(at) = words.get(index).copied() else { break };
            let place = usize::from(at);
            let eight = match bytes_of_window.get(place..place + 8).and_then(<[u8]>::first_chunk) {
                Some(eight) => u64::from_le_bytes(*eight),
                None => first_eight(bytes_of_window.get(place..).unwrap_or_default()),
            };
            if let Some(word) = words.get_mut(kept) {
                *word = at;
            }
            kept += usize::from(texts.may_begin(eight));
        }
        for at in words.get(..kept).unwrap_or_default() {
            let at = window + usize::from(*at);
            let word = bytes.get(at..).unwrap_or_default();
            if let Some(text) = texts.text_at(word) {
                self.found.push(Found { hit: Hit::Text(text), at, noticed: at });
            }
        }
        if others > 0 {
            self.found.sort_by_key(|found| found.noticed);
        }
    }
}

/// Returns the positions of the bits of a mask, in their order.
#[inline(always)]
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        (mask != 0).then(|| mask &= mask.wrapping_sub(1)).map(|()| bit)
    })
}

/// An option whose argument has a password.
enum LoginOption {
    /// Its argument is a name and a password.
    Login,
    /// Its name ends with the text of this number at this position.
    Password(usize, usize),
}

/// Returns the option at the beginning, if its argument may have a password.
fn option(rest: &[u8]) -> Option<LoginOption> {
    let flags = rest.get(1..)?.iter().take_while(|byte| has(FLAGS, **byte)).count();
    let is_short = matches!(rest.get(1 + flags), Some(b'u' | b'U'));
    if is_short || rest.starts_with(b"--user") || rest.starts_with(b"--proxy-user") {
        return Some(LoginOption::Login);
    }
    let is_of_option = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let len = rest.iter().take(OPTION).take_while(is_of_option).count();
    let name = rest.get(..len)?.iter().rposition(|byte| matches!(byte, b'-' | b'_'))? + 1;
    let is_name = matches!(rest.get(len), None | Some(b' ' | b'\t' | b'"' | b'\'' | b'\\'));
    let text = Fingerprints::shared().text_at(rest.get(name..)?).filter(|_| is_name)?;
    Some(LoginOption::Password(text, name))
}

/// Returns whether an escape for a quote or for a sign after a name is at the beginning.
fn is_name_sign_escaped(rest: &[u8]) -> bool {
    let code = rest.strip_prefix(br"\u00").and_then(<[u8]>::first_chunk::<2>);
    matches!(code, Some(b"22" | b"27" | b"3a" | b"3A" | b"3e" | b"3E"))
}

/// Returns the length of the sequence of a terminal at the beginning, such as `\u001b[1;31m`, if its first character is
/// spelled as an escape.
fn terminal_sequence(rest: &[u8]) -> Option<usize> {
    if !matches!(rest.get(1), Some(b'u' | b'x' | b'0' | b'e')) {
        return None;
    }
    let spellings: [&[u8]; 5] = [br"\u001b[", br"\u001B[", br"\x1b[", br"\033[", br"\e["];
    let begin = spellings.iter().find(|spelling| rest.starts_with(spelling))?.len();
    let after = rest.get(begin..)?.iter().take(REACH);
    let parameters = after.take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
    Some(begin + parameters + 1)
}

impl WordMasksReader for &mut Places {
    #[inline(always)]
    fn read(self, masks: &mut WordMasks) {
        if masks.backslash.iter().fold(0, |all, mask| all | mask) != 0 {
            self.compute::<true>(masks);
        } else {
            self.compute::<false>(masks);
        }
    }
}

impl Places {
    /// Computes the places from the masks of the blocks and their neighbours. `ESCAPES`: there are some.
    ///
    /// Each step is a loop over all blocks without branches, so that the compiler makes vectors of it, for the instruction
    /// set of the kernel.
    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "arrays indexed by constants and by loops to them")]
    fn compute<const ESCAPES: bool>(&mut self, masks: &mut WordMasks) {
        if ESCAPES {
            // An escaped slash does not end a run.
            for (run, backslash) in masks.run.iter_mut().zip(&masks.backslash) {
                *run |= backslash;
            }
        }
        let two = both(&masks.run, &masks.run, 1);
        let four = both(&two, &two, 2);
        let eight = both(&four, &four, 4);
        let long = both(&eight, &eight, SHORTEST - 8);
        // The credentials after `Basic` may have twelve bytes.
        let twelve = both(&eight, &eight, 4);
        let long_words = long_words(&masks.word);
        // Arrays of their own, which the compiler knows to be apart from the masks.
        let mut firsts = [0; WORD_BLOCKS];
        let (mut words, mut tokens) = ([0; BLOCKS], [0; BLOCKS]);
        let (mut longs, mut names) = ([0; BLOCKS], [0; BLOCKS]);
        for block in 0..BLOCKS {
            // The bytes that come the given number of places after one of a class.
            let after = |masks: &[u64; WORD_BLOCKS], places: u32| {
                masks[block + 1] << places | masks[block] >> (u64::BITS - places)
            };
            // A word may also begin after up to three underscores: `_emphasis_` of Markdown. Written out, because the compiler
            // makes vectors only of loops without others inside.
            const { assert!(MOST_SIGNS == 3) };
            let sign = |places| after(&masks.word, places) & !after(&masks.letter, places);
            let one = sign(1);
            let two = one & sign(2);
            let three = two & sign(3);
            let mut first = !after(&masks.word, 1)
                | one & !after(&masks.word, 2)
                | two & !after(&masks.word, 3)
                | three & !after(&masks.word, 4);
            if ESCAPES {
                // After an escape, a word may begin: `\n`, `\x0a`, `\u000a`. Or after it and up to three underscores.
                let escape = |places| after(&masks.backslash, places);
                first |= escape(1) | escape(2) | escape(4) | escape(6);
                first |= one & (escape(3) | escape(4) | escape(5) | escape(7) | escape(8));
            }
            let dashes = after(&masks.dash, 1) & after(&masks.dash, 2) & after(&masks.dash, 3);
            words[block] = masks.letter[block + 1] & first & (long[block + 1] | dashes);
            let begins = masks.run[block + 1] & !after(&masks.run, 1);
            // A password may have eight: its name comes before the blank.
            let is_long = twelve[block + 1] | (eight[block + 1] & after(&masks.name_end, 2));
            tokens[block] = begins & after(&masks.blank, 1) & is_long;
            firsts[block + 1] = first;
        }
        let double = both(&long, &long, SHORTEST);
        let longest = both(&double, &double, LONG / 2);
        // Numbers have no letters nearby.
        let near = before_any(&before_any(&before_any(&before_any(&masks.letter, 1), 2), 4), 8);
        for block in 0..BLOCKS {
            let word = masks.word[block + 1] & firsts[block + 1];
            let long = (longest[block + 1] & near[block + 1]) | long_words[block + 1];
            longs[block] = word & long;
        }
        let ends = after_names(masks);
        for block in 0..BLOCKS {
            names[block] = masks.colon[block + 1] & ends[block + 1];
        }
        let options = first_dashes::<ESCAPES>(masks);
        *self = Self { words, tokens, longs, names, options };
    }
}

/// Returns the bytes that begin a word of at least [`LONG_WORD`] bytes, or are inside one.
#[inline(always)]
fn long_words(word: &[u64; WORD_BLOCKS]) -> [u64; WORD_BLOCKS] {
    let two = both(word, word, 1);
    let four = both(&two, &two, 2);
    let eight = both(&four, &four, 4);
    let sixteen = both(&eight, &eight, 8);
    both(&sixteen, &sixteen, LONG_WORD - 16)
}

/// Returns the bytes that are in the first class and the given number of places before one in the second. After the last
/// block, nothing is in a class.
#[allow(clippy::indexing_slicing, reason = "arrays indexed by loops to their lengths")]
#[inline(always)]
fn both(one: &[u64; WORD_BLOCKS], other: &[u64; WORD_BLOCKS], places: u32) -> [u64; WORD_BLOCKS] {
    let mut both = [0; WORD_BLOCKS];
    for block in 0..WORD_BLOCKS - 1 {
        let before = other[block] >> places | other[block + 1] << (u64::BITS - places);
        both[block] = one[block] & before;
    }
    both[WORD_BLOCKS - 1] = one[WORD_BLOCKS - 1] & other[WORD_BLOCKS - 1] >> places;
    both
}

/// Returns the bytes of a class, and those that come the given number of places before one.
#[allow(clippy::indexing_slicing, reason = "arrays indexed by loops to their lengths")]
#[inline(always)]
fn before_any(masks: &[u64; WORD_BLOCKS], places: u32) -> [u64; WORD_BLOCKS] {
    let mut any = *masks;
    for block in 0..WORD_BLOCKS - 1 {
        any[block] |= masks[block] >> places | masks[block + 1] << (u64::BITS - places);
    }
    any[WORD_BLOCKS - 1] |= masks[WORD_BLOCKS - 1] >> places;
    any
}

/// Returns the bytes that come after what may be a name, directly or after a few blanks, quotes and backslashes.
#[inline(always)]
fn after_names(masks: &WordMasks) -> [u64; WORD_BLOCKS] {
    let mut reached = after_one(&masks.name_end);
    let mut all = reached;
    for _ in 0..BETWEEN {
        reached.iter_mut().zip(&masks.word).for_each(|(reached, word)| *reached &= !word);
        reached = after_one(&reached);
        all.iter_mut().zip(&reached).for_each(|(all, reached)| *all |= reached);
    }
    all
}

/// Returns the dashes that begin a run or come after an escape, and are followed by a letter or another dash.
#[allow(clippy::indexing_slicing, reason = "arrays indexed by loops to their lengths")]
#[inline(always)]
fn first_dashes<const ESCAPES: bool>(masks: &WordMasks) -> [u64; BLOCKS] {
    let mut dashes = [0; BLOCKS];
    for block in 0..BLOCKS {
        let after = |masks: &[u64; WORD_BLOCKS], places: u32| {
            masks[block + 1] << places | masks[block] >> (u64::BITS - places)
        };
        let mut is_first = !after(&masks.run, 1);
        if ESCAPES {
            is_first |= after(&masks.backslash, 2) | after(&masks.backslash, 6);
        }
        dashes[block] = masks.dash[block + 1] & is_first;
    }
    // Few blocks have one.
    for (block, dashes) in dashes.iter_mut().enumerate().filter(|(_, dashes)| **dashes != 0) {
        let next = |masks: &[u64; WORD_BLOCKS]| {
            masks[block + 1] >> 1 | masks[block + 2] << (u64::BITS - 1)
        };
        *dashes &= next(&masks.letter) | next(&masks.dash);
    }
    dashes
}

/// Returns the bytes after those of a class.
#[allow(clippy::indexing_slicing, reason = "arrays indexed by loops to their lengths")]
#[inline(always)]
fn after_one(masks: &[u64; WORD_BLOCKS]) -> [u64; WORD_BLOCKS] {
    let mut after = [0; WORD_BLOCKS];
    after[0] = masks[0] << 1;
    for block in 1..WORD_BLOCKS {
        after[block] = masks[block] << 1 | masks[block - 1] >> (u64::BITS - 1);
    }
    after
}
